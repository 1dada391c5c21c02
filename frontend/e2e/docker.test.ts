import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { Tab } from './browser';
import { Daemon } from './daemon';
import { inBrowser } from './tabs';

// backend/engine/docker/page_test.go says where a Docker listens that has no image yet, and what it
// does without.
const { FOREVERVM_TEST_SOCKET: socket = '', FOREVERVM_TEST_NOTE: note = '' } = process.env;

/** On its computer machines run in Docker only, and none is where Docker usually is. */
const daemon = new Daemon({}, [
  ...['unshare', '--user', '--map-root-user', '--mount', 'sh', '-c'],
  'mount -t tmpfs none /run && echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" "$@"',
]);

beforeAll(() => {
  const systemctl = join(daemon.home, 'bin/systemctl');
  mkdirSync(dirname(systemctl), { recursive: true });
  // As Docker Desktop has it: the unit is there, and starting it takes effect later.
  writeFileSync(
    systemctl,
    `#!/bin/sh\n[ "$1" = --user ] || exit 9\ncase "$2 $3" in\n"cat docker-desktop.service") ;;\n"start docker-desktop.service") touch "${daemon.home}/asked" ;;\n*) exit 9 ;;\nesac\n`,
    { mode: 0o755 },
  );
});
const started = inBrowser(daemon);

it('starts Docker Desktop, shows how far the image is, and tells what holds less there', async () => {
  const tab = await Tab.open(started.browser, daemon);
  const { page } = tab;
  const footer = page.locator('footer');
  await footer.getByText('Machines cannot run yet').waitFor();
  await footer.getByRole('button').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Docker Desktop is installed, but does not run.').waitFor();
  await dialog
    .getByText(/user name spaces/)
    .first()
    .waitFor();
  await dialog.getByRole('button', { name: 'Use the hosted service' }).click();
  await dialog.getByText(/With a ForeverVM account/).waitFor();
  await page.keyboard.press('Escape');
  await footer.getByRole('button').click();
  await dialog.getByRole('button', { name: 'Start or check again' }).click();
  await footer.getByText('Starting Docker Desktop').waitFor();
  const listens = join(daemon.user, '.docker/desktop/docker.sock');
  mkdirSync(dirname(listens), { recursive: true });
  symlinkSync(socket, listens);
  await footer.getByText('On this computer, in Docker').waitFor();
  await dialog.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'New machine', exact: true }).last().click();
  await tab.run('6 * 7');
  await footer.getByText('Loading the sandbox image into Docker').waitFor();
  const bar = footer.locator('progress');
  await expect
    .poll(() => bar.evaluate((bar: HTMLProgressElement) => bar.value / bar.max), { interval: 50 })
    .toBeGreaterThan(0.02);
  await tab.step(1).getByText('42', { exact: true }).waitFor({ timeout: 120_000 });
  await bar.waitFor({ state: 'detached' });

  if (note) {
    await footer.getByRole('button', { name: 'Some limits do not apply here' }).click();
    await dialog.getByText(note).waitFor();
    await page.keyboard.press('Escape');
  }
  expect(tab.errors).toEqual([]);
  await tab.close();
});
