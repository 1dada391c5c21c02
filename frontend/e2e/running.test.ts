import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, (opened) => {
  tab = opened;
});

it('shows output while the code still runs', async () => {
  const name = await tab.newMachine();
  await tab.run(
    'import os, time\nprint("part", 0, flush=True)\nwhile not os.path.exists("go"): time.sleep(0.01)\nprint("part", 1)\n"end"',
  );
  const step = tab.step(1);
  await step.getByText('part 0').waitFor();
  await step.getByText('Running', { exact: true }).waitFor();
  expect(await step.getByText('part 1').count()).toBe(0);
  await daemon.put(name, 'go', '');
  await step.getByText("'end'").waitFor();
  await step.getByText('part 1').waitFor();
});

it('shows what other programs run, and who they are, as it happens', async () => {
  const name = await tab.newMachine();
  daemon.cli('exec', name, 'print("from elsewhere")');
  await tab.step(1).getByText('from elsewhere', { exact: true }).waitFor();
  await tab.step(1).getByText('Command line').waitFor();
});

it('marks in the list what is new, and what failed, and finds steps by what they do', async () => {
  const { page } = tab;
  await tab.newMachine();
  const other = await daemon.machine({ title: 'Orders of today' });
  const row = tab.machines.filter({ hasText: 'Orders of today' });
  await daemon.queue(other, '# Divides the orders\n1 / 0');
  await row.getByText('1 new step').waitFor({ state: 'attached' });
  await row.getByText('The last step failed').waitFor({ state: 'attached' });
  await page.reload();
  await row.getByText('1 new step').waitFor({ state: 'attached' });

  // A search shows what the step does, and leads there. What was looked at is not new.
  const search = page.getByRole('searchbox', { name: 'Search machines' });
  await search.fill('divides');
  await page.getByRole('button', { name: /Orders of today · Step 1 Divides the orders/ }).click();
  await tab.step(1).getByText('ZeroDivisionError').first().waitFor();
  await search.fill('');
  await row.getByText('1 new step').waitFor({ state: 'detached' });
  await daemon.ended(other, await daemon.queue(other, '1 + 1'));
  await row.getByText('The last step failed').waitFor({ state: 'detached' });
  expect(await row.getByText('new step').count()).toBe(0);
});

it('says what the steps of others do, and shows their code when asked', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  daemon.cli('exec', name, '# Counts to three\nprint([1, 2, 3])');
  daemon.cli('exec', name, 'open("a.txt", "w").write("a")');
  const [first, second] = [tab.step(1), tab.step(2)];
  await second.getByText('Saves a.txt').waitFor();
  const code = first.getByLabel('Code', { exact: true });
  const fold = first.getByRole('button', { name: 'Counts to three' });
  expect(await fold.getAttribute('aria-expanded')).toBe('false');
  expect(await code.count()).toBe(0);
  await fold.click();
  await code.waitFor();
  await fold.click();
  await expect.poll(() => code.count()).toBe(0);

  await page.getByRole('button', { name: 'Everything' }).click();
  await second.getByLabel('Code', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Results' }).click();
  await expect.poll(() => second.getByLabel('Code', { exact: true }).count()).toBe(0);
  // What the reader runs is not folded.
  await tab.run('1 + 1');
  await tab.step(3).getByLabel('Code', { exact: true }).waitFor();
});

it('draws progress bars in place and colours in colour', async () => {
  await tab.newMachine();
  const step = await tab.runToEnd(
    1,
    'for i in range(101):\n    print(f"\\r{i}%", end="", flush=True)\nprint("\\n\\x1b[31mred\\x1b[0m")',
  );
  await expect
    .poll(() => step.locator('.terminal .line').allTextContents())
    .toEqual(['100%', 'red']);
  const colour = await step
    .getByText('red', { exact: true })
    .evaluate((e) => getComputedStyle(e).color);
  expect(colour).toBe('rgb(179, 38, 30)');
});

