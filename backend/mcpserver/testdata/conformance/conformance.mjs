// The whole of the MCP side, through the official SDK's client. Arguments: a transport and where the server is:
//   stdio PROGRAM HOME | http URL TOKEN | sse URL TOKEN
// Each check prints its name; the first that fails ends the program with status 1.
import assert from "node:assert/strict";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [transport, where, secret] = process.argv.slice(2);
const limit = 900_000; // bytes of a reply

function connection() {
  if (transport === "stdio") {
    return new StdioClientTransport({ command: where, args: ["mcp", "--home", secret, "--answer-within", "20s"], stderr: "inherit" });
  }
  const requestInit = { headers: { Authorization: `Bearer ${secret}` } };
  if (transport === "http") {
    return new StreamableHTTPClientTransport(new URL("/mcp", where), { requestInit });
  }
  return new SSEClientTransport(new URL("/sse", where), { requestInit });
}

const client = new Client({ name: `conformance-${transport}`, version: "1.2.3" });
const problems = [];
client.onerror = (error) => problems.push(error);
await client.connect(connection());

// What the structured content of each tool is held against.
const outputs = {};
const checked = new Set();

const call = async (name, args, options) => {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 100_000, ...options });
  if (outputs[name] && result.structuredContent) {
    assert.ok(outputs[name](result.structuredContent), `${name}: ${JSON.stringify(outputs[name].errors)}`);
    checked.add(name);
  }
  const size = Buffer.byteLength(JSON.stringify(result));
  assert.ok(size < limit, `a reply of ${name} has ${size} bytes`);
  return result;
};
const text = (result) => result.content[0].text;
const run = async (replId, pythonCode, more = {}, options) => {
  const result = await call("run-python-in-repl", { replId, pythonCode, ...more }, options);
  assert.equal(result.structuredContent, undefined, "what a model reads is there once");
  return result;
};
// What stands in brackets as the last line, and where it says to go on.
const note = (result) => /\[([^[]*)\]$/.exec(text(result))?.[1] ?? "";
const place = (result) => ({ step: Number(/step (\d+)/.exec(note(result))[1]), offset: Number(/offset (\d+)/.exec(note(result))?.[1] ?? 0) });
const unfinished = (result) => /still running|waits for/.test(note(result));
const images = (result) => result.content.filter((item) => item.type === "image");

// SSE is the transport of older clients. The tools behind it are the same ones: what it could get
// wrong is what it carries, streams and cancels.
const ofSSE = [
  "a REPL is created without arguments",
  "output, result and state",
  "every picture comes back, and the text with them",
  "long output is cut in the middle, and the rest can be read",
  "output is streamed as progress",
  "a cancelled call interrupts its code",
  "resources and prompts",
];

async function check(name, body) {
  if (transport === "sse" && !ofSSE.includes(name)) return;
  await body();
  console.log(`ok ${name}`);
}

let repl;

await check("tools are described", async () => {
  assert.equal(client.getServerVersion().name, "forevervm");
  assert.match(client.getInstructions(), /replId/);
  assert.match(client.getInstructions(), /Draw with matplotlib[^]* plotly figure[^]* only the user sees it/);
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), [
    "run-python-in-repl", "create-python-repl", "read-output", "list-python-repls", "interrupt-python-repl", "install-packages",
    "checkpoint-python-repl", "rewind-python-repl", "compare-checkpoints", "manage-python-repl", "put-file", "get-file",
  ]);
  // Apps let what only reads run without asking, and warn of what destroys or reaches outside.
  const hints = {
    "checkpoint-python-repl": [], "compare-checkpoints": ["readOnly", "idempotent"], "create-python-repl": [], "manage-python-repl": ["destructive"],
    "get-file": ["readOnly", "idempotent"], "install-packages": ["destructive", "idempotent", "openWorld"], "interrupt-python-repl": ["destructive", "idempotent"],
    "list-python-repls": ["readOnly", "idempotent"], "put-file": ["destructive", "idempotent"],
    "read-output": ["readOnly", "idempotent"], "rewind-python-repl": ["destructive", "idempotent"], "run-python-in-repl": ["destructive", "openWorld"],
  };
  for (const tool of tools) {
    assert.ok(tool.description.length > 30, `${tool.name} is described`);
    const { title, ...annotations } = tool.annotations;
    assert.ok(title, tool.name);
    assert.deepEqual(annotations, {
      ...Object.fromEntries(["readOnly", "destructive", "idempotent", "openWorld"].map((hint) => [`${hint}Hint`, hints[tool.name].includes(hint)])),
    }, `the annotations of ${tool.name}`);
  }
  const byName = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  assert.deepEqual(byName["create-python-repl"].inputSchema.required ?? [], []);
  assert.deepEqual([...byName["run-python-in-repl"].inputSchema.required].sort(), ["pythonCode", "replId"]);
  assert.deepEqual(tools.filter((tool) => tool.outputSchema).map((tool) => tool.name), ["list-python-repls", "compare-checkpoints"]);
  assert.ok(byName["run-python-in-repl"]._meta["anthropic/maxResultSizeChars"] > 100_000);
  assert.match(client.getServerVersion().icons[0].src, /^data:image\/svg\+xml;base64,/);
});

