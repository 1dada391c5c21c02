// Claude Desktop with an extension: it starts the server as the manifest says (by $STARTED_BY, on Windows). It calls the tool that is named, or runs Python in
// the REPL of that name. It says "fine", or what went wrong.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [folder, what] = process.argv.slice(2);
const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8"));
const { command, args, env } = manifest.server.mcp_config;
const here = (text) => text.replaceAll("${__dirname}", folder);
const by = process.env.STARTED_BY;
assert.deepEqual(manifest.compatibility.platforms, [by ? "win32" : process.platform]);
const [program, ...rest] = [by, here(command), ...args.map(here)].filter(Boolean);

const client = new Client({ name: "claude-ai", version: "7.5" });
await client.connect(new StdioClientTransport({ command: program, args: rest, env: by ? process.env : env, stderr: "inherit" }));
// What the person is shown before installing it is what the server offers.
const { tools } = await client.listTools();
assert.deepEqual(manifest.tools.map((tool) => tool.name).sort(), tools.map((tool) => tool.name).sort());
const options = { timeout: 120_000 };
if (tools.some((tool) => tool.name === what)) {
  const result = await client.callTool({ name: what, arguments: {} }, undefined, options);
  assert.equal(result.isError, true);
  console.log(result.content[0].text);
} else {
  const result = await client.callTool({ name: "run-python-in-repl", arguments: { replId: what, pythonCode: "6 * 7" } }, undefined, options);
  const { text } = result.content[0];
  console.log(text === "42" ? "fine" : text);
}
await client.close();
