import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
let tab: Tab;

inTabs(daemon, (opened) => {
  tab = opened;
});

it('opens with ?, but not where one writes, and is searched', async () => {
  const { page } = tab;
  const search = page.getByRole('searchbox', { name: 'Search machines' });
  await search.fill('what?');
  await search.press('?');
  expect(await search.inputValue()).toBe('what??');
  expect(await page.getByRole('dialog').count()).toBe(0);
  await search.fill('');

  await page.getByRole('button', { name: 'Settings' }).focus();
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Help' });
  await help.getByRole('heading', { name: 'Guide', level: 1 }).waitFor();
  await help.getByRole('searchbox').fill('grant bypass nonsense');
  await help.getByText('Nothing matches').waitFor();
  await help.getByRole('searchbox').fill('disk full');
  await help.getByRole('button', { name: 'Disk', exact: true }).last().click();
  await page.waitForFunction(
    () => document.activeElement?.tagName === 'H2' && document.activeElement.textContent === 'Disk',
  );
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
});

it('follows links within the documents', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'Help', exact: true }).click();
  const help = page.getByRole('dialog', { name: 'Help' });
  await help
    .getByRole('link', { name: /^Install/ })
    .first()
    .click();
  await help.getByRole('heading', { name: 'Install', level: 1 }).waitFor();
  expect(page.url()).not.toContain('install');
  await help.getByRole('button', { name: 'Close' }).click();
  await help.waitFor({ state: 'detached' });
});

it('lies over a dialog, which stays as it is', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'Hosted service' }).click();
  const account = page.getByRole('dialog', { name: 'Hosted service' });
  await account.getByLabel('Token', { exact: true }).fill('half a token');
  await account.getByRole('button', { name: 'Read more' }).click();
  const help = page.getByRole('dialog', { name: 'Help' });
  await help.getByRole('heading', { name: 'With a ForeverVM account', level: 1 }).waitFor();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  expect(await account.getByLabel('Token', { exact: true }).inputValue()).toBe('half a token');
});
