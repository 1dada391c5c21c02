import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, (opened) => {
  tab = opened;
});

it('goes back to a checkpoint; what is undone says so; a copy goes on', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'x = 1');
  await page.getByRole('button', { name: 'Save a checkpoint' }).click();
  await page.getByLabel('Name (optional)').fill('x is one');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  const mark = page.getByRole('group', { name: 'Checkpoint: x is one' });
  await mark.waitFor();
  await tab.runToEnd(2, 'x = 2');

  await mark.getByRole('button', { name: 'Go back to here' }).click();
  await page.getByText('The work of the step after it is put aside').waitFor();
  await page.getByLabel('Name of the branch that you leave').fill('x is two');
  await page.getByRole('button', { name: 'Go back', exact: true }).click();
  await tab.step(2).getByText('Undone').waitFor();
  await (await tab.runToEnd(3, 'x + 6')).getByText('7', { exact: true }).waitFor();
  // What was left stays as a branch, as the dialog said.
  const left = page.getByRole('group', { name: 'Branch: x is two' });
  await left.getByRole('button', { name: 'Go back to it' }).waitFor();

  await mark.getByRole('button', { name: 'New machine from here' }).click();
  await page.getByLabel('Title').fill('A copy');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('heading', { name: 'A copy' }).waitFor();
  await page.getByText(/^Made from /).waitFor();
  await tab.run('x + 8');
  await page.locator('article').last().getByText('9', { exact: true }).waitFor();
});

it('goes back to before a step, and makes a machine of the state after it, from its menu', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'x = 1');
  const checkpoints = await tab.side('Checkpoints');
  await checkpoints.getByText('After step 1').waitFor();
  await page.getByRole('button', { name: 'Hide the panel' }).click(); // it lies over the steps
  await tab.runToEnd(2, 'x = 2');
  const choose = async (step: number, item: string) => {
    const menu = page.getByRole('button', { name: `More for Step ${step}` });
    await menu.click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await choose(2, 'Go back to before this step');
  await page.getByRole('button', { name: 'Go back', exact: true }).click();
  await tab.step(2).getByText('Undone').waitFor();
  await (await tab.runToEnd(3, 'x')).getByText('1', { exact: true }).waitFor();

  await choose(1, 'New machine from here');
  await page.getByLabel('Title').fill('From step one');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('heading', { name: 'From step one' }).waitFor();
  await page.getByText(/^Made from /).waitFor();
});

it('finds a step that is hundreds back, and draws those near it alone', async () => {
  const { page } = tab;
  const machine = await daemon.machine({ title: 'Long story' });
  const codes = ['word_of_old = 1', ...Array.from({ length: 350 }, (_, i) => `${i}`)];
  for (const code of codes) await daemon.queue(machine, code);
  await daemon.ended(machine, 350);
  await page.getByRole('searchbox').fill('word_of_old');
  await page
    .getByRole('region', { name: 'In the history' })
    .getByText('Long story · Step 1')
    .click();
  await tab.step(1).getByText('word_of_old').waitFor();
  await page.getByRole('searchbox').fill('');
  await expect.poll(() => page.locator('article').count()).toBeLessThan(100);
  await page.getByRole('button', { name: 'Latest' }).click();
  await tab.step(351).getByText('349', { exact: true }).first().waitFor();
});

it('does not say that nothing matches above what a search has found', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'first = 1');
  await tab.runToEnd(2, 'word_of_later = 2');
  await page.getByRole('searchbox').fill('word_of_later');
  await page.getByRole('region', { name: 'In the history' }).getByText('Step 2').waitFor();
  expect(await page.getByText('Nothing matches').count()).toBe(0);
  await page.getByRole('searchbox').fill('word_of_nobody');
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('searchbox').fill('');
});

it('can be clicked after a menu and a dialog have closed', async () => {
  const { page } = tab;
  await tab.newMachine();
  const more = page.getByRole('button', { name: 'More for this machine', exact: true });
  await more.click();
  await page.getByRole('menu').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await tab.menu('Name and tags');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Save a checkpoint' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await more.click();
  await page.getByRole('menuitem', { name: 'Name and tags' }).waitFor();
});

