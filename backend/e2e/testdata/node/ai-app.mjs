// An AI app: it reads its own settings as it does, starts the server that it finds there (by $STARTED_BY, for an app of another system), and runs Python on the
// REPL that is named, or on a new one. It says "fine", or what went wrong.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { parse as jsonc } from "jsonc-parser";
import { parse as toml } from "smol-toml";
import { parse as yaml } from "yaml";

const [id, name, file, replId] = process.argv.slice(2);
const text = await readFile(file, "utf8");

const commented = (text) => {
  const errors = [];
  const value = jsonc(text, errors, { allowTrailingComma: true });
  assert.deepEqual(errors, []);
  return value;
};

// Where each app looks, and with what it reads.
const read = {
  "vscode": () => commented(text).servers,
  "vscode-insiders": () => commented(text).servers,
  "cursor": () => commented(text).mcpServers,
  "gemini": () => commented(text).mcpServers,
  "kiro": () => commented(text).mcpServers,
  "zed": () => commented(text).context_servers,
  "opencode": () => commented(text).mcp,
  "amp": () => commented(text)["amp.mcpServers"],
  "codex": () => toml(text).mcp_servers,
  "goose": () => yaml(text).extensions,
  "continue": () => Object.fromEntries(yaml(text).mcpServers.map((server) => [server.name, server])),
};
const entry = (read[id] ?? (() => JSON.parse(text).mcpServers))().forevervm;
assert.ok(entry, text);
const type = { vscode: "stdio", "vscode-insiders": "stdio", "claude-code": "stdio", goose: "stdio", opencode: "local", copilot: "stdio", factory: "stdio" }[id];
if (type) assert.equal(entry.type, type);
if (id === "goose" || id === "opencode") assert.equal(entry.enabled, true);
const [command, ...args] = Array.isArray(entry.command) ? entry.command : [entry.cmd ?? entry.command, ...entry.args];

const [program, ...rest] = [process.env.STARTED_BY, command, ...args].filter(Boolean);
// Without more it gets the few variables of the environment that the SDK hands on.
const env = process.env.STARTED_BY ? process.env : (entry.env ?? entry.envs);

const client = new Client({ name, version: "7.5" });
await client.connect(new StdioClientTransport({ command: program, args: rest, env, stderr: "inherit" }));
const use = (tool, given) => client.callTool({ name: tool, arguments: given }, undefined, { timeout: 120_000 });
const repl = replId ?? (await use("create-python-repl", {})).content[0].text;
const said = await use("run-python-in-repl", { replId: repl, pythonCode: "6 * 7" });
await client.close();
console.log(said.content[0].text === "42" ? "fine" : said.content[0].text);
