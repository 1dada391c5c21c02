import { expect, it } from 'vitest';
import { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;
inTabs(daemon, async (opened) => {
  tab = opened;
});

const asks = (token: string, path: string): Promise<Response> =>
  fetch(`${daemon.url}${path}`, { headers: { authorization: `Bearer ${token}` } });

it('gives a program a token, takes it back, and keeps a record of both', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'Settings' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Access' }).click();
  await dialog.getByRole('textbox', { name: 'Token for a program' }).fill('Night job');
  await dialog.getByRole('button', { name: 'Make a token' }).click();
  const token = (await dialog.locator('code').textContent()) ?? '';
  expect((await asks(token, '/api/machines')).status).toBe(200);
  expect((await asks(token, '/api/settings')).status).toBe(403);
  await dialog.getByText('Token: made: Night job').waitFor();

  const grant = dialog.getByRole('listitem').filter({ hasText: 'Program ·' });
  await grant.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByText('Token: revoked: Night job').waitFor();
  expect(await grant.count()).toBe(0);
  expect((await asks(token, '/api/machines')).status).toBe(401);
  await page.keyboard.press('Escape');
});
