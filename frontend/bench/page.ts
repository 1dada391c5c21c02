import { readFileSync } from 'node:fs';
import type { Browser, JSHandle, Page } from 'playwright-core';
import { launch, Tab } from '../e2e/browser';
import { Daemon } from '../e2e/daemon';
import { words } from '../src/lib/words';
import { atRest } from './processor';
import { mb, ms, quantile, type Row } from './rows';

const ROUNDS = 30;
const STEPS = 5_000;
const LINES = 100_000;
/** So many instructions are sent at once; the daemon takes no more than a thousand. */
const QUEUE = 500;
/** Pixels that a turn of the wheel scrolls by; as for a person in a hurry. */
const WHEEL = 1_200;
/** 100,000 lines are two million pixels. */
const LONG_WHEEL = 8_000;

/** A machine in the page, for one measurement. */
interface Shown {
  readonly daemon: Daemon;
  readonly browser: Browser;
  readonly tab: Tab;
  readonly machine: string;
}

async function shown(measure: (shown: Shown) => Promise<Row[]>, before = 1): Promise<Row[]> {
  const daemon = new Daemon();
  let browser: Browser | undefined;
  try {
    await daemon.start();
    const machine = await daemon.machine();
    for (let seq = 0; seq < before; seq += 1) {
      await daemon.queue(machine, '1');
      if ((seq + 1) % QUEUE === 0 || seq + 1 === before) await daemon.ended(machine, seq);
    }
    browser = await launch();
    const tab = await Tab.open(browser, daemon);
    await tab.step(before).waitFor();
    const rows = await measure({ daemon, browser, tab, machine });
    if (tab.errors.length > 0) throw new Error(`The page failed: ${tab.errors.join('; ')}`);
    return rows;
  } finally {
    await browser?.close();
    await daemon.close();
  }
}

/**
 * An instruction of another client: until the frame with its code has been drawn. Both sides read
 * the computer's one clock.
 */
export function appearing(): Promise<Row[]> {
  return shown(async ({ daemon, tab: { page }, machine }) => {
    const afterSending: number[] = [];
    const afterAnswer: number[] = [];
    for (let seq = 1; seq <= ROUNDS; seq += 1) {
      const drawn = page.evaluate(
        (seq) =>
          new Promise<number>((resolve) => {
            const observer = new MutationObserver(() => {
              const code = document.querySelector(`article[data-seq="${seq}"] pre`)?.textContent;
              if (!code?.includes(`round = ${seq}`)) return;
              observer.disconnect();
              requestAnimationFrame(() => {
                const drawn = new MessageChannel(); // what is posted in a frame comes after it
                drawn.port1.onmessage = () => resolve(Date.now());
                drawn.port2.postMessage(null);
              });
            });
            observer.observe(document.body, { childList: true, subtree: true });
          }),
        seq,
      );
      await page.evaluate(() => undefined); // the one before is under way
      const sent = Date.now();
      await daemon.queue(machine, `round = ${seq}`);
      const answered = Date.now();
      const at = await drawn;
      afterSending.push(at - sent);
      afterAnswer.push(at - answered);
      await daemon.ended(machine, seq);
    }
    const spread = (values: number[]) =>
      `${ms(quantile(values, 0.5))}, p95 ${ms(quantile(values, 0.95))}`;
    return [
      {
        what: "another client's instruction is drawn, after the daemon's answer to that client",
        measured: spread(afterAnswer),
        aim: '≤ 100 ms',
      },
      { what: '… after that client has sent it', measured: spread(afterSending) },
    ];
  });
}

/**
 * Many instructions: the page goes through all of them by the wheel, from the last to the first and
 * back.
 */
export function steps(): Promise<Row[]> {
  return shown(async ({ browser, daemon, tab }) => {
    const { page } = tab;
    await page.mouse.move(600, 300);
    await atRest(daemon);
    const frames = await Frames.begin(browser, page);
    const earlier = page.getByRole('button', { name: words.machine.loadEarlier });
    await wheel(page, '.scroll', -WHEEL);
    while (await earlier.isVisible()) {
      // It may have gone meanwhile, as those before are all there.
      await earlier.evaluateAll((buttons) => (buttons[0] as HTMLElement | undefined)?.click());
      await wheel(page, '.scroll', -WHEEL);
    }
    await wheel(page, '.scroll', WHEEL);
    await tab.step(STEPS).waitFor();
    if (await earlier.isVisible()) throw new Error(`The page has not shown all ${STEPS} steps.`);
    const what = `${STEPS.toLocaleString('en')} instructions`;
    return [
      ...(await frames.end(`${what}, scrolled through`)),
      ...(await memory(browser, page, what)),
    ];
  }, STEPS);
}

