import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Daemon, desktop } from '../e2e/daemon';
import { killed, Programs } from '../e2e/programs';
import { processorTime } from './processor';
import { ms, quantile, type Row } from './rows';

const STARTS = 7;
const SETTLED_MS = 15_000;
const REST_MS = 60_000;

/**
 * The page's background in a light window, which nothing else on the screen has; and a colour that
 * only a machine's picture has.
 */
const PAGE = 0xfafaf7;
const PICTURE = 0x12c95f;
/** In so many pixels of the 1,200 × 800 it is there. */
const MANY = 50_000;

/**
 * A screen with the real window, beside a daemon in which one machine has drawn a picture and
 * sleeps.
 */
interface Surroundings {
  readonly daemon: Daemon;
  open(): ChildProcess;
  /** How many pixels of the screen have a colour. */
  pixels(colour: number): number;
}

async function beside(measure: (surroundings: Surroundings) => Promise<Row[]>): Promise<Row[]> {
  const daemon = new Daemon();
  const programs = new Programs();
  try {
    await daemon.start();
    const machine = await daemon.machine();
    const picture = `from PIL import Image; Image.new("RGB", (400, 300), "#${PICTURE.toString(16)}")`;
    await daemon.ended(machine, await daemon.queue(machine, picture));
    await daemon.call('POST', `/api/machines/${machine}/swap`);
    mkdirSync(daemon.user, { recursive: true });
    const env = await programs.screen({ ...daemon.env, HOME: daemon.user }, '-fbdir', daemon.home);
    programs.start('openbox', [], env);
    return await measure({
      daemon,
      open: () => programs.start(desktop, [], env),
      pixels: (colour) => pixels(join(daemon.home, 'Xvfb_screen0'), colour),
    });
  } finally {
    await programs.close();
    await daemon.close();
  }
}

/**
 * Looks at the screen's own memory, in XWD's format, as taking a picture of it takes longer than
 * what is measured. A quarter of the pixels is enough.
 */
function pixels(screen: string, colour: number): number {
  const file = readFileSync(screen);
  const pixels = file.readUInt32BE(0) + file.readUInt32BE(19 * 4) * 12; // after the header and the colours
  let count = 0;
  for (let at = pixels; at + 4 <= file.length; at += 16) {
    if (file.readUIntLE(at, 3) === colour) count += 4;
  }
  return count;
}

/** From the start of the window's process to pixels on the screen. */
export function painting(): Promise<Row[]> {
  return beside(async ({ open, pixels }) => {
    const page: number[] = [];
    const computed: number[] = [];
    const picture: number[] = [];
    for (let i = 0; i < STARTS; i += 1) {
      const began = performance.now();
      const window = open();
      const seen = async (colour: number): Promise<number> => {
        while (pixels(colour) < MANY) {
          if (window.exitCode !== null) throw new Error('The window has ended.');
          if (performance.now() - began > 60_000) throw new Error('The window shows nothing.');
          await setTimeout(10);
        }
        return performance.now() - began;
      };
      page.push(await seen(PAGE));
      computed.push(processorTime(window.pid ?? 0));
      picture.push(await seen(PICTURE));
      await killed(window);
      while (pixels(PAGE) > 0) await setTimeout(10);
    }
    const spread = (values: number[]) =>
      `${ms(quantile(values, 0.5))}, at most ${ms(Math.max(...values))}`;
    return [
      {
        what: "the window's first paint of the page, after the start of its process",
        measured: spread(page),
        aim: '≤ 1500 ms',
      },
      { what: '… what it takes of the processor until then', measured: spread(computed) },
      { what: '… what the machine that was used last shows', measured: spread(picture) },
    ];
  });
}

/** What window and daemon take of the processor while nobody does anything. */
export function resting(): Promise<Row[]> {
  return beside(async ({ daemon, open, pixels }) => {
    const window = open();
    while (pixels(PICTURE) < MANY) await setTimeout(100);
    await setTimeout(SETTLED_MS);
    const { pid } = await daemon.call<{ pid: number }>('GET', '/api/status');
    const roots = [window.pid ?? 0, pid];
    const before = roots.map(processorTime);
    await setTimeout(REST_MS);
    const [ofWindow = 0, ofDaemon = 0] = roots.map(
      (root, i) => (processorTime(root) - (before[i] ?? 0)) / REST_MS,
    );
    const percent = (share: number) => `${(share * 100).toFixed(2)} %`;
    return [
      {
        what: 'idle window and daemon, of one processor, over a minute',
        measured: percent(ofWindow + ofDaemon),
        aim: '≤ 1 %',
      },
      { what: '… the window and its web view', measured: percent(ofWindow) },
      { what: '… the daemon, with one machine asleep', measured: percent(ofDaemon) },
    ];
  });
}
