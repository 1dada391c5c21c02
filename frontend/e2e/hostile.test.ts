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

it('has hostile output run nothing, reach nobody and lead nowhere', { retry: 0 }, async () => {
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
    // A request would have been made by now: this one goes the same way and comes later.
    await fetch(`${outside}/after`);
    expect(reached).toEqual(['/after']);
    expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
    expect(new URL(page.url()).origin).toBe(daemon.url);
    expect(page.context().pages()).toHaveLength(1);
  } finally {
    canary.close();
  }
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
