import { createServer } from 'node:http';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, (opened) => {
  tab = opened;
});

it('says that the daemon was killed, connects again, and the variables are there', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'kept = "through a crash"');
  await daemon.kill();
  await page.getByText('Reconnecting').waitFor();
  await daemon.start();
  await page.getByText('Reconnecting').waitFor({ state: 'detached' });
  await (await tab.runToEnd(2, 'kept')).getByText("'through a crash'").waitFor();
});

it('says that loading failed, and loads when asked or when the daemon is back', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, '6 * 7');
  const failing = '**/api/machines/*/instructions?**';
  await page.route(failing, (route) => route.abort());
  await page.reload();
  await page.getByRole('heading', { name: '6 * 7' }).waitFor();
  await page.getByText('The work so far could not be loaded.').waitFor();
  expect(await page.getByText('no longer exists').count()).toBe(0);
  await page.unroute(failing);
  await page.getByRole('button', { name: 'Try again' }).click();
  await tab.step(1).getByText('42', { exact: true }).waitFor();

  await page.route(failing, (route) => route.abort());
  await page.reload();
  await page.getByText('The work so far could not be loaded.').waitFor();
  await page.unroute(failing);
  await daemon.kill();
  await daemon.start();
  await tab.step(1).getByText('42', { exact: true }).waitFor();
});

it('tells nothing to another program in the daemon’s place', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'kept = "not told"');
  await daemon.kill();
  const heard: string[] = [];
  const impostor = createServer(({ method, url, headers }, response) => {
    heard.push(`${method} ${url?.split('?')[0]} ${headers.authorization ?? ''}`.trim());
    response.end('{"status":"ok","version":"1"}');
  });
  impostor.listen(Number(new URL(daemon.url).port), '127.0.0.1');
  await once(impostor, 'listening');
  try {
    await page.getByText('Another program answers in place of ForeverVM').waitFor();
    await tab.run('kept');
    await page.getByText('ForeverVM does not answer').waitFor();
    // What a page of the impostor's could read after a reload.
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
    expect(heard.filter((request) => request !== 'GET /health')).toEqual([]);
  } finally {
    impostor.closeAllConnections();
    impostor.close();
  }
  await daemon.start();
  // Before the daemon answers, the page may find nobody there.
  await page.getByText(/Another program answers|Reconnecting/).waitFor({ state: 'detached' });
  await (await tab.runToEnd(2, 'kept')).getByText("'not told'").waitFor();
  await page.reload();
  await tab.step(2).waitFor();
});

it('shows the rest of the output when the daemon comes back while code runs', async () => {
  await tab.newMachine();
  await tab.run(
    'import time\nfor i in range(12):\n    print("part", i, flush=True)\n    time.sleep(0.25)\n"end"',
  );
  await tab.step(1).getByText('part 1').waitFor();
  await daemon.kill();
  await daemon.start();
  await tab.step(1).getByText("'end'").waitFor();
  const lines = await tab.step(1).locator('.text .line').allTextContents();
  expect(lines).toEqual(Array.from({ length: 12 }, (_, i) => `part ${i}`));
});
