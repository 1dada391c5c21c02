import { createServer } from 'node:http';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { hostile } from './hostile';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
const started = inTabs(daemon, (opened) => {
  tab = opened;
});

describe('opening', () => {
  it('greets the first visitor, and the example draws a chart and a table', async () => {
    const { page } = tab;
    await page.getByText('Your AI can run code here, safely').waitFor();
    // Return leads on, as the way forward has the focus.
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Where machines run' }).waitFor();
    await page.getByText('It works, and new machines run in it.').waitFor();
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
    await tab.page.reload();
    await tab.page.getByRole('heading', { name }).waitFor();
  });
});

describe('running code', () => {
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
    await inside.getByText('Three of them').waitFor();
    const bars = inside.locator('.bars .point');
    expect(await bars.count()).toBe(3);
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

  it('draws of thirty figures only those near what is visible, and moves nothing for it', async () => {
    const { page } = tab;
    await tab.newMachine();
    await page.evaluate(() => {
      const seen = { most: 0, shifts: 0 };
      new MutationObserver(() => {
        seen.most = Math.max(seen.most, document.querySelectorAll('iframe').length);
      }).observe(document.body, { childList: true, subtree: true });
      const count = (entries: PerformanceEntryList): void => {
        for (const { value } of entries as unknown as { value: number }[]) seen.shifts += value;
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
        (window as unknown as { look(): Promise<{ most: number; shifts: number }> }).look(),
      );
    await tab.runToEnd(
      1,
      'import plotly.express as px\nfor i in range(30):\n    px.bar(y=[i, 1, 2], title=f"Figure {i}").show()\n"end"',
    );
    const figures = tab.step(1).locator('.figure');
    await expect.poll(() => figures.count()).toBe(30);
    const drawn = (i: number) => figures.nth(i).frameLocator('iframe').getByText(`Figure ${i}`);
    const top = async (i: number) => {
      await figures.nth(i).evaluate((figure) => figure.scrollIntoView({ block: 'start' }));
      await drawn(i).waitFor();
      const { y = NaN, height = NaN } = (await figures.nth(i).boundingBox()) ?? {};
      return [Math.round(y), Math.round(height)];
    };
    const places = [];
    for (const i of [0, 15, 29]) places.push(await top(i));
    await expect.poll(() => page.locator('iframe').count()).toBeLessThanOrEqual(5);
    expect(await figures.first().locator('iframe').count()).toBe(0);
    await figures.first().getByText('drawn when it comes into view').waitFor({ state: 'attached' });

    // From here on nothing may move but by scrolling.
    const before = (await seen()).shifts;
    const again = [];
    for (const i of [0, 15, 29]) again.push(await top(i));
    expect(again).toEqual(places);
    expect((await seen()).shifts).toBe(before);
    expect((await seen()).most).toBeLessThanOrEqual(6);
  });

  it('does not draw a figure again by itself that held up the page', async () => {
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
    await step.getByText('may hold up the page').waitFor();
    await step.getByRole('button', { name: 'Draw it all the same' }).click();
    await bars.first().waitFor();
    await expect.poll(kept).toBe('[]');
  });

  it('says that it does not show other interactive figures, and has their data', async () => {
    await tab.newMachine();
    const step = await tab.runToEnd(
      1,
      'from IPython.display import display\ndisplay({"application/vnd.vegalite.v5+json": {"mark": "bar"}}, raw=True)',
    );
    await step.getByText('Figures made with matplotlib and Plotly are.').waitFor();
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
    await tab.newMachine();
    await page.getByRole('textbox', { name: 'Python code' }).fill('1\n'.repeat(8));
    await page.evaluate(() => (location.hash = '#/machine/nobody-at-all-1'));
    const message = page.getByRole('status').filter({ hasText: 'does not exist any more' });
    await message.waitFor();
    const shown = await message.boundingBox();
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
});

describe('a machine', () => {
  it('goes back to a checkpoint; what is undone says so; a copy goes on by itself', async () => {
    const { page } = tab;
    await tab.newMachine();
    await tab.runToEnd(1, 'x = 1');
    await page.getByRole('button', { name: 'Save a checkpoint' }).click();
    await page.getByLabel('What should it be called?').fill('x is one');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const mark = page.getByRole('group', { name: 'Checkpoint: x is one' });
    await mark.waitFor();
    await tab.runToEnd(2, 'x = 2');

    await mark.getByRole('button', { name: 'Go back to here' }).click();
    await page.getByText('What the step after it did is undone').waitFor();
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

  it('sleeps and wakes with its variables', async () => {
    const { page } = tab;
    await tab.newMachine();
    await tab.runToEnd(1, 'word = "remembered"');
    await tab.menu('Put to sleep');
    await page.locator('main header').getByText('Asleep').waitFor();
    await (await tab.runToEnd(2, 'word')).getByText("'remembered'").waitFor();
    await page.locator('main header').getByText('Ready').waitFor();
  });

  it('gets a title and tags, and is found by them', async () => {
    const { page } = tab;
    const name = await tab.newMachine();
    await tab.menu('Name and tags');
    await page.getByLabel('Title').fill('Über-Analyse');
    await page.getByRole('textbox', { name: 'Tags' }).fill('kind=report\nbad');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('“bad” is not a tag').waitFor();
    await page.getByRole('textbox', { name: 'Tags' }).fill('kind=report');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: 'Über-Analyse' }).waitFor();
    await page.locator('main header').getByText('kind=report').waitFor();
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
    await page.getByRole('button', { name: 'New machine with…' }).click();
    await page.getByRole('menuitem', { name: 'New machine with…' }).click();
    await page.getByLabel('Title').fill('Thesis');
    await page.getByRole('textbox', { name: 'Tags' }).fill('kind=thesis');
    await page.getByLabel('Memory limit').fill('many');
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByText('a whole number of megabytes').waitFor();
    await page.getByLabel('Memory limit').fill('512');
    await page.getByRole('button', { name: 'Make it' }).click();
    await page.getByRole('heading', { name: 'Thesis' }).waitFor();
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
    await tab.menu('Back from the archive');
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await tab.machines.filter({ hasText: 'Thesis' }).waitFor();
  });

  it('is in the group of who uses it, in a list that is grouped from then on', async () => {
    const { page } = tab;
    const headers = {
      authorization: `Bearer ${daemon.cli('token').trim()}`,
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
    await page.getByRole('button', { name: 'Group by who uses them' }).click();
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
      expect(await list.getAttribute('aria-activedescendant')).toBe(
        await option.getAttribute('id'),
      );
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
    await page.getByRole('button', { name: 'Group by who uses them' }).click();
    await expect.poll(shown).toEqual(['ours-3', 'ours-4', 'ours-2', 'ours-1']);
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
});

describe('the window', () => {
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
    await settings.getByLabel('Put idle machines to sleep').fill('soon');
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.getByRole('alert').waitFor();
    await settings.getByLabel('Put idle machines to sleep').fill('20m');
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.getByText('Saved.').waitFor();
    expect(daemon.cli('settings')).toContain('20m');
    await settings.getByRole('button', { name: 'Diagnostics' }).click();
    await settings.getByRole('button', { name: 'Collect it' }).click();
    const told = await settings.getByRole('textbox', { name: 'Diagnostics' }).inputValue();
    expect(told).toContain('"idle_swap": "20m"');
    expect(told).not.toContain(daemon.cli('token').trim());
  });

  it('finds machines and commands by the keyboard', async () => {
    const { page } = tab;
    const name = await tab.newMachine();
    await tab.newMachine();
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Settings' }).waitFor();
    await page.keyboard.type(name);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('setti');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Settings' }).waitFor();
    await page.keyboard.press('Escape');
  });
});

describe('the daemon', () => {
  it('may be killed: the page says so, connects again, and the variables are there', async () => {
    const { page } = tab;
    await tab.newMachine();
    await tab.runToEnd(1, 'kept = "through a crash"');
    await daemon.kill();
    await page.getByText('Connecting again').waitFor();
    await daemon.start();
    await page.getByText('Connecting again').waitFor({ state: 'detached' });
    await (await tab.runToEnd(2, 'kept')).getByText("'through a crash'").waitFor();
  });

  it('may fail to load: the page says so, and loads when asked or when the daemon is back', async () => {
    const { page } = tab;
    await tab.newMachine();
    await tab.runToEnd(1, '6 * 7');
    const failing = '**/api/machines/*/instructions?**';
    await page.route(failing, (route) => route.abort());
    await page.reload();
    await page.getByRole('heading', { name: '6 * 7' }).waitFor();
    await page.getByText('The work so far could not be loaded.').waitFor();
    expect(await page.getByText('does not exist any more').count()).toBe(0);
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

  it('is told nothing where another program has taken its place', async () => {
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
    await page.getByText('Another program answers').waitFor({ state: 'detached' });
    await (await tab.runToEnd(2, 'kept')).getByText("'not told'").waitFor();
    await page.reload();
    await tab.step(2).waitFor();
  });

  it('may come back while code runs: the rest of its output appears', async () => {
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
});

describe('hostile output', { retry: 0 }, () => {
  it('runs nothing, reaches nobody, leads nowhere', async () => {
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
});