await check("a strict validator takes the schemas without a word", async () => {
  const said = [];
  const logger = { log: (...all) => said.push(all), warn: (...all) => said.push(all), error: (...all) => said.push(all) };
  const { tools } = await client.listTools();
  for (const Validator of [Ajv, Ajv2020]) {
    const strict = new Validator({ strict: true, logger });
    for (const { name, inputSchema, outputSchema } of tools) {
      strict.compile(inputSchema);
      if (outputSchema) outputs[name] = strict.compile(outputSchema);
    }
  }
  assert.deepEqual(said, []);
});

await check("a REPL is created without arguments", async () => {
  const made = await call("create-python-repl", {});
  repl = text(made);
  assert.match(repl, /^[a-z]+-[a-z]+-\d+$/);
});

await check("output, result and state", async () => {
  const first = await run(repl, "x = 20\nprint('hello')\nx + 1");
  assert.deepEqual(first.content, [{ type: "text", text: "hello\n21" }]);
  assert.ok(!first.isError);
  assert.equal(text(await run(repl, "x * 2")), "40");
  assert.equal(text(await run(repl, "y = 1")), "[Done, no output.]");
  assert.equal(text(await run(repl, "print('<a href=\"x\">\\n')")), '<a href="x">\n', "as it was printed");
});

await check("an error is flagged at the top", async () => {
  const result = await run(repl, "print('before')\n1/0");
  assert.equal(result.isError, true);
  assert.match(text(result), /^before\n[^]*ZeroDivisionError/);
});

await check("every picture comes back, and the text with them", async () => {
  const result = await run(repl, `
import matplotlib.pyplot as plt
for title in ("one", "two"):
    plt.figure(); plt.plot([1, 2, 3]); plt.title(title)
plt.show()
print("drawn")`);
  assert.equal(images(result).length, 2);
  assert.deepEqual(result.content.map((item) => item.type), ["text", "text", "resource_link", "image", "text", "resource_link", "image"]);
  assert.equal(text(result), "drawn");
  assert.equal(result.content[1].text, `Figure 1. The user sees the figures in the ForeverVM app: forevervm://machine/${repl}`);
  assert.equal(result.content[4].text, "Figure 2.");
  for (const link of result.content.filter((item) => item.type === "resource_link")) {
    assert.equal((await client.readResource({ uri: link.uri })).contents[0].mimeType, "image/png");
  }
  assert.equal(images(await call("read-output", { replId: repl })).length, 2);
  const further = await call("read-output", { replId: repl, offset: 1 });
  assert.equal(images(further).length, 0);
  assert.match(note(further), /step\/\d+\/plot\/1\.png/);
  for (const image of images(result)) {
    assert.equal(image.mimeType, "image/png");
    assert.equal(Buffer.from(image.data, "base64").subarray(1, 4).toString(), "PNG");
  }
});

await check("large pictures are drawn smaller, and are there whole as resources", async () => {
  const result = await run(repl, `
import numpy as np
for i in range(3):
    plt.figure(figsize=(8, 6), dpi=150); plt.imshow(np.random.rand(600, 800, 3)); plt.axis("off")
plt.show()`);
  assert.equal(images(result).length, 3);
  const step = Number(/step\/(\d+)/.exec(result.content[1].uri)[1]);
  const { contents } = await client.readResource({ uri: `forevervm://machine/${repl}/step/${step}/plot/2.png` });
  assert.equal(contents[0].mimeType, "image/png");
  assert.ok(contents[0].blob.length > images(result)[1].data.length);
  await assert.rejects(client.readResource({ uri: `forevervm://machine/${repl}/step/${step}/plot/4.png` }), /3 pictures/);
});