/** Many lines, that stream into the page, and then lie in its viewer. */
export function lines(): Promise<Row[]> {
  return shown(async ({ browser, daemon, tab, machine }) => {
    const { page } = tab;
    const what = `${LINES.toLocaleString('en')} lines`;
    await atRest(daemon);
    const streaming = await Frames.begin(browser, page);
    const code = `for i in range(${LINES}): print("line", i, "of what a program says")`;
    await daemon.ended(machine, await daemon.queue(machine, code));
    await page.getByText(`line ${LINES - 1} `).waitFor();
    const rows = await streaming.end(`${what} while they stream in`);
    await tab.step(2).getByRole('button', { name: words.step.showAll }).click();
    const viewer = page.locator('.output-lines');
    await viewer.waitFor();
    await viewer.hover();
    await atRest(daemon);
    const scrolling = await Frames.begin(browser, page);
    await wheel(page, '.output-lines', LONG_WHEEL);
    rows.push(...(await scrolling.end(`${what}, all shown and scrolled through`)));
    return [...rows, ...(await memory(browser, page, what))];
  });
}

/** Turns the wheel, every other frame, until a view is at its end. */
async function wheel(page: Page, view: string, by: number): Promise<void> {
  const scrollable = (): Promise<boolean> =>
    page.evaluate(
      ([view, down]) =>
        new Promise<boolean>((resolve) => {
          const element = document.querySelector(view);
          if (!element) throw new Error(`There is no ${view}.`);
          const { scrollTop, scrollHeight, clientHeight } = element;
          const left = down ? scrollHeight - clientHeight - scrollTop : scrollTop;
          requestAnimationFrame(() => requestAnimationFrame(() => resolve(left > 1)));
        }),
      [view, by > 0] as const,
    );
  while (await scrollable()) await page.mouse.wheel(0, by);
}

interface Recorder {
  /** Milliseconds from each animation frame to the next. */
  readonly gaps: number[];
  stop(): void;
}

/** What Chromium tells of a task: in microseconds, by the clock and by the processor. */
interface Traced {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  readonly dur?: number;
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/**
 * How smooth the page is over some time: by the tasks that hold it up, and by the gaps between its
 * animation frames, which whatever else wants the computer's processors makes longer, too. What a
 * task took of a processor is the page's own.
 */
class Frames {
  private constructor(
    private readonly browser: Browser,
    private readonly recorder: JSHandle<Recorder>,
  ) {}

  static async begin(browser: Browser, page: Page): Promise<Frames> {
    await browser.startTracing(page, { categories: ['toplevel', '__metadata'] });
    const recorder = await page.evaluateHandle((): Recorder => {
      const gaps: number[] = [];
      let last = performance.now();
      let next = requestAnimationFrame(function frame() {
        const now = performance.now();
        gaps.push(now - last);
        last = now;
        next = requestAnimationFrame(frame);
      });
      return { gaps, stop: () => cancelAnimationFrame(next) };
    });
    return new Frames(browser, recorder);
  }

  async end(what: string): Promise<Row[]> {
    const gaps = await this.recorder.evaluate(({ gaps, stop }) => {
      stop();
      return gaps;
    });
    const trace = (await this.browser.stopTracing()).toString();
    const { traceEvents } = JSON.parse(trace) as { traceEvents: readonly Traced[] };
    const threads = new Set(
      traceEvents
        .filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain')
        .map(({ pid, tid }) => `${pid} ${tid}`),
    );
    const tasks = traceEvents.filter(
      ({ name, pid, tid }) => name.endsWith('RunTask') && threads.has(`${pid} ${tid}`),
    );
    const durations = tasks.map(({ dur = 0 }) => dur / 1e3);
    const own = tasks.map(({ tdur = 0 }) => tdur / 1e3);
    return [
      {
        what: `${what}: p99 of the tasks of the page`,
        measured: `${quantile(durations, 0.99).toFixed(1)} ms, of ${tasks.length}`,
        aim: '≤ 50 ms',
      },
      { what: '… the longest', measured: ms(Math.max(...durations)) },
      { what: '… the most that one took of a processor', measured: ms(Math.max(...own)) },
      {
        what: '… p99 of the time from frame to frame',
        measured: `${ms(quantile(gaps, 0.99))}, of ${gaps.length}`,
      },
    ];
  }
}

/**
 * What the page's process has for itself, which is what the browser's own task manager shows: as it
 * is after all that, and once its garbage has been collected, which a browser with memory to spare
 * puts off. Of the processes that the browser keeps for pages it is the largest.
 */
async function memory(browser: Browser, page: Page, what: string): Promise<Row[]> {
  const ofBrowser = await browser.newBrowserCDPSession();
  const own = async (): Promise<number> => {
    const { processInfo } = await ofBrowser.send('SystemInfo.getProcessInfo');
    const kilobytes = processInfo
      .filter(({ type }) => type === 'renderer')
      .map(({ id }) => /^RssAnon:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1]);
    return Math.max(...kilobytes.map(Number)) * 1024;
  };
  const before = await own();
  const ofPage = await page.context().newCDPSession(page);
  await ofPage.send('HeapProfiler.collectGarbage');
  return [
    { what: `${what}: memory of the page's process`, measured: mb(await own()), aim: '≤ 300 MB' },
    { what: '… before its garbage was collected', measured: mb(before) },
  ];
}
