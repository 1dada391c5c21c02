import { createServer } from 'node:http';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type axe from 'axe-core';
import type { Browser, FrameLocator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { build } from 'vite';
import { launch } from './browser';
import type { Shows } from './chat-host';
import { Daemon } from './daemon';
import { hostile } from './hostile';

const axeScript = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const daemon = new Daemon();
let token: string;
let browser: Browser;
let hostScript: string;
let page: Page;
let frame: FrameLocator;
let html: string;
const errors: string[] = [];

interface Answer {
  content: { type: string; text?: string }[];
  structuredContent?: unknown;
  _meta?: Record<string, unknown>;
}

let last = 0;
/** Asks the daemon over MCP, as an app that shows pages. */
async function mcp<T>(method: string, params: Record<string, unknown>, name = ''): Promise<T> {
  const version = '2026-07-28';
  const response = await fetch(`${daemon.url}/mcp`, {
    method: 'POST',
    headers: {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'Mcp-Protocol-Version': version,
      'Mcp-Method': method,
      ...(name ? { 'Mcp-Name': name } : {}),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: ++last,
      method,
      params: {
        ...params,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': version,
          'io.modelcontextprotocol/clientInfo': { name: 'host', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {
            extensions: {
              'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] },
            },
          },
        },
      },
    }),
  });
  const answer = (await response.json()) as { result?: T; error?: unknown };
  if (!answer.result) throw new Error(JSON.stringify(answer.error));
  return answer.result;
}

const call = (name: string, args: Record<string, unknown>): Promise<Answer> =>
  mcp('tools/call', { name, arguments: args }, name);

const create = async (): Promise<string> =>
  (await call('create-python-repl', {})).content[0]?.text ?? '';

async function show(input: Record<string, unknown>, more: Partial<Shows> = {}): Promise<void> {
  const context = {
    theme: 'light',
    locale: 'en-US',
    availableDisplayModes: ['inline'],
  } satisfies Shows['context'];
  const what: Shows = { html, input, context, tools: true, ...more };
  // As JSON: the types of a page's context are too deep for Playwright's.
  await page.evaluate(
    (json) => window.chatHost.show(JSON.parse(json) as Shows),
    JSON.stringify(what),
  );
}

const answer = (result: Answer): Promise<void> =>
  page.evaluate((one) => window.chatHost.answer(one as never), result);

/** What the app has saved for the person. */
const files = (): Promise<{ name: string; base64: string }[]> =>
  page.evaluate(() => window.chatHost.asked.files);

/** Runs code and shows what came of it. */
async function shown(pythonCode: string, more: Partial<Shows> = {}, repl = ''): Promise<string> {
  const replId = repl || (await create());
  const input = { replId, pythonCode };
  const result = await call('run-python-in-repl', input);
  await show(input, more);
  await answer(result);
  return replId;
}

beforeAll(async () => {
  await daemon.start();
  token = daemon.cli('token').trim();
  browser = await launch();
  const built = await build({
    configFile: false,
    logLevel: 'error',
    build: {
      write: false,
      lib: { entry: 'e2e/chat-host.ts', formats: ['iife'], name: 'host' },
    },
  });
  const [bundle] = Array.isArray(built) ? built : [built];
  const chunk = bundle && 'output' in bundle ? bundle.output[0] : undefined;
  hostScript = chunk?.code ?? '';
  const { contents } = await mcp<{ contents: { text: string; mimeType: string }[] }>(
    'resources/read',
    { uri: 'ui://forevervm/result' },
    'ui://forevervm/result',
  );
  expect(contents[0]?.mimeType).toBe('text/html;profile=mcp-app');
  html = contents[0]?.text ?? '';
});

afterEach(async ({ task }) => {
  // What a person would have seen says more than which wait failed.
  if (task.result?.state !== 'fail') return;
  console.log(task.name, await page.frames()[1]?.locator('body').innerText());
});

afterAll(async () => {
  await browser?.close();
  await daemon.reset();
  await daemon.close();
});

beforeEach(async () => {
  await page?.context().close();
  const context = await browser.newContext({ viewport: { width: 800, height: 900 } });
  context.setDefaultTimeout(60_000);
  page = await context.newPage();
  errors.length = 0;
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (said) => said.type() === 'error' && errors.push(said.text()));
  await page.exposeFunction('callTool', (asked: { name: string; arguments: object }) =>
    call(asked.name, { ...asked.arguments }),
  );
  // No address of ours may be the page's own: it is shown by another program.
  await page.setContent('<!doctype html><title>An AI app</title><body></body>');
  await page.addScriptTag({ content: hostScript });
  frame = page.frameLocator('iframe');
  return () => expect(errors).toEqual([]);
});