it('shows figures of Plotly, which answer to the mouse, and formulas', async () => {
  await tab.newMachine();
  const figure = await tab.runToEnd(
    1,
    'import plotly.express as px\npx.bar(x=["a", "b", "c"], y=[3, 1, 4], title="Three of them")',
  );
  const inside = figure.frameLocator('iframe');
  await inside.locator('#plot').getByText('Three of them').waitFor(); // not in its picture
  const bars = inside.locator('.bars .point');
  await expect.poll(() => bars.count()).toBe(3); // it may be drawn twice
  await bars.nth(2).hover({ force: true }); // a layer for dragging lies above
  await inside.locator('.hoverlayer').getByText('y=4').waitFor();
  await expect
    .poll(async () => (await figure.locator('iframe').boundingBox())?.height)
    .toBeGreaterThan(400);

  const formula = await tab.runToEnd(
    2,
    'import sympy\nx = sympy.symbols("x")\nsympy.Integral(x**2, x)',
  );
  await formula.frameLocator('iframe').locator('math msup').waitFor();
});

/** What a browser tells of content that moved but by scrolling. */
interface Shift {
  startTime: number;
  sources: { node: Node | null; previousRect: DOMRectReadOnly; currentRect: DOMRectReadOnly }[];
}

it('draws of thirty figures only those near what is visible, and moves nothing for it', async () => {
  const { page } = tab;
  await tab.newMachine();
  await page.evaluate(() => {
    const seen = { most: 0, moved: [] as string[] };
    new MutationObserver(() => {
      seen.most = Math.max(seen.most, document.querySelectorAll('iframe').length);
    }).observe(document.body, { childList: true, subtree: true });
    // Of the steps only: the machine's state and memory are told beside them at any time.
    const steps = document.querySelector('.timeline');
    const count = (entries: PerformanceEntryList): void => {
      for (const { startTime, sources } of entries as unknown as Shift[])
        for (const { node, previousRect: from, currentRect: to } of sources)
          if (node && steps?.contains(node))
            seen.moved.push(
              `${(node.textContent ?? '').trim().slice(0, 40) || node.nodeName} from ${from.y} ` +
                `to ${to.y}, ${Math.round(startTime)} ms after the start`,
            );
    };
    const shifts = new PerformanceObserver((list) => count(list.getEntries()));
    shifts.observe({ type: 'layout-shift' });
    const drawn = () => new Promise(requestAnimationFrame);
    Object.assign(window, {
      async look(): Promise<typeof seen> {
        for (let frame = 0; frame < 2; frame += 1) await drawn();
        count(shifts.takeRecords());
        return seen;
      },
    });
  });
  /** With all that has been drawn so far. */
  const seen = () =>
    page.evaluate(() =>
      (window as unknown as { look(): Promise<{ most: number; moved: string[] }> }).look(),
    );
  await tab.runToEnd(
    1,
    'import plotly.express as px\nfor i in range(30):\n    px.bar(y=[i, 1, 2], title=f"Figure {i}").show()\n"end"',
  );
  const figures = tab.step(1).locator('.figure');
  await expect.poll(() => figures.count()).toBe(30);
  const drawn = (i: number) =>
    figures.nth(i).frameLocator('iframe').locator('#plot').getByText(`Figure ${i}`);
  const top = async (i: number) => {
    await figures.nth(i).evaluate(async (figure) => {
      // As by the bar: what no person scrolled goes back to its end when a figure's height changes.
      const hold = (type: string, buttons: number) =>
        figure.dispatchEvent(new PointerEvent(type, { buttons, bubbles: true }));
      hold('pointerdown', 1);
      figure.scrollIntoView({ block: 'start' });
      for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
      hold('pointerup', 0);
    });
    await drawn(i).waitFor();
    await figures.nth(i).locator('> img').waitFor({ state: 'attached' }); // its picture is kept
    const { y = NaN, height = NaN } = (await figures.nth(i).boundingBox()) ?? {};
    return [Math.round(y), Math.round(height)];
  };
  const places = [];
  for (const i of [0, 29]) places.push(await top(i));
  await expect.poll(() => page.locator('iframe').count()).toBeLessThanOrEqual(5);
  expect(await figures.first().locator('iframe').count()).toBe(0);
  await figures.first().locator('> img:not([hidden])').waitFor({ state: 'attached' });
  await figures.nth(15).getByText('drawn when it comes into view').waitFor({ state: 'attached' });

  // From here on nothing may move but by scrolling.
  const before = (await seen()).moved;
  const again = [];
  for (const i of [0, 29]) again.push(await top(i));
  expect(again).toEqual(places);
  expect((await seen()).moved).toEqual(before);
  expect((await seen()).most).toBeLessThanOrEqual(6);
});

