import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { hostile } from './hostile';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, (opened) => {
  tab = opened;
});

/**
 * Does something while a server elsewhere waits for requests: none comes, and the page stays what
 * it is.
 */
async function harmless(does: (outside: string) => Promise<void>): Promise<void> {
  const { page } = tab;
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
  page.on('popup', () => reached.push('popup'));
  try {
    await does(outside);
    // A request would have been made by now: this one goes the same way and comes later.
    await fetch(`${outside}/after`);
    expect(reached).toEqual(['/after']);
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
    expect(await page.evaluate(() => Object.keys(Object.prototype))).toEqual([]);
    expect(new URL(page.url()).origin).toBe(daemon.url);
    expect(page.context().pages()).toHaveLength(1);
  } finally {
    canary.close();
  }
}

it('has hostile output run nothing, reach nobody and lead nowhere', { retry: 0 }, async () => {
  await harmless(async (outside) => {
    await tab.newMachine();
    let number = 0;
    for (const [mime, output] of hostile(outside)) {
      number += 1;
      const step = await tab.runToEnd(
        number,
        `import json\nfrom IPython.display import display\n` +
          `output = ${JSON.stringify(output)}\n` +
          `display({${JSON.stringify(mime)}: ${mime.endsWith('json') ? 'json.loads(output)' : 'output'}}, raw=True)`,
      );
      const shown = step.locator('.display iframe, .display img, .display p');
      await shown.first().waitFor();
      const frame = step.locator('iframe');
      if ((await frame.count()) > 0) {
        expect(await frame.getAttribute('sandbox')).toBe('allow-scripts');
        const inside = step.frameLocator('iframe');
        await inside.locator('body').waitFor();
        for (const bait of await inside.locator('a, button, .bait').all()) {
          await bait.click({ force: true, timeout: 1_000 }).catch(() => undefined);
        }
        expect(await inside.locator('html').evaluate(() => String(self.origin))).toBe('null');
      }
    }
  });
});

/** Shows something by one of its forms. */
function display(mime: string, data: string): string {
  return `from IPython.display import display\ndisplay({${JSON.stringify(mime)}: ${data}}, raw=True)`;
}

it('shows hostile names, texts and data as text', { retry: 0 }, async () => {
  const { page } = tab;
  const evil = `<img src=x onerror=top.pwned=1><b>'"{{1}}`;
  await harmless(async (outside) => {
    const name = await tab.newMachine();
    daemon.cli('machine', 'tag', name, `kind=${evil}`);
    await tab.menu('Name and tags');
    await page.getByLabel('Title').fill(evil);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: evil }).waitFor();
    await page.locator('main header').getByText(evil).last().waitFor();
    const title = await page.title();

    const printed = await tab.runToEnd(
      1,
      String.raw`print("\x1b]8;;${outside}/osc8\x07one\x1b]8;;\x07 \x1b]8;;javascript:top.pwned=1\x1b\\two\x1b]8;;\x1b\\ \x1b]52;c;cHduZWQ=\x07three \x1b]0;pwned\x07four")`,
    );
    await printed.getByText('one two three four').waitFor();
    expect(await printed.getByRole('link', { name: /one|two/ }).count()).toBe(0);
    expect(await page.title()).toBe(title);

    const evilPython = JSON.stringify(evil);
    const failed = await tab.runToEnd(
      2,
      `raise type(${evilPython}, (Exception,), {})(${evilPython})`,
    );
    await failed.getByText(evil).first().waitFor();
    const json = JSON.stringify(`{"__proto__": {"polluted": 1}, "constructor": {"prototype":
      {"polluted": 1}}, "href": "${outside}/json", "text": "<img src=x onerror=top.pwned=1>"}`);
    const shown = await tab.runToEnd(
      3,
      display('application/json', `__import__("json").loads(${json})`),
    );
    await shown.getByText('__proto__').first().waitFor();
    await tab.runToEnd(
      4,
      `import os
os.makedirs("odd", exist_ok=True)
for name in (${evilPython}, "<svg onload=top.pwned=1>.csv", "javascript:top.pwned=1", "a\\nb", "{{1}}.png", "a\\u202egnp.exe"):
    open(f"odd/{name}", "w").write(${evilPython} + ",b\\n1,2\\n")
class Evil:
    def __repr__(self): return ${evilPython}
plain = Evil()
globals()[${evilPython}] = ${evilPython}`,
    );
    const variables = await tab.side('Variables');
    await tab.tells(5, '1', variables.getByText('plain', { exact: true }));
    await tab.side('Files');
    const files = page.getByRole('region', { name: 'Files', exact: true });
    await files.getByRole('button', { name: 'odd' }).first().click();
    await files.getByText(evil).first().waitFor();
    await files.getByText('a‹U+202E›gnp.exe').waitFor();
    await files.getByText('<svg onload=top.pwned=1>.csv').click();
    await files.getByRole('columnheader', { name: evil.slice(0, 20) }).waitFor();
  });
});

