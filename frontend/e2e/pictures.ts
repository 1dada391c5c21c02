import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Locator } from 'playwright-core';
import { it } from 'vitest';
import { Tab } from './browser';
import { Daemon } from './daemon';
import { inBrowser } from './tabs';

const daemon = new Daemon();
const started = inBrowser(daemon);

async function machine(
  title: string,
  tags: Record<string, string>,
  ...steps: string[]
): Promise<string> {
  const name = await daemon.machine({ title, tags });
  for (const code of steps) await daemon.ended(name, await daemon.queue(name, code));
  return name;
}

const READ = `import numpy as np, pandas as pd
days = pd.date_range("2024-01-01", "2025-12-31")
rng = np.random.default_rng(5)
shape = 1 + 0.35 * np.sin((days.day_of_year - 80) / 58) + np.linspace(0, 0.4, len(days))
frames = [
    pd.DataFrame({"day": days, "country": c, "revenue": (rng.gamma(9, k, len(days)) * shape).round(2)})
    for c, k in [("France", 96), ("Germany", 121), ("Japan", 74)]
]
pd.concat(frames).to_csv("sales.csv", index=False)`;

const TABLE = `# How did each country do, quarter by quarter?
sales = pd.read_csv("sales.csv", parse_dates=["day"])
quarters = sales.pivot_table(index=sales["day"].dt.to_period("Q"), columns="country",
                             values="revenue", aggfunc="sum").round(0)
print(f"{len(sales):,} rows, {sales['day'].min():%B %Y} to {sales['day'].max():%B %Y}")
quarters.tail(4)`;

const CHART = `import matplotlib.pyplot as plt
ax = (sales.pivot(index="day", columns="country", values="revenue") / 1e3).rolling(28).mean().plot(
    figsize=(9, 2.9), lw=1.8)
ax.set(xlabel="", ylabel="thousand € a day")
ax.legend(frameon=False, title=None, loc="upper left", ncols=3)
ax.spines[["top", "right"]].set_visible(False)
plt.tight_layout()`;

it('draws the pictures', async () => {
  await machine('Survey, open answers', { team: 'research' }, '1');
  await machine('Photo sorting', {}, '1');
  const asleep = await machine('Thesis: first model', {}, '1');
  await daemon.call('POST', `/api/machines/${asleep}/swap`);
  await machine('Nightly report', { agent: 'run 3' }, '1');
  const busy = await machine('Simulation, 10,000 runs', {});
  await daemon.call('POST', `/api/machines/${busy}/instructions`, {
    code: 'import time; time.sleep(300)',
  });
  const sales = await machine('Quarterly sales', { project: 'sales' }, READ, TABLE);
  await daemon.call('POST', `/api/machines/${sales}/checkpoints`, { label: 'Data is clean' });
  const { seq } = await daemon.call<{ seq: number }>(
    'POST',
    `/api/machines/${sales}/instructions`,
    {
      code: CHART,
    },
  );
  await daemon.call('GET', `/api/machines/${sales}/instructions/${seq}?wait=60`);

  for (const dark of [false, true]) {
    const tab = await Tab.open(started.browser, daemon, { dark });
    const { page } = tab;
    await page.setViewportSize({ width: 1280, height: 1000 });
    await tab.machines.filter({ hasText: 'Quarterly sales' }).click();
    await tab.step(3).getByRole('img', { name: 'Picture' }).waitFor();
    await tab.step(2).frameLocator('iframe').getByText('2025Q4').waitFor();
    await page.screenshot({
      path: `screenshots/${dark ? 'dark' : 'light'}.png`,
      animations: 'disabled',
    });
    await tab.close();
  }
  await daemon.call('POST', `/api/machines/${busy}/interrupt`);
});

