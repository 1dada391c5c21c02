import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

async function panel(): Promise<Locator> {
  await tab.side('Files');
  return tab.page.getByRole('region', { name: 'Files', exact: true });
}

it('shows, takes, gives and deletes files', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.runToEnd(
    1,
    `import os, matplotlib.pyplot as plt
os.makedirs("data/deep", exist_ok=True)
open("data/sales.csv", "w").write('day,"revenue, EUR"\\n' + "\\n".join(f"2025-01-{i:02},{i * 97}" for i in range(1, 29)))
open("data/notes.txt", "w").write("<b>not bold</b> ü\\n" * 3)
open("data/raw.bin", "wb").write(bytes(range(256)))
plt.figure(figsize=(4, 3)); plt.plot([1, 3, 2]); plt.savefig("data/plot.png"); plt.close()`,
  );
  const files = await panel();
  await files.getByRole('button', { name: 'data' }).first().click();
  await files.getByText('sales.csv').waitFor();
  await files.getByText(/of 5\.\d GB used/).waitFor();
  if (process.env.PICTURES)
    await page.screenshot({ path: join(process.env.PICTURES, 'files.png') });

  await files.getByText('sales.csv').click();
  await files.getByRole('columnheader', { name: 'revenue, EUR' }).waitFor();
  expect(await files.getByRole('cell', { name: '2716' }).count()).toBe(1);
  if (process.env.PICTURES)
    await page.screenshot({ path: join(process.env.PICTURES, 'table.png') });
  await files.getByRole('button', { name: 'Back to the list' }).click();
  await files.getByText('notes.txt').click();
  await files.getByText('<b>not bold</b> ü').waitFor();
  await files.getByRole('button', { name: 'Back to the list' }).click();
  await files.getByText('plot.png').click();
  const picture = files.getByRole('img', { name: 'The picture plot.png' });
  await expect
    .poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth))
    .toBeGreaterThan(300);
  await files.getByRole('button', { name: 'Back to the list' }).click();
  await files.getByText('raw.bin').click();
  await files.getByText('There is no preview for this kind of file').waitFor();
  const downloading = page.waitForEvent('download');
  await files.getByRole('button', { name: 'Save raw.bin on this computer' }).click();
  const saved = await (await downloading).path();
  expect(readFileSync(saved)).toEqual(Buffer.from([...Array(256).keys()]));
  await files.getByRole('button', { name: 'Back to the list' }).click();

  const up = join(daemon.home, 'up');
  mkdirSync(up, { recursive: true });
  writeFileSync(join(up, 'größer.bin'), Buffer.alloc(3 << 20, 7));
  await files.locator('input[type=file]').setInputFiles(join(up, 'größer.bin'));
  await files.getByText('größer.bin').last().waitFor();
  await files.getByText(/^3\.1 MB \d/).waitFor();
  const dropped = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['dropped words'], 'dropped.txt'));
    return data;
  });
  await files.dispatchEvent('dragenter', { dataTransfer: dropped });
  await files.getByText('Drop files to put them here').waitFor();
  if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, 'drop.png') });
  await files.dispatchEvent('drop', { dataTransfer: dropped });
  await files.getByText('dropped.txt').last().waitFor();
  const read = await tab.runToEnd(
    2,
    `open("data/dropped.txt").read(), os.path.getsize("data/größer.bin")`,
  );
  await read.getByText("('dropped words', 3145728)").waitFor();

  // Dropped on the work, it goes to the machine that is shown.
  const given = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(['given words'], 'given.txt'));
    return data;
  });
  const work = page.getByRole('region', { name: 'Work so far' });
  await work.dispatchEvent('dragenter', { dataTransfer: given });
  await page.getByText(/^Give to “/).waitFor();
  await work.dispatchEvent('drop', { dataTransfer: given });
  await page.getByText(/has given.txt now, as \/root\/given.txt/).waitFor();
  const taken = await tab.runToEnd(3, `open("given.txt").read()`);
  await taken.getByText("'given words'").waitFor();

  await files.getByRole('button', { name: 'New folder' }).click();
  await page.getByRole('textbox', { name: 'Folder name' }).fill('results');
  await page.getByRole('button', { name: 'Make it' }).click();
  await files.getByText('results', { exact: true }).waitFor();
  await files.getByRole('button', { name: 'Delete dropped.txt' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await expect.poll(() => files.getByText('dropped.txt').count()).toBe(0);
  // What code makes appears on its own.
  await tab.runToEnd(4, 'open("data/later.txt", "w").close()');
  await files.getByText('later.txt').waitFor();
  expect(daemon.cli('machine', 'files', 'ls', name, 'data')).toContain('results/');
});