it('says when a table is shortened, shows all of its height, and in a dialog what went wrong there', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  const wide = await tab.runToEnd(
    1,
    'import numpy as np, pandas as pd\n' +
      'df = pd.DataFrame(np.arange(1000 * 61).reshape(1000, 61), columns=[f"column {i}" for i in range(61)])\ndf',
  );
  await wide.frameLocator('iframe').getByText('1000 rows × 61 columns').waitFor();
  // The horizontal bar has room of its own: there is no second, vertical one.
  const scrolls = (): Promise<{ wide: boolean; high: boolean }> =>
    wide
      .frameLocator('iframe')
      .locator('html')
      .evaluate((html) => ({
        wide: html.scrollWidth > html.clientWidth,
        high: html.scrollHeight > html.clientHeight,
      }));
  await expect.poll(scrolls).toEqual({ wide: true, high: false });
  await wide.getByText('This table is shortened.').waitFor();
  const [shown] = await Promise.all([
    page.waitForEvent('download'),
    wide.getByRole('button', { name: 'Save the shown part as CSV' }).click(),
  ]);
  expect(readFileSync(await shown.path(), 'utf8').split('\r\n')).toHaveLength(13);

  // Text stands left and numbers right, with the names of their columns.
  const kinds = await tab.runToEnd(2, 'pd.DataFrame({"shop": ["Oslo"], "n": [1.5]})');
  const sides = (): Promise<string[]> =>
    kinds
      .frameLocator('iframe')
      .locator('thead th, td')
      .evaluateAll((cells) => cells.map((cell) => getComputedStyle(cell).textAlign));
  await expect.poll(sides).toEqual(['left', 'left', 'right', 'left', 'right']);

  const whole = await tab.runToEnd(3, 'df.iloc[:400, :2]');
  const [all] = await Promise.all([
    page.waitForEvent('download'),
    whole.getByRole('button', { name: 'Save this table as CSV' }).click(),
  ]);
  expect(readFileSync(await all.path(), 'utf8').split('\r\n')).toHaveLength(402);
  expect(await whole.getByText('This table is shortened.').count()).toBe(0);

  const variables = await tab.side('Variables');
  await variables
    .getByRole('button', { name: /^Open .*df|df/ })
    .first()
    .click();
  const dialog = page.getByRole('dialog');
  daemon.cli('exec', name, 'del df');
  await dialog.getByRole('button', { name: /CSV/ }).click();
  await dialog.getByRole('alert').getByText('There is no variable df any more.').waitFor();
  await page.keyboard.press('Escape');
});

it('sleeps and wakes with its variables', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'word = "remembered"');
  await tab.menu('Put to sleep');
  await page.locator('main header').getByText('Asleep').waitFor();
  await (await tab.runToEnd(2, 'word')).getByText("'remembered'").waitFor();
  await page.locator('main header').getByText('Ready').waitFor();
});

it('pauses code that runs, says so everywhere, and resumes it', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.run('import time\nfor i in range(100_000):\n    time.sleep(0.05)');
  const step = tab.step(1);
  await step.getByText('Running').waitFor();
  await tab.menu('Pause');
  const header = page.locator('main header').first(); // steps have one, too
  await header.getByText('Paused', { exact: true }).waitFor();
  await step.getByText('Paused', { exact: true }).waitFor();
  expect(await step.getByText('Running').count()).toBe(0);
  const status = page.locator('footer');
  await status.getByText('1 paused').waitFor();
  expect(await status.getByText('Nothing is running').count()).toBe(0);

  await page.reload();
  await header.getByText('Paused', { exact: true }).waitFor();
  await header.getByRole('button', { name: 'Resume' }).click();
  await step.getByText('Running').waitFor();
  await header.getByRole('button', { name: 'Stop' }).click();
  await step.getByText('Stopped').first().waitFor();
  await header.getByText('Ready').waitFor();
});

it('gets a title and tags, and is found by them', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.menu('Name and tags');
  await page.getByLabel('Title').fill('Über-Analyse');
  await page.getByRole('textbox', { name: 'Tags' }).fill('kind=report\n=bad');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('“=bad” is not a tag').waitFor();
  await page.getByRole('textbox', { name: 'Tags' }).fill('kind=report\nurgent');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('heading', { name: 'Über-Analyse' }).waitFor();
  await page.locator('main header').getByText('kind=report').waitFor();
  await page.locator('main header').getByText('urgent', { exact: true }).waitFor();
  await page.getByRole('searchbox').fill('über report');
  await expect.poll(() => tab.machines.count()).toBe(1);
  await page.getByRole('searchbox').fill('nothing like it');
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('searchbox').fill(name);
  await expect.poll(() => tab.machines.count()).toBe(1);
});

