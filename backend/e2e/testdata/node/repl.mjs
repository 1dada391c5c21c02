// What the JavaScript SDK does on the wire, with the `ws` package: headers, a new machine, an existing one, reconnecting.
import assert from "node:assert/strict";
import WebSocket from "ws";

const base = process.env.FOREVERVM_API_BASE;
const token = process.env.FOREVERVM_TOKEN;
const headers = { Authorization: `Bearer ${token}`, "x-forevervm-sdk": "javascript" };

/** Connects and returns {machine, exec, close}; exec collects the messages of one instruction. */
async function repl(machine, extra = {}) {
  const socket = new WebSocket(`${base.replace(/^http/, "ws")}/v1/machine/${machine}/repl`, { headers, ...extra });
  const waiting = [];
  const ready = [];
  socket.on("message", (data) => {
    const message = JSON.parse(data);
    assert.deepEqual(Object.keys(message)[0], "type", "type comes first");
    const next = waiting.shift();
    if (next) next(message);
    else ready.push(message);
  });
  const message = () =>
    new Promise((resolve, reject) => {
      if (ready.length) return resolve(ready.shift());
      waiting.push(resolve);
      socket.once("close", (code) => reject(new Error(`closed with ${code}`)));
    });
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  const connected = await message();
  assert.equal(connected.type, "connected");
  let id = 0;
  return {
    machine: connected.machine_name,
    close: () => socket.close(),
    async exec(code, timeout_seconds) {
      const request_id = id++;
      socket.send(JSON.stringify({ type: "exec", instruction: { code, timeout_seconds }, request_id }));
      const received = await message();
      assert.equal(received.type, "exec_received");
      assert.equal(received.request_id, request_id);
      const output = [];
      for (;;) {
        const m = await message();
        if (m.type === "result") {
          assert.equal(m.instruction_id, received.seq);
          return { output, result: m.result };
        }
        assert.equal(m.type, "output");
        assert.equal(m.instruction_id, received.seq);
        assert.equal(m.chunk.seq, output.length);
        output.push(m.chunk);
      }
    },
  };
}

const first = await repl("new");
let r = await first.exec("for i in range(3): print(i)\n'done'");
assert.deepEqual(r.output.map((c) => c.data), ["0", "1", "2"]);
assert.equal(r.result.value, "'done'");
assert.ok(!("error" in r.result));

r = await first.exec("import time\nfor i in range(5):\n  print(i, end='\\r'); time.sleep(.05)\nprint('end', end='')");
assert.deepEqual(r.output.map((c) => c.data), ["end"], "a progress bar leaves its last state");

r = await first.exec("1/0");
assert.equal(r.result.value, undefined);
assert.match(r.result.error, /ZeroDivisionError/);

r = await first.exec("while True: pass", 1);
assert.match(r.result.error, /Timed out/);

// The machine outlives its connection, and two connections see only what they asked for.
await first.exec("kept = 'kept'");
first.close();
const again = await repl(first.machine);
assert.equal((await again.exec("kept")).result.value, "'kept'");

// A missing token is refused before the upgrade, so is a machine that does not exist.
await assert.rejects(repl("new", { headers: {} }), /401/);
await assert.rejects(repl("no-such-machine-0"), /404/);

// Hundreds of idle sockets are no burden.
const idle = await Promise.all(Array.from({ length: 300 }, () => repl(first.machine)));
assert.equal((await again.exec("kept")).result.value, "'kept'");
idle.forEach((s) => s.close());
again.close();
console.log("fine");
