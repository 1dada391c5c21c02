// Tasks, through the official client of the extension. Arguments as of conformance.mjs.
// Each check prints its name; the first that fails ends the program with status 1.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { resultFromTaskOutcome, withTasks } from "@modelcontextprotocol/ext-tasks/client";

const [transport, where, secret] = process.argv.slice(2);
const version = "2026-07-28";
const waiting = new Map();
let last = 0;

function arrived(line) {
  const message = JSON.parse(line);
  if (message.id === undefined) return; // progress
  waiting.get(message.id)(message);
  waiting.delete(message.id);
}

// Each transport: how a message is sent, and how it ends.
const authorization = { Authorization: `Bearer ${secret}` };
const transports = {
  stdio() {
    const server = spawn(where, ["mcp", "--home", secret], { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: server.stdout }).on("line", arrived);
    return { send: (message) => server.stdin.write(`${JSON.stringify(message)}\n`), end: () => server.stdin.end() };
  },
  http() {
    return {
      async send(message, name) {
        const headers = {
          ...authorization, "Content-Type": "application/json", Accept: "application/json, text/event-stream",
          "Mcp-Protocol-Version": version, "Mcp-Method": message.method, "Mcp-Name": name,
        };
        const answer = await fetch(new URL("/mcp", where), { method: "POST", headers, body: JSON.stringify(message) });
        const body = await answer.text();
        const events = body.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
        (events.length > 0 ? events : [body]).forEach(arrived);
        const failed = events.length === 0 && JSON.parse(body).error !== undefined;
        assert.equal(answer.status, failed ? 400 : 200, body);
      },
      end() {},
    };
  },
  async sse() {
    const stream = await fetch(new URL("/sse", where), { headers: authorization });
    let place;
    const known = new Promise((resolve) => { place = resolve; });
    (async () => {
      let rest = "";
      for await (const part of stream.body.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + part).split(/\r?\n/);
        rest = lines.pop();
        for (const line of lines.filter((l) => l.startsWith("data: "))) {
          if (line.includes('"jsonrpc"')) arrived(line.slice(6));
          else place(new URL(line.slice(6), where));
        }
      }
    })().catch(() => {}); // the end of the program ends the stream
    const messages = await known;
    return {
      send: (message) => fetch(messages, { method: "POST", headers: { ...authorization, "Content-Type": "application/json" }, body: JSON.stringify(message) }),
      end() {},
    };
  },
};
const connection = await transports[transport]();

function request(method, params, capabilities) {
  const id = ++last;
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: `tasks-${transport}`, version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  return new Promise((resolve, reject) => {
    waiting.set(id, resolve);
    Promise.resolve(connection.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta: { ...params._meta, ...meta } } }, params.name ?? params.taskId)).catch(reject);
  });
}
const declared = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const session = withTasks({
  endpointId: "forevervm", taskCapabilities: { generation: "v2", capabilities: {} }, invalidated: false,
  onServerRequest: () => () => {}, onNotification: () => () => {}, onInvalidated: () => () => {},
  async dispatch({ method, params }) {
    const answer = await request(method, params, declared);
    return answer.error ? { kind: "error", error: answer.error } : { kind: "result", result: answer.result };
  },
});
const call = (name, args) => session.callTool(name, args);
const text = (outcome) => resultFromTaskOutcome(outcome).content[0].text;
const create = async () => text(await (await call("create-python-repl", {})).result());
// Code that goes on until it is let go: however busy the computer is, it takes longer than a call.
const waits = "import os, time\nwhile not os.path.exists('/root/go'): time.sleep(0.1)\n";
const letGo = (replId) => call("put-file", { replId, path: "go", content: "" });
const checks = [];
const check = (name, body) => checks.push(body().then(() => console.log(`ok ${name}`)));

check("the server says that it has tasks", async () => {
  const { result } = await request("server/discover", {}, declared);
  assert.deepEqual(result.capabilities.extensions["io.modelcontextprotocol/tasks"], {});
  const { tools } = (await request("tools/list", {}, declared)).result;
  assert.equal(tools.length, 12, "nobody is told of the tools that stand for tasks");
});

check("short work is answered at once", async () => {
  const replId = await create();
  const began = Date.now();
  const execution = await call("run-python-in-repl", { replId, pythonCode: "6 * 7" });
  // A computer that is so busy that this takes 10 s gets a task, and rightly.
  if (Date.now() - began < 9_000) assert.equal(execution.kind, "immediate");
  assert.equal(text(await execution.result()), "42");
});