it('is called by what its first code says until somebody gives it a title', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  const heading = (text: string) => page.getByRole('heading', { name: text, exact: true });
  await tab.runToEnd(1, 'import math');
  await heading(name).waitFor();
  await tab.runToEnd(2, '\n# Area of the \u202efirst\u202c circle\nmath.pi * 3**2');
  await heading('Area of the first circle').waitFor();
  await page.locator('main header').getByText(name).waitFor();
  await tab.machines.filter({ hasText: 'Area of the first circle' }).waitFor();
  expect(daemon.cli('machine', 'list')).toMatch(new RegExp(`${name} .*Area of the first circle`));

  await tab.menu('Name and tags');
  const title = page.getByLabel('Title');
  expect(await title.inputValue()).toBe('');
  expect(await title.getAttribute('placeholder')).toBe('Area of the first circle');
  await title.fill('Circles');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await heading('Circles').waitFor();
  await page.getByRole('searchbox').fill('area circles');
  await expect.poll(() => tab.machines.count()).toBe(1);
  await tab.menu('Name and tags');
  await title.fill('');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await heading('Area of the first circle').waitFor();
});

it('is made with what the person wants, found by what ran in it, exported and archived', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'New machine with options…' }).click();
  await page.getByRole('menuitem', { name: 'New machine with options…' }).click();
  await page.getByLabel('Title').fill('Thesis');
  await page.getByRole('textbox', { name: 'Tags' }).fill('kind=thesis');
  await page.getByRole('combobox', { name: 'Memory limit' }).selectOption('512 MB');
  await page.getByRole('button', { name: 'Make it' }).click();
  await page.getByRole('heading', { name: 'Thesis' }).waitFor();
  const about = await tab.side('About');
  await about.getByText(/\b512 MB/).waitFor();
  await tab.menu('Memory limit…');
  await page.getByRole('combobox', { name: 'Memory limit' }).selectOption('4 GB');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await about.getByText(/\b4 GB/).waitFor();
  await tab.runToEnd(1, 'unheard_of_word = 1');

  await tab.newMachine();
  await page.getByRole('searchbox').fill('unheard_of_word');
  const hit = page.getByRole('region', { name: 'In the history' }).getByText('Thesis · Step 1');
  await hit.click();
  await page.getByRole('heading', { name: 'Thesis' }).waitFor();
  await expect
    .poll(() => tab.step(1).evaluate((step) => document.activeElement === step))
    .toBe(true);
  await page.getByRole('searchbox').fill('');

  await page.getByRole('button', { name: 'More for this machine', exact: true }).click();
  const [story] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'Export as a Jupyter notebook' }).click(),
  ]);
  expect(story.suggestedFilename()).toMatch(/\.ipynb$/);
  expect(readFileSync(await story.path(), 'utf8')).toContain('unheard_of_word = 1');

  await tab.menu('Archive');
  await expect.poll(() => tab.machines.filter({ hasText: 'Thesis' }).count()).toBe(0);
  await page.getByRole('searchbox').fill('thesis');
  await tab.machines.filter({ hasText: 'Thesis' }).waitFor();
  await page.getByRole('searchbox').fill('');
  await expect.poll(() => tab.machines.filter({ hasText: 'Thesis' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Archived' }).click();
  await expect.poll(() => tab.machines.count()).toBe(1);
  await tab.menu('Unarchive');
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await tab.machines.filter({ hasText: 'Thesis' }).waitFor();
});

it('exports a report that needs no network: headlines, plots, live figures, folded code', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'import matplotlib.pyplot as plt');
  await tab.runToEnd(2, '# Charts sales by month\nplt.bar([1, 2, 3], [3, 1, 2]); plt.show()');
  await tab.runToEnd(
    3,
    'from IPython.display import display; display({"application/vnd.plotly.v1+json": {"data": [{"type": "bar", "y": [1, 3, 2]}], "layout": {"title": {"text": "Three bars"}}}}, raw=True)',
  );
  await tab.runToEnd(4, '1 / 0');
  await tab.menu('Export a report of the results…');
  const dialog = page.getByRole('dialog', { name: 'Report of the results' });
  const preview = dialog.frameLocator('iframe');
  await preview.getByRole('heading', { level: 2, name: 'Charts sales by month' }).waitFor();
  await preview.locator('iframe[data-figure]').scrollIntoViewIfNeeded();
  await preview.frameLocator('iframe[data-figure]').getByText('Three bars').waitFor();
  const [paper] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Save as PDF' }).click(),
  ]);
  expect(paper.suggestedFilename()).toMatch(/\.pdf$/);
  expect(
    readFileSync(await paper.path())
      .subarray(0, 5)
      .toString(),
  ).toBe('%PDF-');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    dialog.getByRole('button', { name: 'Save as a web page' }).click(),
  ]);
  expect(download.suggestedFilename()).toMatch(/\.html$/);
  const file = `${await download.path()}.html`;
  await download.saveAs(file);

  const reader = await page.context().newPage();
  const asked: string[] = [];
  reader.on('request', (request) => asked.push(request.url()));
  const problems: string[] = [];
  reader.on('pageerror', (error) => problems.push(error.message));
  reader.on('console', (said) => said.type() === 'error' && problems.push(said.text()));
  await reader.goto(`file://${file}`);
  await reader.getByRole('heading', { level: 2, name: 'Charts sales by month' }).waitFor();
  await reader.frameLocator('iframe[data-figure]').getByText('Three bars').waitFor();
  expect(await reader.getByRole('heading', { level: 2 }).count()).toBe(2);
  const picture = reader.getByRole('img', { name: 'Picture of step 2' });
  await expect
    .poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth))
    .toBeGreaterThan(100);
  expect(await reader.getByText('plt.bar').isVisible()).toBe(false);
  expect(asked.filter((url) => !/^(file|data|about|blob):/.test(url))).toEqual([]);
  expect(problems).toEqual([]);
  await reader.close();
});

