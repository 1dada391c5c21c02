import { expect, it } from 'vitest';
import { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
const started = inTabs(daemon, (opened) => {
  tab = opened;
});

it('greets the first visitor, and the example draws a chart and a table', async () => {
  const { page } = tab;
  await page.getByText('Your AI can run code here, safely').waitFor();
  // Return leads on, as the way forward has the focus.
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Ask your AI app' }).waitFor();
  await page.keyboard.press('Enter');
  const step = tab.step(1);
  await step.getByText('730 days, from 01 January 2024').waitFor();
  const chart = step.getByRole('img', { name: 'Picture made by this step' });
  await expect
    .poll(() => chart.evaluate((img: HTMLImageElement) => img.naturalWidth))
    .toBeGreaterThan(400);
  const table = step.frameLocator('iframe').getByRole('table');
  await table.getByText('temperature').waitFor();
  await expect
    .poll(async () => (await step.locator('iframe').boundingBox())?.height)
    .toBeGreaterThan(200);
  expect(await page.title()).toBe('A first example – ForeverVM');
  expect(await step.getByText(/Warning/).count()).toBe(0);
});

it('takes the code out of the address, and a link works once', async () => {
  const { page } = tab;
  expect(page.url()).not.toContain('open=');
  const link = daemon.link();
  const second = await started.browser.newPage();
  await second.goto(link);
  await second.getByRole('contentinfo').waitFor();
  await second.close();
  const third = await started.browser.newPage();
  await third.goto(link);
  await third.getByText('This page needs a key').waitFor();
  await third.getByText('forevervm open').waitFor();
  await third.close();
});

it('comes back to the same machine after a reload', async () => {
  const name = await tab.newMachine();
  const editor = tab.page.getByRole('textbox', { name: 'Python code' });
  await editor.fill('half = written');
  await tab.page.reload();
  await tab.page.getByRole('heading', { name }).waitFor();
  await editor.getByText('half = written').waitFor();
});

it('folds what libraries warn of', async () => {
  await tab.newMachine();
  const warn = 'import warnings\nfor n in (1, 2): warnings.warn(f"old{n}", FutureWarning)';
  const step = await tab.runToEnd(1, warn);
  const line = step.getByText('2 warnings: old1');
  await line.waitFor();
  expect(await step.getByText('FutureWarning: old2').isVisible()).toBe(false);
  await line.click();
  await step.getByText('FutureWarning: old2').waitFor();
});

it('looks as the person wants, also after a reload, and keeps settings', async () => {
  const { page } = tab;
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.getByRole('button', { name: 'Settings' }).click();
  const settings = page.getByRole('dialog');
  await settings.getByLabel('Dark').check();
  await expect.poll(paper).not.toBe(light);
  await settings.getByLabel('High').check();
  await expect.poll(paper).toBe('rgb(0, 0, 0)');
  await page.reload();
  await expect.poll(paper).toBe('rgb(0, 0, 0)');

  await page.getByRole('button', { name: 'Settings' }).click();
  await settings.getByRole('button', { name: 'Storage' }).click();
  await settings.getByText(daemon.home).waitFor();
  await settings.getByLabel('Put idle machines to sleep').selectOption('30 minutes');
  await settings.getByText('Saved.').waitFor();
  expect(daemon.cli('settings')).toContain('30m');
  await settings.getByRole('button', { name: 'Diagnostics' }).click();
  await settings.getByRole('button', { name: 'Collect' }).click();
  const told = await settings.getByRole('textbox', { name: 'Diagnostics' }).inputValue();
  expect(told).toContain('"idle_swap": "30m"');
  expect(told).not.toContain(daemon.cli('token').trim());
});

it('speaks the language of the system, or the one that the person chooses', async () => {
  const german = await Tab.open(started.browser, daemon, { locale: 'de-AT' });
  try {
    const { page } = german;
    await page.getByRole('button', { name: 'Einstellungen' }).click();
    expect(await page.locator('html').getAttribute('lang')).toBe('de');
    await page.getByRole('dialog').getByLabel('Sprache').selectOption('日本語');
    await page.getByRole('button', { name: 'Jetzt neu laden' }).click();
    await page.getByRole('button', { name: '設定' }).click();
    await page.getByRole('dialog').getByRole('combobox').selectOption('en');
    await page.getByRole('dialog').getByRole('button', { name: '今すぐ再読み込み' }).click();
    await page.getByRole('button', { name: 'Settings' }).waitFor();
    expect(german.errors).toEqual([]);
  } finally {
    await german.close();
  }
});

it('leads from each part of the settings to the others, also in a small window', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.setViewportSize({ width: 400, height: 800 });
  const settings = page.getByRole('dialog');
  for (const part of ['Storage', 'Network', 'Appearance']) {
    await settings.getByRole('button', { name: part, exact: true }).click();
    await settings.getByRole('region', { name: part }).waitFor();
  }
});

