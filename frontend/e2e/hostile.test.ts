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
