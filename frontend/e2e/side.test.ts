import { readFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, async (opened) => {
  tab = opened;
  await tab.page.setViewportSize({ width: 1400, height: 800 });
});

const PLOT = 'import matplotlib.pyplot as plt\nplt.plot([3, 1, 2])\nplt.show()';

it('collects the plots, leads back to their steps, saves and copies them', async () => {
  const { page } = tab;
  await tab.newMachine();
  const plots = await tab.side('Plots');
  await plots.getByText('Plots and pictures that code makes appear here').waitFor();
  await tab.runToEnd(1, PLOT);
  await plots.getByText('1 of 1').waitFor();
  await tab.runToEnd(2, 'print("\\n".join("line" for _ in range(60)))');
  await tab.runToEnd(3, PLOT);
  // Who looks at the newest goes on to do so.
  await plots.getByText('2 of 2').waitFor();
  await plots.getByRole('button', { name: 'Step 3', exact: true }).waitFor();
  const large = plots.getByRole('img', { name: 'Picture made by this step' });
  await expect
    .poll(() => large.evaluate((img: HTMLImageElement) => img.naturalWidth))
    .toBeGreaterThan(200);

  await plots.getByRole('button', { name: 'Plot of step 3' }).press('ArrowLeft');
  await plots.getByText('1 of 2').waitFor();
  await plots.getByRole('button', { name: 'Step 1', exact: true }).click();
  await expect
    .poll(() => tab.step(1).evaluate((step) => document.activeElement === step))
    .toBe(true);
  await expect.poll(async () => (await tab.step(1).boundingBox())?.y).toBeGreaterThanOrEqual(0);

  const [png] = await Promise.all([
    page.waitForEvent('download'),
    plots.getByRole('button', { name: 'PNG' }).click(),
  ]);
  expect(png.suggestedFilename()).toMatch(/-1\.png$/);
  expect(
    readFileSync(await png.path())
      .subarray(1, 4)
      .toString(),
  ).toBe('PNG');
  const [svg] = await Promise.all([
    page.waitForEvent('download'),
    plots.getByRole('button', { name: 'SVG' }).click(),
  ]);
  expect(readFileSync(await svg.path(), 'utf8')).toContain('<svg');
  await tab.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await plots.getByRole('button', { name: 'Copy the picture' }).click();
  await page.getByText('The picture was copied.').waitFor();
  const copied = await page.evaluate(async () => (await navigator.clipboard.read())[0]?.types);
  expect(copied).toContain('image/png');
});

it('saves a picture without what would act or load where it is opened', async () => {
  const { page } = tab;
  await tab.newMachine();
  const drawing = `<?xml version="1.0"?>
<!DOCTYPE svg>
<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="200" height="100" onload="alert(1)">
<script>alert(2)</script><foreignObject><iframe src="https://outside.example/a"/></foreignObject>
<style>@import "https://outside.example/b"; * { stroke-linejoin: round } rect { fill: u\\72l(https://outside.example/c) }</style>
<defs><path id="glyph" d="M0 0L9 9"/><linearGradient id="fade"><stop offset="1" stop-color="red"/></linearGradient></defs>
<image xlink:href="https://outside.example/d" width="9" height="9"/>
<a xlink:href="javascript:alert(3)"><rect width="50" height="50" fill="url(#fade)" filter="url(https://outside.example/e)"/></a>
<use xlink:href="#glyph"/><use xlink:href="https://outside.example/f#g"/>
<set attributeName="xlink:href" to="javascript:alert(4)"/>
</svg>`;
  await tab.runToEnd(1, `from IPython.display import SVG\nSVG(r"""${drawing}""")`);
  const plots = await tab.side('Plots');
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    plots.getByRole('button', { name: 'SVG' }).click(),
  ]);
  const saved = readFileSync(await file.path(), 'utf8');
  expect(saved).not.toMatch(/outside|alert|script|iframe|onload|@import/);
  for (const kept of [
    '<use xlink:href="#glyph"/>',
    'linearGradient id="fade"',
    'fill="url(#fade)"',
  ])
    expect(saved).toContain(kept);
  expect(saved).toMatch(/^<svg[^]*stroke-linejoin: round[^]*<\/svg>$/);
});

