import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { launch, Tab } from './browser';
import { Daemon } from './daemon';
import { firstLine, Programs } from './programs';

const programs = new Programs();
const folder = mkdtempSync(join(tmpdir(), 'forevervm-keyring-'));
let bus = '';
let daemon: Daemon;
let browser: Browser;

beforeAll(async () => {
  const env = { ...process.env, HOME: folder, XDG_RUNTIME_DIR: folder, XDG_DATA_HOME: folder };
  const started = programs.start('dbus-daemon', ['--session', '--nofork', '--print-address'], env);
  bus = await firstLine(started);
  const own = { ...env, DBUS_SESSION_BUS_ADDRESS: bus };
  const unlocked =
    'printf secret | exec gnome-keyring-daemon --foreground --unlock --components=secrets';
  programs.start('sh', ['-c', unlocked], own);
  daemon = new Daemon({ DBUS_SESSION_BUS_ADDRESS: bus });
  await daemon.start();
  browser = await launch();
});

afterAll(async () => {
  await browser.close();
  await daemon.close();
  await programs.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Whether the keyring is on the bus. */
function ready(): string {
  const asked = ['org.freedesktop.DBus.NameHasOwner', 'string:org.freedesktop.secrets'];
  const where = [`--bus=${bus}`, '--print-reply', '--dest=org.freedesktop.DBus', '/'];
  return execFileSync('dbus-send', [...where, ...asked], { encoding: 'utf8' });
}

it('keeps a key that code uses and does not see', async () => {
  await expect.poll(ready).toContain('true');
  const tab = await Tab.open(browser, daemon);
  const { page } = tab;
  await tab.newMachine();
  await tab.runToEnd(1, 'import os\n"SERVICE_KEY" in os.environ');
  await page.getByRole('button', { name: 'Settings' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Keys' }).click();
  await dialog.getByRole('textbox', { name: 'Name' }).fill('SERVICE_KEY');
  const value = dialog.getByLabel('Key', { exact: true });
  await value.fill('short');
  await dialog.getByRole('textbox', { name: 'Websites that get it' }).fill('pypi.org');
  const keep = dialog.getByRole('button', { name: 'Keep the key' });
  await keep.click();
  await dialog.getByText('A secret has 8 to 8192 characters').waitFor();
  await value.fill('sk-of-a-service-0123');
  await keep.click();
  await dialog.getByText('Your AI app can use SERVICE_KEY now').waitFor();
  await dialog.getByRole('listitem').getByText('goes to pypi.org').waitFor();
  expect(await value.inputValue()).toBe('');
  await page.keyboard.press('Escape');

  const code = `import requests
key = os.environ["SERVICE_KEY"]
answer = requests.get("https://pypi.org/simple/six/", headers={"Authorization": f"Bearer {key}"})
answer.status_code, "of-a-service" in key`;
  await (await tab.runToEnd(2, code)).getByText('(200, False)').waitFor();
  const network = await tab.side('Network');
  await network.getByText('It carried SERVICE_KEY.').waitFor();
  await tab.close();
  expect(tab.errors).toEqual([]);
});