it('draws the pictures of the guide', async () => {
  mkdirSync(join(daemon.user, '.config/Claude'), { recursive: true });
  const name = await machine('Orders', {}, READ, TABLE);
  await daemon.call('POST', `/api/machines/${name}/checkpoints`, { label: 'Data is clean' });
  await daemon.ended(name, await daemon.queue(name, 'sales = sales[sales["revenue"] > 900]'));
  const tab = await Tab.open(started.browser, daemon);
  const { page } = tab;
  const draw = (of: Locator, file: string): Promise<unknown> =>
    of.screenshot({ path: `screenshots/${file}.png`, animations: 'disabled' });
  try {
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.getByRole('button', { name: 'AI apps' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Connect: Claude Desktop' }).waitFor();
    await draw(dialog, 'connect');
    await page.keyboard.press('Escape');

    await tab.machines.filter({ hasText: 'Orders' }).click();
    const checkpoints = await tab.side('Checkpoints');
    const clean = checkpoints.getByRole('listitem').filter({ hasText: 'Data is clean' });
    await clean.getByRole('button', { name: /^More for / }).click();
    await page.getByRole('menuitem', { name: 'Compare with now' }).click();
    await dialog.getByRole('listitem').filter({ hasText: 'Changed' }).first().waitFor();
    await draw(dialog, 'compare');
    await page.keyboard.press('Escape');

    await daemon.call('PATCH', `/api/machines/${name}`, { network: { mode: 'ask' } });
    const code = 'import urllib.request as u; u.urlopen("https://api.example.com/rates")';
    await daemon.queue(name, code);
    const question = page.getByRole('alertdialog');
    await question.getByText('api.example.com', { exact: true }).waitFor();
    await draw(question, 'question');
    await question.getByRole('button', { name: 'No', exact: true }).click();
    await question.waitFor({ state: 'detached' });
  } finally {
    await tab.close();
  }
});

it('makes the moving picture: an AI app works, and the person goes back', async () => {
  const pictures = mkdtempSync(join(tmpdir(), 'forevervm-pictures-'));
  const frames: string[] = [];
  const tab = await Tab.open(started.browser, daemon);
  const { page } = tab;
  /** Shows the page as it is now, for so many milliseconds. */
  const show = async (ms: number): Promise<void> => {
    const path = join(pictures, `${frames.length}.png`);
    await page.screenshot({ path, animations: 'disabled' });
    frames.push('-d', String(ms), path);
  };
  try {
    await page.setViewportSize({ width: 1280, height: 800 });
    const name = await machine('Sales by country', { project: 'sales' });
    await tab.machines.filter({ hasText: 'Sales by country' }).click();
    await page.getByText('Nothing has run here yet').waitFor();
    await show(1500);
    await daemon.ended(name, await daemon.queue(name, READ));
    await tab.step(1).and(page.locator('.ok')).waitFor();
    await show(1500);
    await daemon.ended(name, await daemon.queue(name, TABLE));
    await tab.step(2).frameLocator('iframe').getByText('2025Q4').waitFor();
    await show(2500);
    await daemon.call('POST', `/api/machines/${name}/checkpoints`, { label: 'Data is clean' });
    await daemon.ended(name, await daemon.queue(name, CHART));
    await tab.step(3).getByRole('img', { name: 'Picture' }).waitFor();
    await show(3000);
    const panel = await tab.side('Checkpoints');
    const back = panel.getByRole('button', { name: 'Go back to here: Data is clean' });
    await back.hover();
    await show(2000);
    await back.click();
    const confirm = page.getByRole('button', { name: 'Go back', exact: true });
    await confirm.hover();
    await show(2500);
    await confirm.click();
    await tab.step(3).getByText('Undone').waitFor();
    await show(3500);
    const film = ['-loop', '0', '-lossy', '-q', '70', '-m', '6', ...frames];
    execFileSync('img2webp', [...film, '-o', 'screenshots/work.webp'], { stdio: 'ignore' });
  } finally {
    await tab.close();
    rmSync(pictures, { recursive: true });
  }
});