await check("long output is cut in the middle, and the rest can be read", async () => {
  const result = await run(repl, "for i in range(50_000): print('line', i)");
  const output = text(result);
  assert.match(output, /^line 0\nline 1\n/);
  assert.match(output, /line 49999\n\[[^[]*\]$/);
  assert.match(output, /bytes left out here/);
  assert.match(note(result), /read-output/);
  const { step, offset } = place(result);
  const kept = output.slice(0, output.indexOf("\n[…")).split("\n").at(-1);
  const rest = await call("read-output", { replId: repl, step, offset });
  const firstNew = Number(/line (\d+)\n/.exec(text(rest))[1]);
  assert.ok(firstNew <= Number(kept.split(" ")[1]) + 2, `${kept} is followed by ${firstNew}`);
  const uri = /forevervm:\/\/\S+\/output/.exec(note(result))[0];
  const whole = (await client.readResource({ uri })).contents[0].text;
  assert.equal(whole.split("\n").length, 50_001);
});

await check("characters that JSON escapes stay within the limit", async () => {
  const result = await run(repl, "print('<>&\"\\\\' * 100_000); '<' * 1_000_000");
  assert.ok(!result.isError);
});

await check("the limit counts bytes, not characters", async () => {
  const result = await run(repl, "print('€😀' * 100_000); '漢字' * 1_000_000");
  assert.match(text(result), /€😀/);
});

await check("what is displayed is in the output, wherever it is read", async () => {
  const shown = "from IPython.display import display, Markdown\nprint('first')\ndisplay(Markdown('# a heading'))\nprint('last')";
  const output = text(await run(repl, shown));
  assert.equal(output, "first\n# a heading\nlast");
  assert.equal(text(await call("read-output", { replId: repl })), output);
  assert.equal(text(await call("read-output", { replId: repl, offset: 6 })), "# a heading\nlast");
  const step = (await call("list-python-repls", {})).structuredContent.repls.find((one) => one.replId === repl).instructions;
  const { contents } = await client.readResource({ uri: `forevervm://machine/${repl}/step/${step}/output` });
  assert.equal(contents[0].text, output + "\n");
});

await check("output is streamed as progress", async () => {
  const messages = [];
  const result = await run(repl, "import time\nfor i in range(4):\n    print('step', i, flush=True); time.sleep(0.4)", {}, {
    onprogress: ({ progress, message }) => messages.push([progress, message ?? ""]),
  });
  assert.match(text(result), /step 3/);
  assert.ok(messages.length >= 2, `${messages.length} progress messages`);
  assert.match(messages.map(([, message]) => message).join(""), /step 0[^]*step 2/);
  for (let i = 1; i < messages.length; i++) assert.ok(messages[i][0] > messages[i - 1][0], "progress grows");
});

await check("a cancelled call interrupts its code", async () => {
  const abort = new AbortController();
  const cancelled = run(repl, "print('begun', flush=True)\ntime.sleep(60)\nx = 'not reached'", {}, {
    signal: abort.signal, onprogress: () => abort.abort("enough"),
  });
  await assert.rejects(cancelled, /enough/);
  const started = Date.now();
  assert.equal(text(await run(repl, "x")), "20");
  assert.ok(Date.now() - started < 20_000, "the next instruction did not wait for the cancelled one");
  const { contents } = await client.readResource({ uri: `forevervm://machine/${repl}/transcript` });
  assert.match(contents[0].text, /KeyboardInterrupt/);
});

await check("a time limit ends the code and keeps the state", async () => {
  const result = await run(repl, "time.sleep(60)", { timeoutSeconds: 0.5 });
  assert.match(text(result), /Timed out/);
  assert.equal(text(await run(repl, "x")), "20");
});

if (transport === "stdio") {
  await check("a long instruction answers early, and the rest can be waited for", async () => {
    const started = Date.now();
    const early = await run(repl, "for i in range(24):\n    print('tick', i, flush=True); time.sleep(1)\n'done'");
    assert.ok(Date.now() - started < 25_000);
    assert.match(text(early), /tick 0/);
    assert.match(note(early), /still running[^]*read-output/);
    const { step, offset } = place(early);
    let later = await call("read-output", { replId: repl, step, offset });
    for (let i = 0; i < 5 && unfinished(later); i++) {
      later = await call("read-output", { replId: repl, step, offset });
    }
    assert.match(text(later), /tick 23\n'done'$/);
    assert.doesNotMatch(text(later), /tick 0/);
  });

  await check("interrupt", async () => {
    const early = await run(repl, "time.sleep(600)");
    assert.ok(unfinished(early));
    await call("interrupt-python-repl", { replId: repl });
    const later = await call("read-output", { replId: repl, step: place(early).step });
    assert.match(text(later), /KeyboardInterrupt/);
    assert.match(text(await call("interrupt-python-repl", { replId: repl })), /Nothing is running/);
  });
}

await check("checkpoint, rewind, fork", async () => {
  await run(repl, "state = 'good'");
  const checkpointId = /checkpoint (\S+)\./.exec(text(await call("checkpoint-python-repl", { replId: repl, label: "good" })))[1];
  await run(repl, "state = 'bad'");
  const manage = (action, more) => call("manage-python-repl", { replId: repl, action, ...more });
  const forked = text(await manage("fork", { checkpointId, title: "what if" }));
  assert.equal(text(await run(forked, "state")), "'good'");
  assert.equal(text(await run(repl, "state")), "'bad'");
  const lines = async () => text(await manage("list-checkpoints")).split("\n");
  assert.ok((await lines()).some((line) => line.startsWith(`${checkpointId}: `) && line.includes('manual') && line.includes('"good"')));
  const back = text(await call("rewind-python-repl", { replId: repl, checkpointId, keepAs: "the bad one" }));
  assert.equal(text(await run(repl, "state")), "'good'");
  assert.match(back, /kept as the branch "the bad one"/);
  const undo = /with checkpointId "([^"]+)"/.exec(back)[1];
  assert.ok((await lines()).find((line) => line.endsWith('end of the branch "the bad one"')).startsWith(undo));
  const difference = await call("compare-checkpoints", { replId: repl, checkpointId, withCheckpointId: "the bad one" });
  const compared = difference.structuredContent;
  assert.match(text(difference), /^variable state: changed, from str 4: 'good' to str 3: 'bad'\nsteps only in the second: \d+ \d+$/);
  assert.deepEqual(compared.variables, [{ name: "state", change: "changed", before: "str 4: 'good'", after: "str 3: 'bad'" }]);
  assert.deepEqual([compared.onlyInFirst.length, compared.onlyInSecond.length], [0, 2]);
  assert.equal((await call("compare-checkpoints", { replId: repl, checkpointId: "nothing" })).isError, true);
  await call("rewind-python-repl", { replId: repl, checkpointId: "the bad one" });
  assert.equal(text(await run(repl, "state")), "'bad'");
  await call("rewind-python-repl", { replId: repl, checkpointId });
  const wrong = await call("rewind-python-repl", { replId: repl, checkpointId: "no-such-checkpoint" });
  assert.equal(wrong.isError, true);
  assert.match(text(await call("manage-python-repl", { replId: forked, action: "delete" })), /bin/);
});

