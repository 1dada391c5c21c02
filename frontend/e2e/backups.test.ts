import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, (opened) => {
  tab = opened;
});

it('backs machines up into a folder, leaves one out, says what went wrong, and stops', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  await tab.runToEnd(1, 'x = 1');
  await expect
    .poll(() => daemon.cli('machine', 'checkpoints', name, '--json'))
    .toMatch(/"present": ?true/);
  const folder = join(daemon.user, 'copies');
  mkdirSync(folder, { recursive: true });
  await page.getByRole('button', { name: 'Settings' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Backups', exact: true }).click();

  const field = dialog.getByLabel('Choose a folder…');
  await field.fill(join(folder, 'none'));
  await dialog.getByRole('button', { name: 'Use this folder' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'there is no folder' }).waitFor();
  await field.fill(folder);
  await dialog.getByRole('button', { name: 'Use this folder' }).click();
  await dialog.getByText('No backup yet.').waitFor();

  await dialog.getByRole('button', { name: 'Back up now' }).click();
  await dialog.getByText('Last good backup: just now.').waitFor();
  expect(readdirSync(join(folder, name))).toEqual([expect.stringMatching(/\.fvm$/)]);
  await dialog.getByText(/\d+ (k|M)B · just now/).waitFor();

  const box = dialog.getByRole('checkbox').first();
  await box.uncheck();
  await expect.poll(() => daemon.cli('machine', 'list')).toContain('no-backup');
  await dialog.getByLabel('Copies of each machine').selectOption('5');
  await expect.poll(() => daemon.cli('settings')).toMatch(/backup_keep +5/);

  rmSync(folder, { recursive: true });
  await dialog.getByRole('button', { name: 'Back up now' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'Connect its disk' }).waitFor();
  await dialog.getByText(/Last good backup/).waitFor();
  await dialog.getByRole('button', { name: 'Stop backups' }).click();
  await dialog.getByLabel('Choose a folder…').waitFor();
});
