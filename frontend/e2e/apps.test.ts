import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { Tab } from './browser';
import { Daemon } from './daemon';
import { inTabs } from './tabs';

const daemon = new Daemon();
const file = join(daemon.user, '.config/Claude/claude_desktop_config.json');
const before =
  '{\n  "mcpServers": {\n    "other": { "command": "x", "env": { "KEY": "SECRET" } }\n  }\n}\n';
/** What was opened last. */
const noted = join(daemon.home, 'opened');
let tab: Tab;

inTabs(
  daemon,
  (opened) => {
    tab = opened;
  },
  async () => {
    await daemon.renew();
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, before);
    mkdirSync(join(daemon.user, '.gemini'), { recursive: true });
  },
);

it('connects Claude Desktop after showing what will change, tests, repairs and disconnects it', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'Next' }).click();
  await page.getByRole('button', { name: 'Connect an AI app' }).click();
  const dialog = page.getByRole('dialog');
  const claude = dialog.getByRole('listitem').filter({ hasText: 'Claude Desktop' });
  await claude.getByText('Not connected').waitFor();
  await dialog.getByText(/Not found on this computer: .*Zed/).waitFor();

  await claude.getByRole('button', { name: 'Connect: Claude Desktop' }).click();
  await dialog.getByText('Connect Claude Desktop?').waitFor();
  expect(await dialog.getByText('"forevervm": {').isVisible()).toBe(false);
  await dialog.getByText('What changes').click();
  await dialog.getByText('"forevervm": {').waitFor();
  await dialog.getByText(file).waitFor();
  expect(await dialog.textContent()).not.toContain('SECRET');
  expect(readFileSync(file, 'utf8')).toBe(before);
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click();
  await claude.getByText('Connected', { exact: true }).waitFor();
  await claude.getByText('Done. The change takes effect when the app next starts.').waitFor();
  await claude.getByText('Not used yet').waitFor();
  await dialog.getByText('Waiting for Claude Desktop…').waitFor();
  expect(readFileSync(file, 'utf8')).toContain('"args": ["mcp", "--home"');

  await claude.getByRole('button', { name: 'Test: Claude Desktop' }).click();
  await claude.getByText(/The connection works\. It answered after \d+ ms/).waitFor();

  // The app says hello, and the page that is open shows it.
  await fetch(`${daemon.url}/api/clients`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${daemon.cli('token').trim()}`,
      'content-type': 'application/json',
      'x-forevervm-client': 'Claude Desktop/1.2.3',
    },
    body: JSON.stringify({ calls: 2 }),
  });
  await claude.getByText('Last used just now (version 1.2.3), 2 tool calls').waitFor();
  await page.getByText('Claude Desktop is here.').waitFor();
  // It opens with a prompt in it.
  await page.keyboard.press('Escape');
  // The prompts stand in lines, with the buttons below them where there is little room.
  const prompt = await page.locator('main q').first().boundingBox();
  expect(prompt?.width).toBeGreaterThan(200);
  expect(prompt?.height).toBeLessThan(200);
  await page.getByRole('button', { name: 'Open in Claude Desktop' }).first().click();
  await expect
    .poll(() => existsSync(noted) && readFileSync(noted, 'utf8'))
    .toMatch(/^claude:\/\/claude\.ai\/new\?q=With%20ForeverVM%2C%20analyze/);
  await page.getByRole('button', { name: 'AI apps' }).click();

  // It writes back what it had in memory: that is seen too, and mended.
  writeFileSync(file, before);
  await claude.getByText('Disconnected: the app overwrote its settings').waitFor();
  await claude.getByText('The connection works').waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'AI apps: one is disconnected' }).click();
  await claude.getByRole('button', { name: 'Install as an extension: Claude Desktop' }).waitFor();
  await claude.getByText('The app does not overwrite it').waitFor();
  await claude.getByRole('button', { name: 'Repair: Claude Desktop' }).click();
  await dialog.getByRole('button', { name: 'Repair', exact: true }).click();
  await claude.getByText('Connected', { exact: true }).waitFor();

  // An app that takes a skill gets one, unless the person does not want it.
  const gemini = dialog.getByRole('listitem').filter({ hasText: 'Gemini CLI' });
  await gemini.getByRole('button', { name: 'Connect: Gemini CLI' }).click();
  const skill = dialog.getByText('.gemini/skills/forevervm/SKILL.md');
  await dialog.getByText('What changes').click();
  await skill.waitFor();
  const choice = dialog.getByRole('checkbox', { name: 'Also add a skill' });
  await choice.uncheck();
  await skill.waitFor({ state: 'detached' });
  await choice.check();
  await skill.waitFor();
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click();
  await gemini.getByText('Connected', { exact: true }).waitFor();
  expect(existsSync(join(daemon.user, '.gemini/skills/forevervm/SKILL.md'))).toBe(true);
  await gemini.getByRole('button', { name: 'Disconnect: Gemini CLI' }).click();
  await dialog.getByText('What changes').click();
  await skill.waitFor();
  await dialog.getByRole('button', { name: 'Disconnect', exact: true }).click();
  await gemini.getByText('Not connected').waitFor();
  expect(existsSync(join(daemon.user, '.gemini/skills'))).toBe(false);

  await claude.getByRole('button', { name: 'Disconnect: Claude Desktop' }).click();
  await dialog.getByRole('button', { name: 'Disconnect', exact: true }).click();
  await claude.getByText('Not connected').waitFor();
  expect(readFileSync(file, 'utf8')).toBe(before);
});

it('says what is broken, asks before it replaces another server, and puts earlier settings back', async () => {
  const { page } = tab;
  await page.getByRole('button', { name: 'AI apps' }).click();
  const dialog = page.getByRole('dialog');
  const claude = dialog.getByRole('listitem').filter({ hasText: 'Claude Desktop' });
  writeFileSync(file, '{\n  "a": 1\n  "b": 2\n}\n');
  await claude.getByText('Its settings cannot be read').waitFor();
  await claude.getByText(/line 3, column 3/).waitFor();

  const official =
    '{"mcpServers": {"forevervm": {"command": "npx", "args": ["--yes", "forevervm-mcp", "run"]}}}';
  writeFileSync(file, official);
  await claude.getByText('Connected to the hosted service').waitFor();
  await claude.getByRole('button', { name: 'Connect: Claude Desktop' }).click();
  await dialog.getByText('instead of at forevervm.com').waitFor();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(readFileSync(file, 'utf8')).toBe(official);
  await claude.getByRole('button', { name: 'Connect: Claude Desktop' }).click();
  await dialog.getByRole('button', { name: 'Connect', exact: true }).click();
  await claude.getByText('Connected', { exact: true }).waitFor();

  await claude.getByRole('button', { name: 'Earlier settings: Claude Desktop' }).click();
  await dialog.getByText('Earlier settings of Claude Desktop').waitFor();
  await dialog.getByRole('button', { name: 'Restore' }).first().click();
  await claude.getByText('Connected to the hosted service').waitFor();
  expect(readFileSync(file, 'utf8')).toBe(official);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
});

it('quits Claude Desktop for a change and starts it again', async () => {
  // A shell of its name. At its end it writes back what it had in memory, as the real one does. It
  // ends with this test.
  const program = join(daemon.user, 'claude-desktop');
  const pids = join(daemon.user, 'pids');
  copyFileSync('/bin/sh', program);
  writeFileSync(
    join(daemon.user, 'claude'),
    `was=$(cat "${file}"); trap 'printf "%s\\n" "$was" >"${file}"; exit 0' TERM; echo $$ >>"${pids}"; while [ -e "${pids}" ]; do sleep 0.05; done`,
  );
  const first = spawn(program, ['claude'], {
    cwd: daemon.user,
    env: { ...process.env, HOME: daemon.user },
    stdio: 'ignore',
  });
  const ended = once(first, 'exit');
  try {
    await expect.poll(() => existsSync(pids)).toBe(true);
    const { page } = tab;
    await page.getByRole('button', { name: 'AI apps' }).click();
    const dialog = page.getByRole('dialog');
    const claude = dialog.getByRole('listitem').filter({ hasText: 'Claude Desktop' });
    await claude.getByRole('button', { name: 'Connect: Claude Desktop' }).click();
    const choice = dialog.getByRole('checkbox', { name: /Restart Claude Desktop to apply/ });
    expect(await choice.isChecked()).toBe(true);
    await dialog.getByRole('button', { name: 'Connect', exact: true }).click();
    await claude.getByText('Done. Claude Desktop was restarted.').waitFor();
    await claude.getByText('Connected', { exact: true }).waitFor();
    await ended;
    await expect.poll(() => readFileSync(pids, 'utf8').trim().split('\n').length).toBe(2);

    // Anyone who does not want that is told what to do.
    await claude.getByRole('button', { name: 'Disconnect: Claude Desktop' }).click();
    await choice.uncheck();
    await dialog.getByRole('button', { name: 'Disconnect', exact: true }).click();
    await claude.getByText(/Claude Desktop is running without the change. Quit it/).waitFor();
    expect(readFileSync(pids, 'utf8').trim().split('\n').length).toBe(2);
  } finally {
    rmSync(pids, { force: true });
  }
});

it('has an app ask the person itself', async () => {
  const { page } = tab;
  mkdirSync(join(daemon.user, '.cursor'), { recursive: true });
  await page.getByRole('button', { name: 'AI apps' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Let it ask me: Cursor' }).click();
  await dialog.getByText('Cursor now asks whether to add ForeverVM.').waitFor();
  expect(readFileSync(noted, 'utf8')).toMatch(
    /^cursor:\/\/anysphere.cursor-deeplink\/mcp\/install\?/,
  );

  await dialog.getByRole('button', { name: 'Install as an extension: Claude Desktop' }).click();
  await dialog.getByText(/Claude Desktop now asks whether to install the extension/).waitFor();
  expect(readFileSync(noted, 'utf8')).toMatch(/forevervm\.mcpb$/);
  expect(readFileSync(file, 'utf8')).toBe(before);

  const extension = join(dirname(file), 'Claude Extensions/local.mcpb.forevervm.forevervm');
  mkdirSync(extension, { recursive: true });
  writeFileSync(join(extension, 'manifest.json'), '{"name": "forevervm"}');
  await dialog.getByText('Connected by its extension').waitFor();
});