it('leaves the latest where the wheel turns over a figure', async () => {
  const { page } = tab;
  await tab.newMachine();
  const step = await tab.runToEnd(
    1,
    'import plotly.express as px\nfor i in range(4):\n    px.bar(y=[i, 1, 2]).show()',
  );
  const last = step.locator('.figure').last();
  await last.frameLocator('iframe').locator('.bars .point').first().waitFor();
  const { x = NaN, y = NaN, width = NaN, height = NaN } = (await last.boundingBox()) ?? {};
  await page.mouse.move(x + width / 2, y + height - 20);
  await page.mouse.wheel(0, -200);
  await page.getByRole('button', { name: 'Jump to the latest' }).waitFor();
});

it('does not draw a figure again on its own that held up the page', async () => {
  const { page } = tab;
  await tab.newMachine();
  const kept = () => page.evaluate(() => localStorage.getItem('forevervm.drawing'));
  await page.evaluate(() => {
    const set = Storage.prototype.setItem.bind(localStorage);
    localStorage.setItem('begun', '');
    Storage.prototype.setItem = (key, value) => {
      if (key === 'forevervm.drawing' && value !== '[]') set('begun', value);
      set(key, value);
    };
  });
  const step = await tab.runToEnd(1, 'import plotly.express as px\npx.bar(y=[3, 1, 4])');
  const bars = step.frameLocator('iframe').locator('.bars .point');
  await bars.first().waitFor();
  await expect.poll(kept).toBe('[]');
  // What a page leaves that was ended while it drew.
  await page.evaluate(() =>
    localStorage.setItem('forevervm.drawing', localStorage.getItem('begun') ?? ''),
  );
  await page.reload();
  await step.getByText('may freeze the page').waitFor();
  await step.getByRole('button', { name: 'Draw it anyway' }).click();
  await bars.first().waitFor();
  await expect.poll(kept).toBe('[]');
});

it('says that it does not show other interactive figures, and has their data', async () => {
  await tab.newMachine();
  const step = await tab.runToEnd(
    1,
    'from IPython.display import display\ndisplay({"application/vnd.vegalite.v5+json": {"mark": "bar"}}, raw=True)',
  );
  await step.getByText('Figures from matplotlib and Plotly are.').waitFor();
  expect(await step.locator('details[open]').count()).toBe(0);
  await step.getByText('The data of the figure').click();
  await step.getByText('mark').first().waitFor();
});

it('says what went wrong before it says where', async () => {
  await tab.newMachine();
  const step = await tab.runToEnd(1, 'def f(x):\n    return 1 / x\nf(0)');
  await step.getByText('ZeroDivisionError: division by zero').first().waitFor();
  await step.getByText('What Python says').waitFor();
  await step.getByText('Failed').waitFor();
});

it('says what an error means, and copies a request to mend it', async () => {
  const { page } = tab;
  await tab.context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const name = await tab.newMachine();
  const step = await tab.runToEnd(
    1,
    'import pandas as pd\ndf = pd.DataFrame({"month": [1], "Revenue": [2]})\ndf["profit"]',
  );
  const help = 'There is no column "profit". There are: month, Revenue.';
  await step.getByText(help).first().waitFor();
  await step.getByRole('button', { name: 'Copy a request to fix it' }).click();
  const copied = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());
  await expect.poll(copied).toContain(`In the ForeverVM machine ${name}, step 1 failed: KeyError`);
  expect(await copied()).toContain(help);

  // A sentence is no Python: it is not run, and goes to the AI app.
  const words = 'please show me the total revenue by shop';
  await tab.run(words);
  await page.getByText('This box runs Python.').waitFor();
  await page.getByRole('button', { name: 'Copy as a request' }).click();
  await expect.poll(copied).toBe(`In the ForeverVM machine ${name}: ${words}`);
  expect(await tab.step(2).count()).toBe(0);
  await page.getByRole('button', { name: 'Run it anyway' }).click();
  await tab.step(2).getByText('SyntaxError').first().waitFor();
});

