import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { launch, Tab } from './browser';
import { Daemon } from './daemon';

/** Another daemon is the hosted service. */
let service: Daemon;
let computer: Daemon;
let browser: Browser;
let tab: Tab;

beforeAll(async () => {
  browser = await launch();
});

beforeEach(async () => {
  service = new Daemon();
  await service.start();
  computer = new Daemon({
    FOREVERVM_TOKEN: service.cli('token').trim(),
    FOREVERVM_BASE_URL: service.url,
  });
  await computer.start();
  tab = await Tab.open(browser, computer);
  await tab.page.setViewportSize({ width: 1400, height: 800 });
});

afterEach(async () => {
  await tab.close();
  await computer.close();
  await service.close();
});

afterAll(() => browser.close());

it('shows a hosted machine live, and nothing that the service cannot do', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'Hosted service' }).click();
  await page.getByRole('dialog').getByText(service.url).waitFor();
  await page.keyboard.press('Escape');
  const { name } = JSON.parse(service.cli('machine', 'new', '--tag', 'made=there', '--json')) as {
    name: string;
  };
  const row = tab.machines.filter({ hasText: name });
  await expect // looking has the service asked
    .poll(async () => (computer.cli('machine', 'list'), row.count()))
    .toBe(1);
  await row.getByText('Hosted').waitFor();
  await row.click();
  computer.cli('exec', name, 'print("from the command line")\n6 * 7');
  await tab.step(1).getByText('from the command line', { exact: true }).waitFor();
  await tab.runToEnd(2, 'import matplotlib.pyplot as plt\nplt.plot([3, 1, 2])\nplt.show()');
  const plots = await tab.side('Plots');
  await plots.getByText('1 of 1').waitFor();

  expect(await page.getByRole('tab').allTextContents()).toEqual(['Plots', 'About']);
  const about = await tab.side('About');
  await about.getByText('which offers no checkpoints').waitFor();
  expect(await about.getByText('Name and tags').count()).toBe(0);
  expect(await page.getByRole('button', { name: 'Save a checkpoint' }).count()).toBe(0);
  await page.getByRole('button', { name: 'More for this machine', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Export the code' }).waitFor();
  const items = await page.getByRole('menuitem').allTextContents();
  for (const local of ['Put to sleep', 'Copy this machine…', 'Name and tags…', 'Delete']) {
    expect(items.map((item) => item.trim())).not.toContain(local);
  }
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Plots' }).waitFor();
  for (const local of ['Put to sleep', 'Wake up', 'Variables', 'Files', 'Checkpoints']) {
    expect(await page.getByRole('option', { name: local }).count()).toBe(0);
  }
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'New machine with' }).click();
  await page.getByRole('menuitem', { name: 'New machine with options…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).waitFor();
  await dialog
    .getByRole('combobox', { name: 'Where it runs' })
    .selectOption('At the hosted service');
  await dialog.getByLabel('Name', { exact: true }).waitFor({ state: 'detached' });
  await dialog.getByRole('button', { name: 'Make it' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.locator('main header').getByText('Hosted').waitFor();
  expect(tab.errors).toEqual([]);
});