it('saves an interactive figure as a picture, and takes nothing else for one', async () => {
  const { page } = tab;
  await tab.newMachine();
  const step = await tab.runToEnd(
    1,
    'import plotly.express as px\npx.bar(y=[3, 1, 4], title="To be saved")',
  );
  const plots = await tab.side('Plots');
  const saved = async (button: Locator): Promise<[string, Buffer]> => {
    const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
    return [file.suggestedFilename(), readFileSync(await file.path())];
  };
  for (const [place, png, svg, name] of [
    [plots, 'PNG', 'SVG', /-1\.\w+$/],
    [step, 'Save this figure as PNG', 'Save this figure as SVG', /^figure\.\w+$/],
  ] as const) {
    await place.frameLocator('iframe').locator('#plot').getByText('To be saved').waitFor();
    const [pngName, picture] = await saved(place.getByRole('button', { name: png }));
    expect([picture.subarray(1, 4).toString(), pngName.endsWith('.png')]).toEqual(['PNG', true]);
    expect(picture.readUInt32BE(20)).toBe(900); // twice as sharp as it is high
    const [svgName, drawing] = await saved(place.getByRole('button', { name: svg }));
    expect(drawing.toString()).toMatch(/^<svg[^]*To be saved[^]*<\/svg>$/);
    expect([pngName, svgName]).toEqual([expect.stringMatching(name), expect.stringMatching(name)]);
  }
  await tab.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  await plots.getByRole('button', { name: 'Copy the picture' }).click();
  await page.getByText('The picture was copied.').waitFor();

  // A frame that is not ours any more.
  const downloads: string[] = [];
  page.on('download', (file) => downloads.push(file.suggestedFilename()));
  const answers = async (toImage: string): Promise<void> => {
    await step.frameLocator('iframe').locator('html').evaluate(`Plotly.toImage = ${toImage}`);
    await step.getByRole('button', { name: 'Save this figure as SVG' }).click();
  };
  const alert = step.getByRole('alert');
  await answers('async () => "<html><script>top.pwned = 1</script></html>"');
  await alert.getByText('cannot be saved as one').waitFor();
  await answers('async () => "<svg>" + " ".repeat(100 << 20) + "</svg>"');
  await alert.getByText('too large').waitFor();
  await page.clock.install();
  await answers('() => new Promise(() => undefined)');
  await page.clock.runFor(60_000);
  await alert.getByText('no picture within a minute').waitFor();
  expect(downloads).toEqual([]);
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false);
});

it('keeps figures as they are while the machine and its code go on', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.run(`import os, time
import plotly.express as px
for i in range(2):
    px.bar(y=[3, 1, 4], title="To stay").show()
while not os.path.exists("go"): time.sleep(0.01)
print("gone on")`);
  await tab.side('Plots');
  const frames = page.locator('iframe');
  await expect.poll(() => frames.count()).toBe(3); // one of them in the panel
  for (let i = 0; i < 3; i += 1)
    await frames.nth(i).contentFrame().locator('#plot').getByText('To stay').waitFor();
  // A new frame has lost what the person did in it, such as a zoom.
  await frames.evaluateAll((all) => all.forEach((frame) => frame.setAttribute('data-kept', '')));
  const refreshed = page.waitForResponse(/\/plots\?/);
  await daemon.put(name, 'go', '');
  const step = tab.step(1);
  await step.getByText('gone on', { exact: true }).waitFor();
  await step.and(page.locator('.ok')).waitFor();
  await (await refreshed).finished();
  // What came of it has been drawn.
  await page.evaluate(() => new Promise(requestAnimationFrame));
  expect(await page.locator('iframe[data-kept]').count()).toBe(3);
});

it('tells the variables after each step, and does not wake a machine for them', async () => {
  const { page } = tab;
  await tab.newMachine();
  const variables = await tab.side('Variables');
  const row = (name: string) => variables.getByRole('listitem').filter({ hasText: name });
  const sales = 'import pandas as pd\nsales = pd.DataFrame({"a": [1, 2]})\nn = 0';
  let step = await tab.tells(1, sales, row('sales'));
  // A busy machine may tell late, or of numbers but not of tables. Then the list is not compared
  // with the one before the last step.
  const same = row('sales').filter({ hasText: 'table, 2 rows', hasNotText: 'New or changed' });
  const changed = (n: number) => row(`${n}`).filter({ hasText: 'New or changed' });
  let n = 40;
  do {
    n += 1;
    step = await tab.tells(step + 1, `n = ${n}`, row(`${n}`));
  } while (!(await changed(n).isVisible()) || !(await same.isVisible()));
  await variables.getByRole('searchbox').fill('sal');
  await expect.poll(() => variables.getByRole('listitem').count()).toBe(2); // its heading, and the one

  await tab.menu('Put to sleep');
  await variables.getByText('The machine is asleep. You see its last values.').waitFor();
  await page.reload();
  await variables.getByText('Wake it to see them').waitFor();
  await page.locator('main header').getByText('Asleep').waitFor();
  await variables.getByRole('button', { name: 'Wake up' }).click();
  const again = variables.getByRole('button', { name: 'Try again' });
  await row(`${n}`).or(again).first().waitFor();
  while (await again.isVisible()) {
    // The button goes when the machine has told meanwhile.
    await again.click({ timeout: 5_000 }).catch(() => undefined);
    await row(`${n}`).or(again).first().waitFor();
  }
  await row(`${n}`).waitFor();
});

