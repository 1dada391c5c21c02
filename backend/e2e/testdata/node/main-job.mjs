// The main job, as an AI app does it: `forevervm mcp` is started, a REPL is created, a real CSV is analysed with
// pandas and plotted; then the daemon is killed (by whoever reads our "kill now"), and work goes on with the same variables.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [program, home, csv, plotFile] = process.argv.slice(2);
const client = new Client({ name: "Claude Desktop", version: "1.0.0" });
await client.connect(new StdioClientTransport({ command: program, args: ["mcp", "--home", home], stderr: "inherit" }));

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 120_000 });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  return result;
}

const created = await call("create-python-repl", {});
const replId = created.content[0].text;
assert.match(replId, /^[a-z]+-[a-z]+-\d+$/);

await call("put-file", { replId, path: "weather.csv", content: await readFile(csv, "utf8") });

let result = await call("run-python-in-repl", {
  replId,
  pythonCode: `
import pandas as pd
weather = pd.read_csv("weather.csv", parse_dates=["date"])
monthly = weather.groupby(weather.date.dt.month).agg(rain=("precipitation", "sum"), high=("temp_max", "mean"))
wettest = int(monthly.rain.idxmax())
print(f"{len(weather)} days, wettest month: {wettest}")
round(float(monthly.high.max()), 2)`,
});
assert.equal(result.content[0].text, "1461 days, wettest month: 11\n26.11");

result = await call("run-python-in-repl", {
  replId,
  pythonCode: `
import matplotlib.pyplot as plt
monthly.plot(y="high", kind="bar", title="Mean daily high in Seattle, °C")
plt.show()
print("drawn")`,
});
const image = result.content.find((c) => c.type === "image");
assert.equal(image?.mimeType, "image/png");
assert.ok(result.content.some((c) => c.type === "text" && c.text.includes("drawn")), "text comes with the image");
await writeFile(plotFile, Buffer.from(image.data, "base64"));

console.log("kill now");
await new Promise((resolve) => createInterface({ input: process.stdin }).once("line", resolve));

result = await call("run-python-in-repl", { replId, pythonCode: "wettest, len(weather), round(float(monthly.high.max()), 2)" });
assert.equal(result.content[0].text, "(11, 1461, 26.11)");
await client.close();
console.log(replId);
process.exit(0);