it('brings what lies in the folder of the person', async () => {
  mkdirSync(join(daemon.home, 'ForeverVM'), { recursive: true });
  writeFileSync(join(daemon.home, 'ForeverVM', 'sales.csv'), 'a,b\n1,2\n');
  const name = await tab.newMachine();
  const read = await tab.runToEnd(1, 'open("inbox/sales.csv").read()');
  await read.getByText("'a,b\\n1,2\\n'").waitFor();
  const files = await panel();
  await files.getByText(join(daemon.home, 'ForeverVM')).waitFor();
  const results = files.getByRole('button', { name: 'Open the results folder' });
  await results.click();
  await tab.page.getByText(`${name} has no results yet.`).waitFor();
  await tab.runToEnd(2, 'open("outbox/sum.txt", "w").write("3")');
  const landed = join(daemon.home, 'ForeverVM', 'Results', name);
  await expect.poll(() => existsSync(join(landed, 'sum.txt'))).toBe(true);
  await results.click();
  const opened = join(daemon.home, 'opened');
  await expect.poll(() => existsSync(opened) && readFileSync(opened, 'utf8')).toBe(landed);

  await files.getByRole('button', { name: 'inbox' }).first().click();
  await files.getByText('sales.csv').waitFor();
});

it('saves a machine as a file, and opens it', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.runToEnd(1, 'x = 41; print("counted")');
  await tab.menu('Save as a file…');
  const saving = page.getByRole('dialog', { name: 'Save the whole machine as a file' });
  await saving.getByText('including keys and passwords').waitFor();
  if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, 'pack.png') });
  const downloading = page.waitForEvent('download');
  await saving.getByRole('button', { name: 'Save the file' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe(`${name}.fvm`);
  const file = join(daemon.home, `${name}.fvm`);
  await download.saveAs(file);
  await saving.waitFor({ state: 'detached' });

  // Of this computer: opened with a click.
  const opening = page.getByRole('dialog', { name: 'Open a machine from a file' });
  await page.getByRole('button', { name: 'New machine with options…' }).click();
  const choosing = page.waitForEvent('filechooser');
  await page.getByRole('menuitem', { name: 'Open a machine from a file…' }).click();
  await (await choosing).setFiles(file);
  await opening.getByText('This computer').waitFor();
  await opening.getByText(/1 step, \d+ MB of memory and files/).waitFor();
  await opening.getByRole('button', { name: 'Open it', exact: true }).click();
  await opening.waitFor({ state: 'detached' });
  await page.getByText('Nothing has run here yet').waitFor({ state: 'detached' });
  await tab.step(1).getByText('counted', { exact: true }).waitFor();
  await (await tab.runToEnd(2, 'x + 1')).getByText('42', { exact: true }).waitFor();

  // Of somebody else, dropped on the list: the person is asked.
  rmSync(join(daemon.home, 'config', 'maker.key'));
  await drop(file);
  await opening.getByText('Somebody whose files you have not opened before').waitFor();
  await opening.getByText('ask them which key they see').waitFor();
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme });
    if (process.env.PICTURES)
      await page.screenshot({ path: join(process.env.PICTURES, `unpack-${theme}.png`) });
  }
  await opening.getByRole('textbox', { name: 'Who made it?' }).fill('Ada');
  await opening.getByRole('button', { name: 'Trust them and open' }).click();
  await opening.waitFor({ state: 'detached' });
  await (await tab.runToEnd(2, 'x + 2')).getByText('43', { exact: true }).waitFor();

  // What was cut off, or is none, is not.
  writeFileSync(file, readFileSync(file).subarray(0, 200_000));
  await drop(file);
  await opening.getByText('Ada', { exact: true }).waitFor();
  await opening.getByRole('button', { name: 'Open it', exact: true }).click();
  await opening.getByText('not as its maker has saved it').waitFor();
  await opening.getByRole('button', { name: 'Cancel' }).click();
  writeFileSync(file, 'PK not a machine at all, but long enough');
  await drop(file);
  await opening.getByText('no machine that ForeverVM has saved').waitFor();
  await opening.getByRole('button', { name: 'Close' }).last().click();

  async function drop(path: string): Promise<void> {
    const data = await page.evaluateHandle((bytes) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0))], 'm.fvm'));
      return transfer;
    }, readFileSync(path).toString('base64'));
    const list = page.getByRole('complementary', { name: 'Machines' });
    await list.dispatchEvent('dragenter', { dataTransfer: data });
    await page.getByText('Drop a machine’s file to open it').waitFor();
    await list.dispatchEvent('drop', { dataTransfer: data });
  }
});
