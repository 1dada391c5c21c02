import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { Locator } from 'playwright-core';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
/** The home at the other end. */
const far = join(daemon.home, 'far');
let tab: Tab;
let dialog: Locator;
inTabs(daemon, (opened) => {
  tab = opened;
  dialog = tab.page.getByRole('dialog');
});

// ssh is a stand-in that runs what it is told here, in a home of its own, and is refused at one
// host: backend/engine/remote/ssh has tests with a real server.
beforeEach(() => {
  mkdirSync(far, { recursive: true });
  writeFileSync(
    join(daemon.home, 'bin/ssh'),
    `#!/bin/sh
for last; do host=$script script=$last; done
case $host in me@locked) echo "$host: Permission denied (publickey)." >&2; exit 255 ;; esac
HOME="${far}" exec sh -c "$script"
`,
    { mode: 0o755 },
  );
});

async function open(): Promise<void> {
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await dialog.getByRole('button', { name: 'Other computers', exact: true }).click();
}

async function close(): Promise<void> {
  await tab.page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

async function look(address: string): Promise<void> {
  await dialog.getByLabel('Add a computer').fill(address);
  await dialog.getByRole('button', { name: 'Look at it' }).click();
}

it('says why ssh does not get in, and what cannot be an address', async () => {
  await open();
  await look('me@locked');
  await dialog
    .getByRole('alert')
    .filter({ hasText: /^me@locked does not let you in without a password\. Set up a key/ })
    .waitFor();
  await look('a;b');
  await dialog.getByRole('alert').filter({ hasText: 'cannot be the address' }).waitFor();
  expect(await dialog.getByRole('button', { name: 'Set it up' }).count()).toBe(0);
});

// It copies a gigabyte: on a busy computer longer than others take.
it(
  'adds a computer, has a machine there, moves it here, and removes the computer',
  { timeout: 600_000 },
  async () => {
    const { page } = tab;
    await open();
    await look('me@far');
    const facts = dialog.getByText(/^me@far runs Linux \(\w+\) and has .* free\./);
    await facts.waitFor();
    expect(await facts.textContent()).toMatch(
      /ForeverVM puts [\d.]+ [MG]B into .*\/far\/\.local\/share\/forevervm-place there/,
    );
    await dialog.getByRole('button', { name: 'Set it up' }).click();
    const bar = dialog.getByRole('progressbar', { name: /^Copying: .* of [\d.]+ GB$/ });
    await expect
      .poll(() => bar.evaluate((bar: HTMLProgressElement) => bar.value / bar.max), { interval: 50 })
      .toBeGreaterThan(0.02);
    await dialog
      .getByRole('status')
      .filter({ hasText: '“Where it runs” in “New machine with options…” offers me@far now.' })
      .waitFor({ timeout: 120_000 });
    const row = dialog.getByRole('listitem').filter({ hasText: 'me@far' });
    await row.getByText('Ready').waitFor();
    await look('me@far');
    await dialog.getByText(/This version of ForeverVM is in .* there already\.$/).waitFor();
    await close();

    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('New machine with options');
    await page.keyboard.press('Enter');
    await dialog.getByLabel('Title').fill('Far away');
    await dialog.getByLabel('Where it runs').selectOption('On me@far');
    await dialog.getByRole('button', { name: 'Make it' }).click();
    await page.getByRole('heading', { name: 'Far away' }).waitFor();
    const step = await tab.runToEnd(1, 'x = 6 * 7; x');
    await step.getByText('42', { exact: true }).waitFor();
    await page.locator('header').getByText('On me@far', { exact: true }).waitFor();

    await open();
    await row.getByRole('button', { name: 'Remove…' }).click();
    await row.getByRole('button', { name: 'Remove it' }).click();
    await dialog
      .getByRole('alert')
      .filter({ hasText: /^There are machines at ssh:me@far: / })
      .waitFor();
    await row.getByText('Ready').waitFor();
    await close();

    await tab.menu('Move to another place…');
    await dialog.getByLabel('Where it runs').selectOption('On this computer');
    await dialog.getByRole('button', { name: 'Move it' }).click();
    await page.getByText('Far away has moved.').waitFor();
    await expect.poll(() => page.locator('header').getByText('On me@far').count()).toBe(0);

    await open();
    await row.getByRole('button', { name: 'Remove…' }).click();
    await row.getByRole('button', { name: 'Remove it' }).click();
    await dialog.getByRole('status').filter({ hasText: 'me@far was removed.' }).waitFor();
    await row.waitFor({ state: 'detached' });
    expect(existsSync(join(far, '.local/share/forevervm-place'))).toBe(false);
  },
);

it('stops setting up when the person wants that', async () => {
  await open();
  await look('me@far');
  await dialog.getByRole('button', { name: 'Set it up' }).click();
  await dialog.getByText(/^Copying: /).waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.getByRole('button', { name: 'Set it up' }).waitFor();
  await expect.poll(() => daemon.cli('engines')).not.toContain('me@far');
  expect(daemon.cli('places', 'list')).not.toContain('me@far');
});