it('goes on after entities, long lines and large figures', async () => {
  const { page } = tab;
  await harmless(async (outside) => {
    await tab.newMachine();
    const svg = (declared: string, text: string) =>
      JSON.stringify(
        `<?xml version="1.0"?><!DOCTYPE svg [${declared}]><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><text>${text}</text></svg>`,
      );
    let laughs = '<!ENTITY a0 "ha">';
    for (let level = 1; level <= 10; level += 1)
      laughs += `<!ENTITY a${level} "${`&a${level - 1};`.repeat(10)}">`;
    const surface = `{"data": [{"type": "surface", "z": [[i * j % 97 for i in range(600)] for j in range(600)]}]}`;
    const points = `{"data": [{"type": "scattergl", "y": list(range(150_000))}]}`;
    for (const [at, code] of [
      display('image/svg+xml', svg(laughs, '&a10;')),
      display(
        'image/svg+xml',
        svg(`<!ENTITY x SYSTEM "${outside}/xxe"><!ENTITY % y SYSTEM "${outside}/dtd"> %y;`, '&x;'),
      ),
      'print("x" * 20_000_000)',
      display('text/latex', `"$" + "{" * 50_000 + "}" * 50_000 + "$"`),
      display('text/latex', String.raw`r"$\def\a#1{\a{#1#1}}\a{x}$"`),
      display('text/markdown', `"[" * 50_000 + "](" * 50_000`),
      display('text/html', `"<div>" * 50_000`),
      display('application/vnd.plotly.v1+json', surface),
      display('application/vnd.plotly.v1+json', points),
    ].entries()) {
      await tab.runToEnd(at + 1, code);
      expect(await page.evaluate(() => 1 + 1)).toBe(2);
    }
    await (await tab.runToEnd(10, '"still here"')).getByText("'still here'").waitFor();
  });
});

/** Ten levels, each of which has ten references to the one before. */
function bomb(wrap: (level: number, before: string) => string): string {
  let parts = '<path id="l0" d="M0 0h1"/>';
  for (let level = 1; level <= 10; level += 1) parts += wrap(level, `l${level - 1}`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">${parts}</svg>`;
}

it('draws no SVG whose parts refer to each other without end', async () => {
  const { page } = tab;
  await tab.newMachine();
  const ten = (text: string) => text.repeat(10);
  const bombs = [
    bomb((level, before) => `<g id="l${level}">${ten(`<use href="#${before}"/>`)}</g>`),
    bomb(
      (level, before) =>
        `<mask id="l${level}">${ten(`<path d="M0 0h1" style="mask: url('#${before}')"/>`)}</mask>`,
    ),
    bomb(
      (level, before) =>
        `<marker id="l${level}"><path d="M0 0 1 1 2 2 3 3 4 4" marker-mid="url(#${before})"/></marker>`,
    ),
    `<svg xmlns="http://www.w3.org/2000/svg"><image href="data:image/svg+xml;base64,AAAA"/></svg>`,
  ];
  for (const [at, svg] of bombs.entries()) {
    const code = `from IPython.display import display\ndisplay({"image/svg+xml": ${JSON.stringify(svg)}}, raw=True)`;
    const step = await tab.runToEnd(at + 1, code);
    await step.getByText('This drawing has too many parts').waitFor();
    expect(await page.evaluate(() => 1 + 1)).toBe(2);
  }
  // What people draw is shown.
  const plot = await tab.runToEnd(
    bombs.length + 1,
    `import matplotlib_inline.backend_inline as inline, matplotlib.pyplot as plt
inline.set_matplotlib_formats("svg")
plt.plot(range(2000), "o-"); plt.title("Two thousand points"); plt.show()`,
  );
  await plot.locator('.display img').waitFor();
});