it('finds machines and commands by the keyboard', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.newMachine();
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Settings ,' }).waitFor();
  await page.keyboard.type(name);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox').fill('setti');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Settings' }).waitFor();
  await page.keyboard.press('Escape');
});

it('has one-letter shortcuts, except while one types', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.tells(1, 'print("one")', page.getByText('one', { exact: true }));
  await tab.tells(2, 'print("two")', page.getByText('two', { exact: true }));
  const code = page.getByRole('textbox', { name: 'Python code' });
  await code.fill('');
  await code.press('n');
  expect(await code.innerText()).toBe('n');
  await code.fill('');
  await code.blur();

  const focused = (seq: number) =>
    expect.poll(() => tab.step(seq).evaluate((at) => document.activeElement === at)).toBe(true);
  await page.keyboard.press('k');
  await focused(2);
  await page.keyboard.press('k');
  await focused(1);
  await page.keyboard.press('j');
  await focused(2);
  await page.keyboard.press('c');
  await page.getByRole('dialog', { name: 'Save a checkpoint' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type(name);
  expect(await page.getByRole('searchbox').first().inputValue()).toBe(name);
  await page.keyboard.press('Escape');
  await page.getByRole('searchbox').first().blur();
  await page.keyboard.press('i');
  await expect.poll(() => code.evaluate((at) => at.contains(document.activeElement))).toBe(true);
  await code.blur();

  // A command of this machine, found by some of its letters, and the key that stands for it.
  await page.keyboard.press('Control+k');
  await page.getByRole('option', { name: 'Save a checkpoint C' }).waitFor();
  await page.getByRole('combobox').fill('name tags');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Name and tags' }).waitFor();
  await page.keyboard.press('Escape');

  await page.keyboard.press(',');
  const settings = page.getByRole('dialog', { name: 'Settings' });
  await settings.getByRole('button', { name: 'Appearance' }).click();
  await settings.getByLabel('One-letter shortcuts').uncheck();
  await page.keyboard.press('Escape');
  await settings.waitFor({ state: 'detached' });
  await page.locator('body').press('c');
  expect(await page.getByRole('dialog').count()).toBe(0);
});

it('shows one dialog at a time, and gives the keyboard back to what opened it', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.menu('Name and tags');
  const details = page.getByRole('dialog', { name: 'Name and tags' });
  await details.getByLabel('Title').fill('Half typed');
  await page.keyboard.press('Control+k');
  await expect.poll(() => page.getByRole('dialog').count()).toBe(1);
  expect(await details.getByLabel('Title').inputValue()).toBe('Half typed');
  await page.keyboard.press('Escape');
  await details.waitFor({ state: 'detached' });
  const settings = page.getByRole('button', { name: 'Settings' });
  await settings.click();
  await page.getByRole('dialog').getByRole('button', { name: 'AI apps' }).click();
  await page.getByRole('button', { name: 'Connect an AI app' }).click();
  await page.getByRole('dialog', { name: 'AI apps' }).waitFor();
  expect(await page.getByRole('dialog').count()).toBe(1);
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await settings.click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await expect.poll(() => settings.evaluate((e) => document.activeElement === e)).toBe(true);
});
