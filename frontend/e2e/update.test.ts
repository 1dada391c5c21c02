import { execFileSync } from 'node:child_process';
import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon, programs } from './daemon';
import { inTabs } from './tabs';

const repository = new URL('../..', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'forevervm-update-'));
/** As a package installs it, and what the feed serves. */
const [bin, feed] = [join(folder, 'bin'), join(folder, 'feed')];
/** What was installed last. */
const installed = join(folder, 'installed');
const NOTES = 'Plots are faster. <img src=x onerror="top.pwned = 1">\n* More to come.';
const PACKAGE = 'the package of 2.0.0\n'.repeat(20_000);

/** Called for the package, in place of sending it. */
let instead: ((response: ServerResponse) => void) | null = null;
const server = createServer(({ url = '' }, response) => {
  const name = basename(url);
  if (name.endsWith('.deb') && instead) instead(response);
  else response.end(readFileSync(join(feed, name)));
});
const PATH = `${join(folder, 'tools')}:${process.env.PATH}`;
const daemon = new Daemon({ PATH }, [], bin);
let tab: Tab;

function go(args: string[], env: NodeJS.ProcessEnv = {}): string {
  return execFileSync('go', args, {
    cwd: repository,
    env: { ...process.env, CGO_ENABLED: '0', ...env },
    encoding: 'utf8',
  }).trim();
}

/** A program in the place of the system's. */
function standIn(name: string, script: string): void {
  writeFileSync(join(folder, 'tools', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

beforeAll(async () => {
  for (const path of [bin, feed, join(folder, 'tools')]) mkdirSync(path);
  const key = join(folder, 'key');
  const feedtool = join(folder, 'feedtool');
  go(['build', '-trimpath', '-buildvcs=false', '-o', feedtool, './backend/update/feedtool']);
  const publicKey = execFileSync(feedtool, ['keygen', key], { encoding: 'utf8' }).trim();
  const rooms = 'github.com/forevervm/desktop/backend';
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const stamps = `-s -w -X ${rooms}/version.Version=0.0.7 -X ${rooms}/update.Feed=${address} -X ${rooms}/update.SigningKey=${publicKey}`;
  go([
    'build',
    '-trimpath',
    '-buildvcs=false',
    '-ldflags',
    stamps,
    '-o',
    bin,
    './backend/cmd/forevervm',
  ]);
  for (const part of ['image', 'runsc', 'supervisor'])
    symlinkSync(join(programs, part), join(bin, part));
  writeFileSync(join(bin, 'package'), 'deb\n');

  const architecture = { x64: 'amd64', arm64: 'arm64' }[process.arch as 'x64' | 'arm64'];
  writeFileSync(join(feed, `forevervm-2.0.0-linux-${architecture}.deb`), PACKAGE);
  writeFileSync(join(folder, 'notes'), NOTES);
  execFileSync(feedtool, ['sign', '-version', '2.0.0', '-notes', join(folder, 'notes'), feed], {
    env: { ...process.env, FOREVERVM_SIGNING_KEY: readFileSync(key, 'utf8') },
  });
}, 300_000);

afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

beforeEach(() => {
  instead = null;
  rmSync(installed, { force: true });
  // Who is no administrator is one here.
  standIn('pkexec', 'exec "$@"');
  standIn('apt-get', `cp "$3" "${installed}"`);
  standIn('dpkg', 'exit 0');
});

inTabs(
  daemon,
  (opened) => {
    tab = opened;
  },
  async () => {
    daemon.bin = bin;
    await daemon.renew();
  },
);

it('tells of a newer version and what is new in it, unless that is not wanted', async () => {
  const { page } = tab;
  const hint = page
    .getByRole('contentinfo')
    .getByRole('button', { name: 'Version 2.0.0 is available' });
  await page.getByRole('button', { name: 'Settings' }).click();
  const settings = page.getByRole('dialog');
  await settings.getByRole('button', { name: 'Updates' }).click();
  await settings.getByText('This is version 0.0.7.').waitFor();
  await settings.getByRole('button', { name: 'Check now' }).click();
  await settings.getByRole('heading', { name: 'Version 2.0.0 is available' }).waitFor();
  await settings.getByText('<img src=x onerror="top.pwned = 1">').waitFor();
  expect(await page.evaluate(() => 'pwned' in window)).toBe(false);

  const daily = settings.getByLabel('Check for updates once a day');
  await page.route('**/api/settings', (route) =>
    route.request().method() === 'GET' ? route.fallback() : route.abort(),
  );
  await daily.click();
  await settings.getByRole('alert').waitFor();
  await expect.poll(() => daily.isChecked()).toBe(true); // as it is, not as it was wanted
  await page.unroute('**/api/settings');

  const saved = () =>
    page.waitForResponse(
      (response) =>
        response.url().endsWith('/api/settings') && response.request().method() === 'PATCH',
    );
  await Promise.all([saved(), daily.uncheck()]);
  await expect.poll(() => hint.count()).toBe(0);
  expect(daemon.cli('settings')).toMatch(/update_check\s+off/);
  await page.reload();
  await page.getByRole('button', { name: 'Settings' }).click();
  await settings.getByRole('button', { name: 'Updates' }).click();
  await settings.getByText('This is version 0.0.7.').waitFor();
  expect(await hint.count()).toBe(0);
  await Promise.all([saved(), daily.check()]);
  await page.keyboard.press('Escape');
  await settings.waitFor({ state: 'detached' });
  await page.reload();
  await hint.click();
  await settings.getByRole('heading', { name: 'Version 2.0.0 is available' }).waitFor();
});

it('installs it on the person’s word, says how far it is, and what went wrong', async () => {
  const { page } = tab;
  await daemon.call('POST', '/api/update/look');
  await page.reload();
  await page.getByRole('contentinfo').getByRole('button', { name: 'Version 2.0.0' }).click();
  const settings = page.getByRole('dialog');
  const install = settings.getByRole('button', { name: 'Download 420 kB and install' });
  instead = (response) => response.destroy();
  await install.click();
  await settings
    .getByRole('alert')
    .getByText(/^The place where releases .*\.$/m)
    .waitFor();

  let rest: (() => void) | undefined;
  instead = (response) => {
    response.writeHead(200, { 'Content-Length': PACKAGE.length });
    response.write(PACKAGE.slice(0, 100_000));
    rest = () => response.end(PACKAGE.slice(100_000));
  };
  await install.click();
  await settings.getByText('Downloading: 100 kB of 420 kB').waitFor();
  expect(await settings.getByRole('alert').count()).toBe(0);
  rest?.();
  await expect.poll(() => existsSync(installed)).toBe(true);
  await settings.getByRole('button', { name: 'Install', exact: true }).waitFor();
  expect(readFileSync(installed, 'utf8')).toBe(PACKAGE);

  standIn('apt-get', 'exit 3');
  await settings.getByRole('button', { name: 'Install', exact: true }).click();
  await settings.getByRole('alert').getByText('0.0.7 is still here').waitFor();
});

it('says so when the newer version has taken its place', async () => {
  const { page } = tab;
  await daemon.call('POST', '/api/update/look');
  await page.reload();
  await page.getByRole('contentinfo').getByRole('button', { name: 'Version 2.0.0' }).waitFor();
  await daemon.kill();
  daemon.bin = programs;
  await daemon.start();
  await page.getByText(/^ForeverVM 0\.1\.\d+ is installed\./).waitFor();
  await page.getByRole('button', { name: 'Version 2.0.0' }).waitFor({ state: 'detached' });
});