await check("list and delete", async () => {
  const doomed = text(await call("create-python-repl", { title: "to be deleted" }));
  const found = (await call("list-python-repls", { search: "to be deleted" })).structuredContent.repls;
  assert.deepEqual(found.map((one) => one.replId), [doomed]);
  assert.match(text(await call("delete-python-repl", { replId: doomed })), /bin/);
  const left = (await call("list-python-repls", {})).structuredContent.repls;
  assert.ok(!left.some((one) => one.replId === doomed) && left.some((one) => one.replId === repl));
});

await check("files", async () => {
  await call("put-file", { replId: repl, path: "data/in.csv", content: "a,b\n1,2\n" });
  const [link] = /http\S+\/drop\/\S+/.exec(text(await call("put-file", { replId: repl, path: "given/" })));
  const given = await fetch(`${link.replace("/drop/", "/api/drops/")}?name=given.txt`, { method: "PUT", body: "given" });
  assert.equal(given.status, 200);
  assert.equal(text(await run(repl, "open('given/given.txt').read()")), "'given'");
  assert.equal(text(await run(repl, "import pandas as pd\nint(pd.read_csv('data/in.csv').b[0])")), "2");
  await call("put-file", { replId: repl, path: "raw.bin", content: Buffer.from([0, 1, 2, 255]).toString("base64"), encoding: "base64" });
  assert.equal(text(await run(repl, "list(open('raw.bin', 'rb').read())")), "[0, 1, 2, 255]");
  assert.equal(text(await call("get-file", { replId: repl, path: "data/in.csv" })), "a,b\n1,2\n");
  assert.equal(Buffer.from((await call("get-file", { replId: repl, path: "raw.bin" })).content.at(-1).resource.blob, "base64")[3], 255);
  await run(repl, "plt.figure(); plt.plot([1, 2]); plt.savefig('plot.png'); plt.close()\nopen('long.txt', 'w').write('0123456\\n' * 50_000)");
  assert.equal((await call("get-file", { replId: repl, path: "plot.png" })).content[0].type, "image");
  const part = await call("get-file", { replId: repl, path: "long.txt" });
  const offset = Number(/offset (\d+)/.exec(part.content[1].text)[1]);
  assert.equal(offset, text(part).length);
  assert.equal((await call("get-file", { replId: repl, path: "no/such/file" })).isError, true);
});

