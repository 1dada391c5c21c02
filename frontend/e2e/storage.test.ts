import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, (opened) => {
  tab = opened;
});

it('shows what each machine takes, and frees what is chosen', async () => {
  const { page } = tab;
  const gone = await tab.newMachine();
  await tab.runToEnd(1, 'import os; x = os.urandom(20 << 20)');
  const stays = await tab.newMachine();
  await tab.runToEnd(1, 'y = 2');
  daemon.cli('machine', 'title', gone, 'Old work');
  daemon.cli('machine', 'delete', gone);

  await page.getByRole('button', { name: 'Settings' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Storage', exact: true }).click();
  await dialog.getByRole('listitem').filter({ hasText: 'Old work (in the bin)' }).waitFor();
  await dialog
    .getByRole('listitem')
    .filter({ hasText: 'Python and what machines share' })
    .waitFor();

  await dialog.getByRole('button', { name: 'Free up space…' }).click();
  const confirm = dialog.getByRole('button', { name: /^Free about/ });
  expect(await confirm.isDisabled()).toBe(true);
  await dialog.getByRole('checkbox', { name: 'The bin' }).check();
  // At least what it held; with its memory, more, if that was not shrunk yet.
  await expect.poll(() => confirm.textContent()).toMatch(/([2-9]|\d\d)\d MB/);
  await confirm.click();
  await dialog.getByText(/([2-9]|\d\d)\d MB freed\./).waitFor();
  const left = dialog.getByRole('listitem').filter({ hasText: 'Old work' });
  expect(await left.count()).toBe(0);
  expect(daemon.cli('machine', 'list')).toContain(stays);
});

it('moves the files to another disk, and back', async () => {
  const { page } = tab;
  const disk = mkdtempSync(join(tmpdir(), 'forevervm-disk-'));
  onTestFinished(() => rmSync(disk, { recursive: true, force: true }));
  await page.keyboard.press('Escape');
  await tab.newMachine();
  await tab.runToEnd(1, 'z = 3');

  await page.getByRole('button', { name: 'Settings' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Storage', exact: true }).click();
  await dialog.getByRole('button', { name: 'Move to another disk…' }).click();
  await dialog.getByLabel('Folder on another disk').fill(join(disk, 'none'));
  await dialog.getByRole('button', { name: 'Move the files', exact: true }).click();
  await dialog.getByText(/none cannot be used/).waitFor();
  await dialog.getByLabel('Folder on another disk').fill(disk);
  await dialog.getByRole('button', { name: 'Move the files', exact: true }).click();
  await dialog.getByText('The files were moved.').waitFor();
  await dialog.getByText(join(disk, 'ForeverVM')).waitFor();

  await dialog.getByRole('button', { name: 'Move back to the usual place…' }).click();
  await dialog.getByRole('button', { name: 'Move the files back' }).click();
  await dialog.getByText(join(disk, 'ForeverVM')).waitFor({ state: 'detached' });
  await dialog.getByText('The files were moved.').waitFor();
  await page.keyboard.press('Escape');
  await (await tab.runToEnd(2, 'z')).getByText('3', { exact: true }).waitFor();
});
