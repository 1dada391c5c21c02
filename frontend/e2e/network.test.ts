import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

// Its own proxy leads nowhere: what is allowed fails there at once, whatever network the tests
// have.
const daemon = new Daemon({ HTTPS_PROXY: 'http://127.0.0.1:1', HTTP_PROXY: 'http://127.0.0.1:1' });
let tab: Tab;
const started = inTabs(daemon, async (opened) => {
  tab = opened;
  await tab.page.setViewportSize({ width: 1400, height: 800 });
});

const REACH = `import urllib.request
def reach(host):
    try: urllib.request.urlopen("https://" + host, timeout=60)
    except OSError as e: return str(e)
`;

it('says what a machine may reach, asks, and shows what it reached', async () => {
  const { page } = tab;
  const name = await tab.newMachine();
  const network = await tab.side('Network');
  await network.getByText('No connections yet').waitFor();
  await network.getByText('through the proxy 127.0.0.1:1,').waitFor();
  const rule = network.getByRole('combobox', { name: 'What this machine may reach' });
  await rule.selectOption('What you allow when it asks');
  await expect.poll(() => daemon.cli('machine', 'network', name)).toContain('asked about each');

  await tab.run(`${REACH}reach("one.example"), reach("one.example")`);
  const question = page.getByRole('alertdialog');
  await question.getByText('one.example', { exact: true }).waitFor();
  await question.getByText('Step 1 is running there.').waitFor();
  await question.getByText(/No answer within 01:\d\d means No/).waitFor();
  expect(await question.getByRole('button').allTextContents()).toEqual([
    expect.stringContaining(name),
    'Step 1 is running there.',
    'Allow for this step',
    'Always, for this machine',
    'Always, for every machine',
    'No',
  ]);
  await network.getByText('Waiting for you').waitFor();
  if (process.env.PICTURES)
    await page.screenshot({ path: join(process.env.PICTURES, 'asked.png') });
  // Anyone who opens the page later is asked, too.
  const other = await Tab.open(started.browser, daemon);
  await other.page.getByRole('alertdialog').getByText('one.example', { exact: true }).waitFor();
  await other.close();
  await question.getByRole('button', { name: 'No', exact: true }).click();
  await tab
    .step(1)
    .getByText(/A person has denied this machine one\.example/)
    .waitFor();
  await expect.poll(() => question.count()).toBe(0);
  await network.getByText('Not allowed').first().waitFor();

  // Where the step failed of it, the person can change their mind there.
  await tab.run('raise OSError(reach("refused.example"))');
  await question.getByRole('button', { name: 'No', exact: true }).click();
  await tab.step(2).getByRole('button', { name: 'Allow refused.example and run again' }).click();
  await tab.step(3).getByText('the proxy of this computer does not answer').first().waitFor();
  await network.getByRole('button', { name: 'Remove refused.example' }).click();

  await tab.run('reach("two.example")');
  await question.getByRole('button', { name: 'Always, for this machine' }).click();
  await tab.step(4).getByText('the proxy of this computer does not answer').waitFor();
  await network.getByText('Not reached').first().waitFor();
  await network.getByRole('button', { name: 'Remove two.example' }).waitFor();
  await network.getByRole('button', { name: 'Step 4' }).click();
  await expect
    .poll(() => tab.step(4).evaluate((step) => document.activeElement === step))
    .toBe(true);

  await network.getByRole('textbox', { name: 'Add a website' }).fill('http://no host');
  await network.getByRole('button', { name: 'Add' }).click();
  await page.getByRole('alert').getByText('is not a host').waitFor();
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await network.getByRole('textbox', { name: 'Add a website' }).fill('three.example');
  await network.getByRole('button', { name: 'Add' }).click();
  await network.getByRole('button', { name: 'Remove three.example' }).waitFor();
  const three = await tab.runToEnd(5, 'reach("three.example")'); // nobody is asked
  await three.getByText('the proxy of this computer does not answer').waitFor();
  await network.getByRole('button', { name: 'Remove two.example' }).click();
  await expect.poll(() => network.getByText('Allowed when asked').count()).toBe(0);
});

it('asks for what an AI app wants to do', async () => {
  const { page } = tab;
  const name = await daemon.machine({ title: 'Accounts' });
  const ask = (body: object): Promise<{ state: string }> =>
    daemon.call('POST', '/api/permissions?wait=60', body);
  const back = ask({ kind: 'rewind', machine: name, checkpoint: 'cp-1', steps: 12 });
  const question = page.getByRole('alertdialog');
  await question.getByText(`Return Accounts (${name}) to an earlier state?`).waitFor();
  await question.getByText('This undoes 12 steps.').waitFor();
  const memory = ask({ kind: 'memory', memory_mb: 3072 });
  await question.getByText('One more question is waiting.').waitFor();
  if (process.env.PICTURES)
    await page.screenshot({ path: join(process.env.PICTURES, 'permission.png') });
  // Anyone who opens the page later is asked, too.
  const other = await Tab.open(started.browser, daemon);
  await other.page.getByRole('alertdialog').getByText('This undoes 12 steps.').waitFor();
  // It is answered while a dialog is open, which stays.
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('dialog').waitFor();
  await question.getByRole('button', { name: 'No', exact: true }).click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  expect(await back).toMatchObject({ state: 'denied' });
  await question.getByText('Make a machine with up to 3 GB of memory?').waitFor();
  await question.getByRole('button', { name: 'Allow' }).click();
  expect(await memory).toMatchObject({ state: 'allowed' });
  await expect.poll(() => question.count()).toBe(0);
  await expect.poll(() => other.page.getByRole('alertdialog').count()).toBe(0);
  await other.close();
});

it('keeps what holds for all machines', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'Settings' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Network' }).click();
  await dialog.getByRole('combobox', { name: 'What machines may reach' }).selectOption('Nothing');
  const website = dialog.getByRole('textbox', { name: 'Add a website' });
  for (const host of ['*.example.com', ' a.example ', 'not a host']) {
    await website.fill(host);
    await website.press('Enter');
    if (host.startsWith('not'))
      await dialog.getByRole('alert').getByText('is not a host').waitFor();
    else await dialog.getByRole('button', { name: `Remove ${host.trim()}` }).waitFor();
  }
  await dialog.getByRole('button', { name: 'Remove *.example.com' }).click();
  await dialog.getByText('Saved.').waitFor();
  const settings = await daemon.call<Record<string, unknown>>('GET', '/api/settings');
  expect(settings).toMatchObject({ network: 'off', network_hosts: ['a.example'] });
  await dialog.getByRole('button', { name: 'Close' }).click();
  await tab.newMachine();
  const network = await tab.side('Network');
  await network.getByText('Default: nothing').waitFor({ state: 'attached' });
  const step = await tab.runToEnd(1, `${REACH}reach("one.example")`);
  await step.getByText('This machine has no network').waitFor();
});