check("long work is a task, which tells its last line and has the result", async () => {
  const replId = await create();
  const execution = await call("run-python-in-repl", {
    replId, pythonCode: `for i in range(70): print(f'\\r{i} of 70', end='', flush=True)\n${waits}'fine'`,
  });
  assert.equal(execution.kind, "task");
  const told = [];
  const { outcome } = await execution.settle({
    onEvent: ({ type, task }) => {
      if (type !== "task") return;
      told.push(task);
      if (task.status === "working" && task.statusMessage === "69 of 70") letGo(replId);
    },
  });
  assert.equal(text(outcome), "69 of 70\n'fine'");
  assert.ok(told.every((task) => task.retentionMs === null && task.suggestedPollIntervalMs >= 2000));
  // The result stays: who lost it asks again.
  assert.equal(text(await session.task(execution.handle.taskId).result()), "69 of 70\n'fine'");
});

check("a failure of the code is a result", async () => {
  const execution = await call("run-python-in-repl", { replId: await create(), pythonCode: "import time\ntime.sleep(12)\n1/0" });
  const result = resultFromTaskOutcome(await execution.result());
  assert.equal(result.isError, true);
  assert.match(result.content[0].text, /ZeroDivisionError/);
});

check("a cancelled task ends the code, and what waits never runs", async () => {
  const replId = await create();
  const forLong = { replId, pythonCode: "import time\nprint('begun', flush=True)\nwhile True: time.sleep(1)" };
  const both = await Promise.all([call("run-python-in-repl", forLong), call("run-python-in-repl", forLong)]);
  const [first, second] = both.sort((a, b) => (a.handle.taskId < b.handle.taskId ? -1 : 1));
  // What has not begun is taken back instead.
  while ((await session.task(first.handle.taskId).snapshot()).statusMessage !== "begun") {
    await new Promise((resolve) => { setTimeout(resolve, 500); });
  }
  assert.match((await session.task(second.handle.taskId).snapshot()).statusMessage, /waits for what runs before it/);
  await session.task(second.handle.taskId).cancel();
  await session.task(first.handle.taskId).cancel();
  assert.equal((await session.task(second.handle.taskId).result()).status, "cancelled");
  const ended = resultFromTaskOutcome(await session.task(first.handle.taskId).result());
  assert.match(ended.content[0].text, /KeyboardInterrupt/);
});

check("a task asks the person", async () => {
  const replId = await create();
  const all = { ...declared, elicitation: { form: {} } };
  const pythonCode = "import socket, time\ntime.sleep(11)\ntry:\n    socket.create_connection(('192.31.196.250', 9))\nexcept OSError as e:\n    print(e)";
  const { result } = await request("tools/call", { name: "run-python-in-repl", arguments: { replId, pythonCode } }, all);
  assert.equal(result.resultType, "task");
  const { taskId } = result;
  const until = async (status) => {
    for (;;) {
      const { result: task } = await request("tasks/get", { taskId }, all);
      if (task.status === status) return task;
      assert.equal(task.status, "working");
      await new Promise((resolve) => { setTimeout(resolve, 500); });
    }
  };
  const { inputRequests } = await until("input_required");
  const [[key, question]] = Object.entries(inputRequests);
  assert.equal(question.method, "elicitation/create");
  assert.match(question.params.message, /wants to reach 192\.31\.196\.250 \(port 9\)/);
  const { result: without } = await request("tasks/get", { taskId }, declared);
  assert.equal(without.status, "working", "that client cannot ask");
  assert.match(without.statusMessage, /waits for the user/);
  await request("tasks/update", { taskId, inputResponses: { [key]: { action: "decline" } } }, all);
  const ended = await until("completed");
  assert.match(ended.result.content[0].text, /denied/);
});

check("waiting for output is a task, too", async () => {
  const replId = await create();
  await call("run-python-in-repl", { replId, pythonCode: `print('begun', flush=True)\n${waits}print('ended')` });
  const none = await call("read-output", { replId, waitSeconds: 0 });
  assert.equal(none.kind, "immediate", "it asked for what is there");
  const execution = await call("read-output", { replId, offset: 6 });
  assert.equal(execution.kind, "task");
  await letGo(replId);
  assert.equal(text(await execution.result()), "ended");
});

check("what is no task is refused", async () => {
  for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
    for (const taskId of ["", "run", "run/nobody/0/0", "run/../0/0", "other/a/0/0", 7, null, undefined]) {
      const { error } = await request(method, { taskId }, declared);
      assert.equal(error?.code, -32602, `${method} ${taskId}`);
    }
    const { error } = await request(method, { taskId: "run/nobody/0/0" }, {});
    assert.equal(error.code, -32021);
    assert.deepEqual(error.data, { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } });
  }
});

await Promise.all(checks);
await session.close();
connection.end();
console.log("fine");
process.exit(0);