it('is small, and tools name it', async () => {
  expect(html.length).toBeLessThan(1_500_000);
  const { tools } = await mcp<{ tools: { name: string; _meta?: { ui?: object } }[] }>(
    'tools/list',
    {},
  );
  const named = tools.filter(({ _meta }) => _meta?.ui && 'resourceUri' in _meta.ui);
  expect(named.map(({ name }) => name).sort()).toEqual([
    'compare-checkpoints',
    'put-file',
    'read-output',
    'run-python-in-repl',
  ]);
  expect(tools.find(({ name }) => name === 'forevervm-page')?._meta?.ui).toEqual({
    visibility: ['app'],
  });
});

it('shows text, value, table and error', async () => {
  const replId = await shown(
    'import pandas as pd\nprint("\\n".join(f"line {i}" for i in range(500)))\ndf = pd.DataFrame({"n": range(1000), "city": ["Oslo", "Rome"] * 500})\ndf',
  );
  await frame.getByText('line 0', { exact: true }).waitFor();
  await frame
    .getByRole('button', { name: /more lines|Show everything/ })
    .first()
    .waitFor();
  await frame.frameLocator('iframe').getByText('Rome').first().waitFor();

  // The table that the code names opens, and the machine sorts it.
  await frame.getByRole('button', { name: /^df/ }).click();
  const table = frame.getByRole('region', { name: 'df' });
  await table.getByRole('button', { name: 'n', exact: true }).click();
  await table.getByRole('button', { name: 'n', exact: true }).click();
  await table.getByRole('cell', { name: '999', exact: true }).waitFor();
  await table.getByRole('textbox', { name: 'Filter n' }).fill('= 7');
  await frame.getByText('1–1 of 1 (1,000 in all)').waitFor();

  // All rows that match are saved.
  await frame.getByRole('button', { name: 'CSV', exact: true }).click();
  await expect
    .poll(async () => (await files()).map(({ name }) => name))
    .toEqual(['file:///df.csv']);
  const csv = Buffer.from((await files())[0]?.base64 ?? '', 'base64').toString();
  expect(csv.trim().split('\n')).toHaveLength(2);

  await shown('def f(n):\n    return 1 / n\nf(0)', {}, replId);
  await frame.getByText('ZeroDivisionError: division by zero').first().waitFor();
});

