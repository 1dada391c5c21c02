import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
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

it('shares a folder, says so as long as it does, and stops', async () => {
  const { page } = tab;
  const folder = join(daemon.user, 'Report');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'note.txt'), 'from outside');
  await tab.newMachine();
  await tab.menu('Share a folder…');
  const dialog = page.getByRole('dialog', { name: 'Share a folder' });
  const share = dialog.getByRole('button', { name: 'Share it' });
  const path = dialog.getByRole('textbox', { name: 'Folder' });

  // What may not be shared is refused in words, and the dialog stays.
  await path.fill(daemon.home);
  await share.click();
  await dialog.getByRole('alert').getByText('ForeverVM keeps its own files in').waitFor();
  await path.fill(folder);
  await share.click();
  await dialog.waitFor({ state: 'detached' });
  const shared = page.getByRole('note').filter({ hasText: 'This machine sees your folder' });
  await shared.getByText(folder).waitFor();
  const read = await tab.runToEnd(1, 'open("/mnt/shared/note.txt").read()');
  await read.getByText('from outside').waitFor();
  const write = await tab.runToEnd(2, 'open("/mnt/shared/note.txt", "w")');
  await write.getByText('Read-only file system').first().waitFor();

  await shared.getByRole('button', { name: 'Change…' }).click();
  expect(await path.inputValue()).toBe(folder);
  await dialog.getByRole('checkbox', { name: 'Code may also change it' }).check();
  await share.click();
  await dialog.waitFor({ state: 'detached' });
  const changes = page.getByRole('note').filter({ hasText: 'sees and may change your folder' });
  await changes.getByText(folder).waitFor();
  if (process.env.PICTURES)
    await page.screenshot({ path: join(process.env.PICTURES, 'shared.png') });
  await tab.runToEnd(3, 'open("/mnt/shared/note.txt", "w").write("from inside")');
  expect(readFileSync(join(folder, 'note.txt'), 'utf8')).toBe('from inside');

  // Without the folder the machine goes on, and the page says so.
  await tab.menu('Put to sleep');
  await expect.poll(() => daemon.cli('machine', 'list')).toContain('asleep');
  renameSync(folder, `${folder}-moved`);
  await tab.runToEnd(4, 'import os; os.listdir("/mnt/shared")');
  await changes.getByText('is not there').waitFor();

  await changes.getByRole('button', { name: 'Stop sharing' }).click();
  await changes.waitFor({ state: 'detached' });
  expect(daemon.cli('machine', 'list')).not.toContain(folder);
});