await check("the tools that were replaced still answer", async () => {
  await call("make-folder", { replId: repl, path: "data/deep" });
  assert.equal(text(await call("list-files", { replId: repl, path: "data" })), '/root/data:\n"deep", folder\n"in.csv", file, 8 bytes');
  await call("delete-file", { replId: repl, path: "data/deep" });
  assert.doesNotMatch(text(await call("list-files", { replId: repl, path: "data" })), /deep/);
  assert.equal((await call("delete-file", { replId: repl, path: "/" })).isError, true);
  const forked = text(await call("fork-python-repl", { replId: repl }));
  assert.match(text(await call("list-checkpoints", { replId: repl })), /manual/);
  assert.match(text(await call("delete-python-repl", { replId: forked })), /bin/);
});

await check("what is empty is an empty list", async () => {
  assert.deepEqual((await call("list-python-repls", { search: "no such words" })).structuredContent.repls, []);
  const checkpointId = /checkpoint (\S+)\./.exec(text(await call("checkpoint-python-repl", { replId: repl })))[1];
  const same = (await call("compare-checkpoints", { replId: repl, checkpointId, withCheckpointId: checkpointId })).structuredContent;
  assert.deepEqual([same.variables, same.files, same.onlyInFirst, same.onlyInSecond], [[], [], [], []]);
});

await check("packages are refused when they are none", async () => {
  for (const one of ["; rm -rf /", "--index-url=http://x", "a b", "x'$(id)'"]) {
    const result = await call("install-packages", { replId: repl, packages: [one] });
    assert.equal(result.isError, true);
    assert.match(text(result), /not a package requirement/);
  }
  const result = await call("install-packages", { replId: repl, packages: ["numpy"] });
  assert.match(text(result), /already satisfied/);
  assert.ok(!result.isError);
});

await check("a package that cannot be had is a failure", async () => {
  let result = await call("install-packages", { replId: repl, packages: ["no-such-package"] });
  while (unfinished(result)) {
    result = await call("read-output", { replId: repl, step: place(result).step });
  }
  assert.equal(result.isError, true);
  assert.match(text(result), /pip could not install no-such-package: its output says why\. Where the user lets the REPL have no network/);
});

await check("errors are sentences that say what to do", async () => {
  const unknown = await call("run-python-in-repl", { replId: "no-such-repl-1", pythonCode: "1" });
  assert.equal(unknown.isError, true);
  assert.match(text(unknown), /list-python-repls[^]*create-python-repl/);
  const wrong = await call("run-python-in-repl", { pythonCode: 1 });
  assert.equal(wrong.isError, true);
  assert.match(text(wrong), /replId/);
});

await check("resources and prompts", async () => {
  const { resourceTemplates } = await client.listResourceTemplates();
  assert.equal(resourceTemplates.length, 3);
  const uri = `forevervm://machine/${repl}/transcript`;
  const { resources } = await client.listResources();
  assert.ok(resources.some((one) => one.uri === uri));
  const transcript = (await client.readResource({ uri })).contents[0].text;
  assert.match(transcript, new RegExp(`conformance-${transport} 1\\.2\\.3`), "the history shows who ran it");
  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((one) => one.name).sort(), ["analyse-file", "continue-work", "explain-repl"]);
  for (const { name } of prompts) {
    const { messages } = await client.getPrompt({ name, arguments: { replId: repl } });
    assert.ok(messages[0].content.text.includes(repl) || name === "analyse-file");
  }
  const completed = await client.complete({ ref: { type: "ref/prompt", name: "explain-repl" }, argument: { name: "replId", value: repl.slice(0, 4) } });
  assert.ok(completed.completion.values.includes(repl));
});

await check("every tool that promises structured content was held to it", async () => {
  assert.deepEqual([...checked].sort(), Object.keys(outputs).sort());
});

await client.close();
// The library may send a last progress after a reply; the client has forgotten its token by then.
assert.deepEqual(problems.map(String).filter((one) => !/unknown token/.test(one)), []);
console.log("fine");
process.exit(0);