it('stops an endless loop; the machine and its variables go on', async () => {
  await tab.newMachine();
  await tab.runToEnd(1, 'kept = 41');
  await tab.run('while True: pass');
  await tab.step(2).getByText('Running', { exact: true }).waitFor();
  // Bound to the step that is seen running: another may have begun when the click arrives.
  await Promise.all([
    tab.page.waitForRequest(/\/interrupt\?seq=1$/),
    tab.page.getByRole('button', { name: 'Stop' }).click(),
  ]);
  await tab.step(2).getByText('Stopped').first().waitFor();
  await (await tab.runToEnd(3, 'kept + 1')).getByText('42', { exact: true }).waitFor();
});

it('queues code and cancels what waits', async () => {
  await tab.newMachine();
  await tab.run('import time; time.sleep(600)');
  await tab.step(1).getByText('Running', { exact: true }).waitFor();
  await tab.run('print("never")');
  await tab.step(2).getByText('Waiting its turn').waitFor();
  await tab.step(2).getByRole('button', { name: 'Cancel' }).click();
  await tab.step(2).getByText('Cancelled before it ran').first().waitFor();
  await tab.page.getByRole('button', { name: 'Stop' }).click();
  await tab.step(1).getByText('Stopped').first().waitFor();
});

it('does not put messages over what code is written in, or over Run', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await page.getByRole('textbox', { name: 'Python code' }).fill('1\n'.repeat(8));
  await page.waitForURL(`**/#/machine/${name}`); // else its address takes the place of the other
  // The message goes after some seconds, so it is measured as it comes.
  const [shown] = await Promise.all([
    page.getByRole('status').filter({ hasText: 'no longer exists' }).boundingBox(),
    page.evaluate(() => (location.hash = '#/machine/nobody-at-all-1')),
  ]);
  const box = await page.locator('.compose').boundingBox();
  expect(shown && box && shown.y + shown.height).toBeLessThanOrEqual(box?.y ?? 0);
});

it('completes names from the live machine', async () => {
  await tab.newMachine();
  await tab.runToEnd(1, 'unmistakable_name = 1');
  const editor = tab.page.getByRole('textbox', { name: 'Python code' });
  for (let told = false; !told;) {
    const answered = tab.page.waitForResponse(/\/complete$/);
    await editor.fill('');
    await editor.pressSequentially('unmist');
    told = (await answered).ok(); // else the machine had no time to tell
  }
  await tab.page.getByRole('option', { name: 'unmistakable_name', exact: true }).waitFor();
});

it('keeps 100,000 lines out of the page and shows them when asked', async () => {
  await tab.newMachine();
  const step = await tab.runToEnd(1, 'for i in range(100_000): print("line", i)');
  await step.getByText('line 99999', { exact: true }).waitFor();
  expect(await step.locator('.line').count()).toBeLessThanOrEqual(80);
  await step.getByRole('button', { name: 'Show everything' }).click();
  const find = tab.page.getByRole('dialog').getByRole('searchbox', { name: 'Find' });
  const log = tab.page.getByRole('log');
  await tab.page.getByText('100,000 lines').waitFor();
  expect(await log.locator('.row').count()).toBeLessThan(120);
  await log.press('End');
  await log.getByText('line 99999', { exact: true }).waitFor();
  await log.evaluate((e) => (e.scrollTop = e.scrollHeight / 2));
  await log.getByText('line 50000', { exact: true }).waitFor();
  await find.fill('line 7777');
  await log.getByText('line 7777', { exact: true }).waitFor();
  await tab.page.getByText('1 of 11').waitFor();
  await find.press('Shift+Enter');
  await log.getByText('line 77779', { exact: true }).waitFor();
});
