import { execFileSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { launch } from './browser';
import { Daemon, desktop } from './daemon';
import { firstLine, killed, Programs } from './programs';

/** Of the home that the window uses; the daemon in it is started by the window. */
let daemon: Daemon;
let programs: Programs;

beforeEach(() => {
  daemon = new Daemon();
  programs = new Programs();
});

afterEach(async () => {
  await programs.close();
  await daemon.closeDetached();
});

/** A picture in a colour that nothing but a machine's output has. */
const PICTURE = 'from PIL import Image; Image.new("RGB", (400, 300), (0x12, 0xc9, 0x5f))';

/** A figure of Plotly in another such colour. */
const FIGURE =
  'from IPython.display import display; display({"application/vnd.plotly.v1+json": {"data": [], "layout": {"paper_bgcolor": "#c9125f", "plot_bgcolor": "#c9125f"}}}, raw=True)';

/** What the window opens a machine by. Else it opens one that was made after the page was loaded. */
const addressOf = (name: string): string => `forevervm://machine/${name}`;

/** How many pixels of the screen have a colour: the picture's, unless another is said. */
function picturePixels(env: NodeJS.ProcessEnv, [r, g, b] = [0x12, 0xc9, 0x5f]): number {
  const raw = execFileSync('import', ['-window', 'root', '-depth', '8', 'rgb:-'], {
    env,
    maxBuffer: 64 << 20,
  });
  let count = 0;
  for (let i = 0; i + 2 < raw.length; i += 3) {
    if (raw[i] === r && raw[i + 1] === g && raw[i + 2] === b) count += 1;
  }
  return count;
}

it('says that there is no display, and gives an address that opens the page', async () => {
  const env = { ...daemon.env };
  delete env['DISPLAY'];
  delete env['WAYLAND_DISPLAY'];
  const said = execFileSync(desktop, { env, encoding: 'utf8' });
  expect(said).toContain('There is no display to show a window on.');
  const address = /http:\S+/.exec(said)?.[0] ?? '';
  const browser = await launch();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(address);
  await page.getByText('Your AI can run code here, safely').waitFor();
});

it('gives the same address when the display answers but takes no window', async () => {
  const cookies = join(daemon.home, 'cookies');
  execFileSync(
    'xauth',
    ['-q', '-f', cookies, 'add', ':0', '.', '0123456789abcdef0123456789abcdef'],
    {
      stdio: 'ignore',
    },
  );
  const screen = programs.start('Xvfb', ['-displayfd', '1', '-auth', cookies], process.env);
  const env: NodeJS.ProcessEnv = {
    ...daemon.env,
    DISPLAY: `:${await firstLine(screen)}`,
    LC_ALL: 'C.UTF-8',
  };
  delete env['WAYLAND_DISPLAY'];
  delete env['XAUTHORITY'];
  const said = execFileSync(desktop, {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  expect(said).toContain('The window cannot be opened');
  expect(said).toMatch(/http:\S+#open=/);
});

it('starts the daemon, shows what machines put out, is there once, and takes nothing along', async () => {
  const env = await programs.screen(daemon.env);
  const kill = async (window: ChildProcess) => {
    expect(window.exitCode).toBeNull();
    await killed(window);
  };

  const first = programs.start(desktop, [], env);
  await expect.poll(() => daemon.runs()).toBe(true);
  await kill(first);
  const name = daemon.cli('machine', 'new').trim();
  daemon.cli('exec', name, 'kept = 42');
  daemon.cli('exec', name, PICTURE);

  expect(picturePixels(env)).toBe(0);
  const window = programs.start(desktop, [addressOf(name)], env);
  await expect.poll(() => picturePixels(env)).toBeGreaterThan(10_000);
  daemon.cli('exec', name, FIGURE);
  await expect.poll(() => picturePixels(env, [0xc9, 0x12, 0x5f])).toBeGreaterThan(10_000);

  const second = programs.start(desktop, [], env);
  await once(second, 'exit');
  await kill(window);
  expect(daemon.cli('exec', name, 'kept').trim()).toBe('42');
});

it('follows the work to its end, through plots and tables that are drawn late', async () => {
  const env = await programs.screen(daemon.env);
  const name = daemon.cli('machine', 'new').trim();
  const window = programs.start(desktop, [addressOf(name)], env);
  daemon.cli(
    'exec',
    name,
    'import matplotlib.pyplot as plt, numpy as np, pandas as pd\nfrom IPython.display import display',
  );
  // Above what is looked for, so that only a view that follows shows it.
  const figures =
    'for n in range(2):\n    plt.figure(figsize=(8, 5)); plt.plot(np.random.rand(500)); plt.show()\ndisplay(pd.DataFrame(np.random.rand(400, 61)))\nplt.figure(figsize=(8, 5)); plt.imshow(np.random.rand(90, 90)); plt.show()';
  for (let step = 0; step < 5; step += 1) {
    daemon.cli('exec', name, figures);
    daemon.cli('exec', name, PICTURE);
    await expect.poll(() => picturePixels(env)).toBeGreaterThan(10_000);
    daemon.cli('exec', name, 'print("\\n".join(map(str, range(60))))');
    await expect.poll(() => picturePixels(env)).toBe(0);
  }
  await killed(window);
});
