// Questions to the person, through the official TypeScript SDK's client. Arguments as of ask.py.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, where, secret] = process.argv.slice(2);
const client = new Client(
  { name: `ask-${mode}`, version: "1" },
  { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
);
const asked = [];
let answers = [];
client.setRequestHandler("elicitation/create", ({ params }) => {
  asked.push(params.message);
  return answers.shift();
});
await client.connect(
  where.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL("/mcp", where), { requestInit: { headers: { Authorization: `Bearer ${secret}` } } })
    : new StdioClientTransport({ command: where, args: ["mcp", "--home", secret], stderr: "inherit" }),
);
console.log(client.getNegotiatedProtocolVersion());

// What a call answers. All that is given is asked for, and no more.
async function call(name, args, ...given) {
  asked.length = 0;
  answers = [...given];
  const result = await client.callTool({ name, arguments: args }, { timeout: 100_000 });
  assert.equal(asked.length, given.length, `${name}: ${asked} ${JSON.stringify(result)}`);
  return result.content[0].text;
}
const yes = (content = {}) => ({ action: "accept", content });
const no = { action: "decline" };

assert.match(await call("create-python-repl", { memoryMb: 3072 }, no), /The user did not allow it/);
const replId = await call("create-python-repl", { memoryMb: 3072 }, yes());
const reach = (host) => ({
  replId, pythonCode: `import urllib.request
try:
    urllib.request.urlopen("http://${host}/", timeout=60)
except urllib.error.HTTPError as refusal:
    print(refusal.read().decode())`,
});
assert.match(await call("run-python-in-repl", reach("one.invalid"), no), /denied/);
assert.doesNotMatch(await call("run-python-in-repl", reach("two.invalid"), yes({ allow: "Always, for this machine" })), /denied/);
await call("run-python-in-repl", reach("two.invalid"));
await client.close();
console.log("fine");