it('shows plots side by side, and saves one', async () => {
  const replId = await shown(
    'import matplotlib.pyplot as plt\nfor n in range(3):\n    plt.plot([n, 1, 2])\n    plt.show()',
  );
  const large = frame.getByRole('button', { name: 'Enlarge the picture' }).locator('img');
  const width = (): Promise<number> => large.evaluate((img: HTMLImageElement) => img.naturalWidth);
  await expect.poll(width).toBeGreaterThan(200);
  const first = await large.getAttribute('src');
  await frame.getByRole('button', { name: '3 of 3' }).click();
  await expect.poll(() => large.getAttribute('src')).not.toBe(first);
  await frame.getByRole('button', { name: 'Save this figure as PNG' }).click();
  await expect.poll(async () => (await files())[0]?.name).toBe('file:///plot-3.png');
  expect(
    Buffer.from((await files())[0]?.base64 ?? '', 'base64')
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');

  await frame.getByRole('button', { name: 'Open ForeverVM' }).click();
  await expect
    .poll(() => page.evaluate(() => window.chatHost.asked.links))
    .toEqual([`forevervm://machine/${replId}`]);
});

it('draws a figure of Plotly, whose code comes through the app', async () => {
  await shown(
    'from IPython.display import display\ndisplay({"application/vnd.plotly.v1+json": {"data": [{"type": "bar", "y": [1, 3, 2]}], "layout": {"title": {"text": "Three bars"}}}}, raw=True)',
  );
  await frame.frameLocator('iframe').locator('#plot').getByText('Three bars').waitFor();
});

it('follows code that runs, and stops it', async () => {
  const replId = await create();
  const input = {
    replId,
    pythonCode:
      'import time\nfor i in range(10_000):\n    print(f"at {i}", flush=True)\n    time.sleep(0.2)',
  };
  const running = call('run-python-in-repl', input);
  await show(input);
  await frame.getByText('Running', { exact: true }).waitFor();
  await frame.getByText('at 3', { exact: false }).first().waitFor();
  // A person pauses the machine in the window.
  daemon.cli('machine', 'swap', replId);
  await frame.getByText('Paused', { exact: true }).waitFor();
  daemon.cli('machine', 'wake', replId);
  await frame.getByText('Running', { exact: true }).waitFor();
  await frame.getByRole('button', { name: 'Stop', exact: true }).click();
  await answer(await running);
  await frame.getByText('Stopped', { exact: true }).first().waitFor();
});

it('shows what two states differ in', async () => {
  const replId = await create();
  await call('run-python-in-repl', { replId, pythonCode: 'a = 1\nb = 2' });
  const saved = await call('checkpoint-python-repl', { replId, label: 'one' });
  const checkpointId = /\d{8}-\S*\w/.exec(saved.content[0]?.text ?? '')?.[0] ?? '';
  await call('run-python-in-repl', { replId, pythonCode: 'a = 5\ndel b' });
  const input = { replId, checkpointId };
  const result = await call('compare-checkpoints', input);
  await show(input);
  await answer(result);
  await frame.getByText('Removed').waitFor();
  await frame.getByText('Changed').waitFor();
});

it('shows what the model has where the app lets it ask for nothing', async () => {
  await shown('import matplotlib.pyplot as plt\nprint("plain")\nplt.plot([3, 1, 2])\nplt.show()', {
    tools: false,
  });
  await frame.getByText('plain').waitFor();
  await frame.getByRole('img', { name: 'Picture made by this step' }).waitFor();
});

it('takes a file that the tool asks for', async () => {
  const replId = await create();
  const input = { replId, path: 'data/' };
  await show(input);
  await answer(await call('put-file', input));
  const zone = frame.getByRole('group', { name: 'Place for the file' });
  await zone.getByText(`It goes into the folder data/ of the machine ${replId}`).waitFor();
  const buffer = Buffer.alloc(1_300_000, 'forever');
  const file = { name: 'größe.bin', mimeType: 'application/octet-stream', buffer };
  await zone.locator('input[type=file]').setInputFiles(file);
  await frame.getByText('The file is there: data/größe.bin, 1.3 MB.').waitFor();
  const pythonCode = 'open("data/größe.bin", "rb").read() == (b"forever" * 200_000)[:1_300_000]';
  const read = await call('run-python-in-repl', { replId, pythonCode });
  expect(read.content[0]?.text).toBe('True');
});

it('speaks the language of the app, and follows its theme', async () => {
  await shown('from IPython.display import Markdown; Markdown("**bold**")', {
    context: { theme: 'dark', locale: 'de-DE' },
  });
  await frame.getByText('ForeverVM öffnen').waitFor();
  const scheme = (): Promise<string> =>
    frame.locator('html').evaluate((root) => getComputedStyle(root).colorScheme);
  expect(await scheme()).toBe('dark');
  const ink = frame
    .frameLocator('iframe')
    .getByText('bold')
    .evaluate((text) => getComputedStyle(text).color);
  expect(await ink).toBe('rgb(231, 232, 227)');
  await page.evaluate(() => window.chatHost.change({ theme: 'light' }));
  await expect.poll(scheme).toBe('light');
});

it('has hostile output run nothing and reach nobody', { retry: 0 }, async () => {
  const reached: string[] = [];
  const canary = createServer((request, response) => {
    reached.push(request.url ?? '');
    response.writeHead(200, { 'Access-Control-Allow-Origin': '*' }).end();
  });
  canary.listen(0, '127.0.0.1');
  await once(canary, 'listening');
  const outside = `http://127.0.0.1:${(canary.address() as AddressInfo).port}`;
  page.on('dialog', (dialog) => {
    reached.push(`dialog ${dialog.message()}`);
    void dialog.dismiss();
  });
  try {
    const replId = await create();
    for (const [mime, output] of hostile(outside)) {
      await shown(
        `import json\nfrom IPython.display import display\noutput = ${JSON.stringify(output)}\n` +
          `display({${JSON.stringify(mime)}: ${mime.endsWith('json') ? 'json.loads(output)' : 'output'}}, raw=True)`,
        {},
        replId,
      );
      await frame.locator('main iframe, main img, main p').first().waitFor();
      const inner = frame.frameLocator('iframe');
      if ((await frame.locator('iframe').count()) === 0) continue;
      await inner.locator('body').waitFor();
      for (const bait of await inner.locator('a, button, .bait').all()) {
        await bait.click({ force: true, timeout: 1_000 }).catch(() => undefined);
      }
    }
    await fetch(`${outside}/after`);
    expect(reached).toEqual(['/after']);
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
    expect(page.context().pages()).toHaveLength(1);
  } finally {
    canary.close();
    errors.length = 0; // what was refused is told there
  }
});

it.each([
  ['light', 300],
  ['dark', 300],
  ['light', 1200],
  ['dark', 1200],
] as const)('has no violation that axe can find: %s, %i px', async (theme, width) => {
  await page.setViewportSize({ width, height: 900 });
  await shown(
    'import pandas as pd, matplotlib.pyplot as plt\nprint("some text")\nfor n in range(2):\n    plt.plot([n, 1, 2])\n    plt.show()\ndf = pd.DataFrame({"n": range(30)})\n1/0',
    { context: { theme, availableDisplayModes: ['inline', 'fullscreen'] } },
  );
  await frame.getByRole('button', { name: /^df/ }).click();
  const grid = frame.getByRole('region', { name: 'df' });
  await grid.getByRole('cell', { name: '5', exact: true }).waitFor();
  await grid.press('End');
  await grid.getByRole('cell', { name: '29', exact: true }).waitFor();
  const inside = page.frames()[1];
  const overflow = await inside?.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  expect(overflow).toBe(0);
  await inside?.evaluate(readFileSync(axeScript, 'utf8'));
  const found = await inside?.evaluate(async () => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run({
      exclude: [['iframe']],
    });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html: of }) => of).join(' ')}`);
  });
  expect(found).toEqual([]);
});
