// A page of a browser, which cannot set headers on a WebSocket, gives the token as _forevervm_jwt.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-quic", "--disable-background-networking", "--disable-component-update"],
});
try {
  const page = await browser.newPage();
  await page.goto(process.env.FOREVERVM_API_BASE + "/");
  const connect = (token) =>
    page.evaluate(
      ([base, jwt]) =>
        new Promise((resolve) => {
          const url = `${base.replace(/^http/, "ws")}/v1/machine/new/repl?_forevervm_jwt=${jwt}`;
          const socket = new WebSocket(url);
          const messages = [];
          socket.onmessage = (event) => {
            const message = JSON.parse(event.data);
            messages.push(message);
            if (message.type === "connected") {
              socket.send(JSON.stringify({ type: "exec", instruction: { code: "6 * 7" }, request_id: 5 }));
            }
            if (message.type === "result") {
              socket.close();
              resolve(messages);
            }
          };
          socket.onerror = () => resolve("refused");
        }),
      [process.env.FOREVERVM_API_BASE, token],
    );
  const messages = await connect(process.env.FOREVERVM_TOKEN);
  assert.deepEqual(messages.map((m) => m.type), ["connected", "exec_received", "result"]);
  assert.equal(messages[1].request_id, 5);
  assert.equal(messages[2].result.value, "42");
  assert.equal(await connect("wrong.token"), "refused");

  // A page of another origin gets nothing, token or not.
  const other = await browser.newPage();
  await other.goto("data:text/html,<p>elsewhere</p>");
  const stolen = await other.evaluate(
    ([base, token]) =>
      fetch(base + "/v1/whoami", { headers: { Authorization: "Bearer " + token } }).then(
        (r) => r.status,
        () => "refused",
      ),
    [process.env.FOREVERVM_API_BASE, process.env.FOREVERVM_TOKEN],
  );
  assert.equal(stolen, "refused");
} finally {
  await browser.close();
}
console.log("fine");