it('opens a data frame as a grid that the machine sorts, filters and pages', async () => {
  const { page } = tab;
  await tab.newMachine();
  const variables = await tab.side('Variables');
  const big = variables.getByRole('button', { name: 'big' });
  const made = await tab.tells(
    1,
    'import numpy as np, pandas as pd\nopen("big.csv", "w").write("mine")\nbig = pd.DataFrame({"n": np.arange(1000) % 997, "word": [f"w{i}" for i in range(1000)]})',
    big,
  );
  await big.click();
  const grid = page.getByRole('dialog');
  await grid.getByText(/^1–\d+ of 1,000$/).waitFor();
  // Only the rows in view are drawn. Others load when one scrolls to them.
  expect(await grid.locator('tbody tr').count()).toBeLessThan(80);
  await grid.getByRole('region', { name: 'big' }).focus();
  await page.keyboard.press('End');
  await grid.getByText(/–1,000 of 1,000$/).waitFor();
  await grid.getByRole('cell', { name: 'w999' }).waitFor();
  // Each column tells what it holds.
  await grid.getByRole('img', { name: 'How the values are spread, from 0 – 996' }).waitFor();
  await grid.getByText('1,000 different').waitFor();

  const column = grid.getByRole('columnheader').filter({ hasText: 'n' }).nth(1);
  const sort = grid.getByRole('button', { name: 'n', exact: true });
  await sort.click();
  await sort.click();
  await grid.getByRole('row').nth(1).getByRole('cell', { name: '996', exact: true }).waitFor();
  expect(await column.getAttribute('aria-sort')).toBe('descending');
  await grid.getByLabel('Filter n').fill('few');
  await grid.getByText('Type part of a text, or a comparison').waitFor();
  await grid.getByRole('button', { name: 'Clear the filters' }).click();
  await grid.getByText(/ of 1,000$/).waitFor();
  await grid.getByLabel('Filter n').fill('< 3');
  await grid.getByText('1–6 of 6 (1,000 in all)').waitFor();
  await grid.getByLabel('Filter word').fill('99');
  await grid.getByText('1–3 of 3 (1,000 in all)').waitFor();
  await grid.getByRole('button', { name: /^w997/ }).click();
  await grid.getByText('1–1 of 1 (1,000 in all)').waitFor();

  const [download] = await Promise.all([
    page.waitForEvent('download'),
    grid.getByRole('button', { name: 'CSV' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('big.csv');
  expect(
    readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\n'),
  ).toEqual([',n,word', '997,0,w997']); // the rows that match
  const [excel] = await Promise.all([
    page.waitForEvent('download'),
    grid.getByRole('button', { name: 'Excel' }).click(),
  ]);
  expect(excel.suggestedFilename()).toBe('big.xlsx');
  // Nothing of it is left: no step, and the person's own file of that name is as it was.
  await page.keyboard.press('Escape');
  const after = await tab.runToEnd(
    made + 1,
    'import glob\n[open("big.csv").read(), glob.glob("/tmp/table-*")]',
  );
  await after.getByText("['mine', []]").waitFor();
});

it('lists checkpoints, keeps one, and goes back to it', async () => {
  const { page } = tab;
  await tab.newMachine();
  const checkpoints = await tab.side('Checkpoints');
  await tab.runToEnd(1, 'x = 1');
  const first = checkpoints.getByRole('listitem').filter({ hasText: 'After step 1' });
  await first.getByRole('button', { name: 'More for After step 1' }).click();
  await page.getByRole('menuitem', { name: 'Keep…' }).click();
  await page.getByLabel('Name (optional)').fill('x is one');
  await page.getByRole('button', { name: 'Keep', exact: true }).click();
  const kept = checkpoints.getByRole('listitem').filter({ hasText: 'x is one' });
  await kept.waitFor();
  // It is a mark on the line of steps now, too.
  await page.getByRole('group', { name: 'Checkpoint: x is one' }).waitFor();
  await tab.runToEnd(2, 'x = 2');
  // Where the machine is, is marked. Elsewhere, what was there is shown before going back.
  const now = checkpoints.getByRole('listitem').filter({ hasText: '● Now' });
  await expect.poll(() => now.textContent()).toContain('After step 2');
  await kept.getByRole('button', { name: 'Go back to here: x is one' }).click();
  const before = page.getByRole('dialog', { name: 'Go back to “x is one”?' });
  await before.getByText('Data there').waitFor();
  await before.getByRole('listitem').filter({ hasText: 'int · 1' }).waitFor();
  await page.getByRole('button', { name: 'Go back', exact: true }).click();
  await tab.step(2).getByText('Undone').waitFor();
  await page.getByText('You are back here, after step 1.').waitFor();
  await expect.poll(() => now.textContent()).toContain('x is one');

  // With one click it is as before, with another as after; then what is left has a name, and is
  // gone back to, and deleted.
  await page.getByRole('button', { name: 'Undo', exact: true }).click();
  await tab.step(2).getByText('Undone').waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Undo', exact: true }).last().click();
  await tab.step(2).getByText('Undone').waitFor();
  await (await tab.runToEnd(3, 'x + 6')).getByText('7', { exact: true }).waitFor();
  const branch = checkpoints.getByRole('listitem').filter({ hasText: '1 step of its own' });
  await branch.getByRole('button', { name: /^More for / }).click();
  await page.getByRole('menuitem', { name: 'Rename the branch…' }).click();
  await page.getByRole('textbox', { name: 'Name' }).fill('x is two');
  await page.getByRole('button', { name: 'Rename', exact: true }).click();
  await branch.filter({ hasText: 'x is two' }).waitFor();
  await branch.getByRole('button', { name: /^Go back to it/ }).click();
  await page.getByText('what they were on “x is two”').waitFor();
  await page.getByRole('button', { name: 'Go back', exact: true }).click();
  await tab.step(3).getByText('Undone').waitFor();
  await (await tab.runToEnd(4, 'x + 6')).getByText('8', { exact: true }).waitFor();
  await checkpoints.getByText('You are on the branch “x is two”.').waitFor();

  // What is there now is compared with what was kept; two others are, too, from the older to the
  // newer.
  await kept.getByRole('button', { name: /^More for / }).click();
  await page.getByRole('menuitem', { name: 'Compare with now' }).click();
  const compared = page.getByRole('dialog', { name: 'Differences' });
  await compared.getByText('From “x is one” to “Now”.').waitFor();
  const changed = compared.getByRole('listitem').filter({ hasText: 'Changed' });
  await changed.getByText('int · 1', { exact: true }).waitFor();
  await changed.getByText('int · 2', { exact: true }).waitFor();
  await compared.getByRole('button', { name: 'Step 2' }).waitFor();
  await page.keyboard.press('Escape');
  await branch.getByRole('button', { name: /^More for / }).click();
  await page.getByRole('menuitem', { name: 'Compare with another…' }).click();
  await checkpoints.getByRole('button', { name: 'Compare with this one: x is one' }).click();
  await compared.getByText('From “x is one” to').waitFor();
  await compared.getByText('Variables').or(compared.getByText('Steps that only')).first().waitFor();
  await page.keyboard.press('Escape');

  // Two lines of work stand beside each other, with what their steps showed.
  await branch.getByRole('button', { name: /^More for / }).click();
  await page.getByRole('menuitem', { name: 'Compare with now' }).click();
  const left = compared.getByRole('region').filter({ hasText: 'Step 3' });
  const right = compared.getByRole('region').filter({ hasText: 'Step 4' });
  await left.getByText('7', { exact: true }).waitFor();
  await right.getByText('8', { exact: true }).waitFor();
  const [one, other] = await Promise.all([left.boundingBox(), right.boundingBox()]);
  expect(other?.y).toBe(one?.y);
  expect(other?.x).toBeGreaterThanOrEqual((one?.x ?? 0) + (one?.width ?? 0));
  await page.keyboard.press('Escape');

  await branch.getByRole('button', { name: /^More for / }).click();
  await page.getByRole('menuitem', { name: 'Delete this branch' }).click();
  await branch.waitFor({ state: 'detached' });
});

it('says what a machine takes and how programs reach it; the panel is moved and hidden by keys', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  const about = await tab.side('About');
  await tab.runToEnd(1, 'x = sum(range(10_000_000))');
  await about.getByText(/^.* of 2 GB used$/).waitFor();
  await about
    .getByRole('img', { name: 'Memory over time' })
    .locator('polyline')
    .waitFor({ state: 'attached' });
  const code = about.getByLabel('Python', { exact: true }).last();
  expect(await code.textContent()).toContain(`base_url="${daemon.url}")`);
  expect(await code.textContent()).toContain(name);
  expect(await about.textContent()).not.toContain(daemon.cli('token').trim());

  const handle = page.getByRole('separator', { name: 'Width of the panel' });
  const width = Number(await handle.getAttribute('aria-valuenow'));
  await handle.press('ArrowLeft');
  await expect
    .poll(async () => Number(await handle.getAttribute('aria-valuenow')))
    .toBe(width + 24);
  await page.reload();
  await expect
    .poll(async () => Number(await handle.getAttribute('aria-valuenow')))
    .toBe(width + 24);
  await page.getByRole('tab', { name: 'About' }).press('ArrowRight');
  await page.getByRole('tabpanel', { name: 'Plots' }).waitFor();
  await page.getByRole('button', { name: 'Hide the panel' }).click();
  await page.reload();
  await tab.step(1).waitFor();
  expect(await page.getByRole('tab').count()).toBe(0);
});

it('tells what a name is by Shift+Tab and under the mouse, and wakes no machine for the mouse', async () => {
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(
    1,
    'def greet(name: str, loud: bool = False) -> str:\n    """Greets somebody <b>kindly</b>."""\n    return name',
  );
  const editor = page.getByRole('textbox', { name: 'Python code' });
  const told = page.getByRole('tooltip');
  /** A machine that has no time to tell says so: then it is asked again. */
  const ask = async (text: string): Promise<void> => {
    const [found, busy] = [told.getByText(text), told.getByText('did not answer in time')];
    for (;;) {
      await editor.press('Shift+Tab');
      await found.or(busy).waitFor();
      if (await found.isVisible()) return;
      await editor.press('Escape');
    }
  };
  // What is read out stays for a moment only.
  const announced = await page.locator('.cm-announced').evaluateHandle((element) => {
    const texts: string[] = [];
    new MutationObserver(() => texts.push(element.textContent)).observe(element, {
      childList: true,
      subtree: true,
    });
    return texts;
  });
  await editor.fill('greet("Ada")');
  await ask('greet(name: str, loud: bool = False) -> str');
  await told.getByText('Greets somebody <b>kindly</b>.').waitFor();
  expect((await announced.jsonValue()).join()).toContain('Greets somebody');
  // A second time it leads into what is told; Escape leads back, and closes it.
  await editor.press('Shift+Tab');
  await expect.poll(() => told.evaluate((tip) => document.activeElement === tip)).toBe(true);
  await page.keyboard.press('Escape');
  await told.waitFor({ state: 'detached' });
  await expect.poll(() => editor.evaluate((e) => document.activeElement === e)).toBe(true);
  await ask('Greets somebody');
  await editor.press('Escape');
  await told.waitFor({ state: 'detached' });
  await ask('Greets somebody');
  await editor.press('Home');
  await told.waitFor({ state: 'detached' });

  const word = editor.getByText('greet', { exact: false });
  for (let ok = false; !ok;) {
    const answered = page.waitForResponse(/\/inspect$/);
    await page.mouse.move(0, 0);
    await word.hover({ position: { x: 20, y: 8 } });
    ok = (await answered).ok(); // else the machine had no time to tell
  }
  await told.getByText('Greets somebody').waitFor();
  await editor.press('Escape');
  await told.waitFor({ state: 'detached' });

  // What is not known says so; indented code moves back; an empty editor lets go.
  await editor.fill('unheard_of');
  await ask('There is no information about this name yet.');
  await editor.fill('    ');
  await editor.press('Shift+Tab');
  await editor.getByText('Optional: run Python here yourself').waitFor(); // as in an empty one
  await editor.press('Shift+Tab');
  expect(await editor.evaluate((e) => document.activeElement === e)).toBe(false);

  // What would run forever runs for no longer than a moment.
  await tab.runToEnd(
    2,
    'class Slow:\n    def __getattr__(self, name):\n        while True: pass\nslow = Slow()',
  );
  await editor.fill('slow.x');
  await editor.press('Shift+Tab');
  await told.waitFor();

  await editor.press('Escape');

  await tab.menu('Put to sleep');
  const asleep = page.locator('main header').getByText('Asleep');
  await asleep.waitFor();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.clock.install();
  await editor.fill('greet("Ada")');
  await page.mouse.move(0, 0);
  await word.hover({ position: { x: 20, y: 8 } });
  await page.clock.runFor(5_000); // far more than until the mouse is taken to rest
  expect(asked.filter((url) => url.endsWith('/inspect'))).toEqual([]);
  await asleep.waitFor();
  await page.clock.resume();
  await ask('Greets somebody');
});