it('is in the group of who uses it, in a list that is grouped from then on', async () => {
  const { page } = tab;
  const headers = {
    authorization: `Bearer ${daemon.cli('token', '--owner').trim()}`,
    'content-type': 'application/json',
  };
  for (const [name, client] of [
    ['ours-1', 'Cursor/1'],
    ['ours-2', 'window/1'],
    ['ours-3', 'Claude Desktop/1'],
    ['ours-4', 'Cursor/1'],
  ]) {
    const made = await fetch(`${daemon.url}/api/machines`, {
      method: 'POST',
      headers: { ...headers, 'x-forevervm-client': client ?? '' },
      body: JSON.stringify({ name, title: name }),
    });
    expect(made.ok).toBe(true);
  }
  const list = page.getByRole('listbox', { name: 'Machines' });
  const shown = () =>
    list
      .locator('.heading, .title')
      .allTextContents()
      .then((texts) => texts.map((text) => text.replace(/\s+/g, ' ').trim()));
  await page.getByRole('searchbox').fill('ours-');
  await expect.poll(shown).toEqual(['ours-4', 'ours-3', 'ours-2', 'ours-1']);
  await page.getByRole('button', { name: 'Group by user' }).click();
  const groups = ['Y You 1', 'ours-2', 'C Claude Desktop 1', 'ours-3', 'C Cursor 2'];
  await expect.poll(shown).toEqual([...groups, 'ours-4', 'ours-1']);

  // Keys lead over the headings, and who listens hears whose machine it is.
  await list.focus();
  for (const [key, name, who] of [
    ['Home', 'ours-2', 'You'],
    ['ArrowDown', 'ours-3', 'Claude Desktop'],
    ['End', 'ours-1', 'Cursor'],
  ] as const) {
    await page.keyboard.press(key);
    const option = page.getByRole('option', {
      name: new RegExp(`${name}.*${who}`),
      selected: true,
    });
    await option.waitFor();
    expect(await list.getAttribute('aria-activedescendant')).toBe(await option.getAttribute('id'));
  }
  expect(await page.getByRole('option', { selected: true }).getAttribute('aria-posinset')).toBe(
    '4',
  );

  daemon.cli('exec', 'ours-3', '1');
  const after = ['C Command line 1', 'ours-3', 'C Cursor 2', 'ours-4', 'ours-1'];
  await expect.poll(shown).toEqual(['Y You 1', 'ours-2', ...after]);
  await page.reload();
  await page.getByRole('searchbox').fill('ours-');
  await expect.poll(shown).toEqual(['Y You 1', 'ours-2', ...after]);
  await page.getByRole('searchbox').fill('nothing like it');
  await page.getByText('Nothing matches').waitFor();
  await page.getByRole('searchbox').fill('ours-');
  await page.getByRole('button', { name: 'Group by user' }).click();
  await expect.poll(shown).toEqual(['ours-3', 'ours-4', 'ours-2', 'ours-1']);
});

it('shows the last machines on the start page, with what they drew', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(
    1,
    '# Primes\nimport matplotlib.pyplot as plt\nplt.plot([2, 3, 5]); plt.show()',
  );
  await page.getByRole('button', { name: 'ForeverVM', exact: true }).click();
  await page.getByRole('heading', { name: 'Recent machines' }).waitFor();
  const card = page.locator('main').getByRole('button', { name: /Primes/ });
  const picture = card.locator('img');
  await expect
    .poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth))
    .toBeGreaterThan(100);
  await card.click();
  await page.getByRole('heading', { name: 'Primes', exact: true }).waitFor();
});

it('is deleted, brought back by Undo, and removed for good from the bin', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.menu('Delete');
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByRole('heading', { name }).waitFor();
  await tab.menu('Delete');
  await page.getByRole('button', { name: 'Bin' }).click();
  const row = page.getByRole('listitem').filter({ hasText: name });
  await row.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete for good' }).click();
  await expect.poll(() => row.count()).toBe(0);
  expect(daemon.cli('machine', 'list')).not.toContain(name);
});
