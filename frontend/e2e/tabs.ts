import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { launch, Tab } from './browser';
import type { Daemon } from './daemon';

/**
 * Starts a browser for the tests of a file, prepares the daemon for each of them, and ends both.
 */
export function inBrowser(
  daemon: Daemon,
  prepare = () => daemon.reset(),
): { readonly browser: Browser } {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  beforeEach(prepare);
  afterAll(async () => {
    await browser?.close();
    await daemon.reset(); // also ends the machines of a daemon that was killed
    await daemon.close();
  });
  return {
    get browser() {
      return browser;
    },
  };
}

/** And opens the page for each test, in which nothing of its own may go wrong. */
export function inTabs(
  daemon: Daemon,
  opened: (tab: Tab) => void | Promise<void>,
  prepare?: () => Promise<void>,
): { readonly browser: Browser } {
  const started = inBrowser(daemon, prepare);
  let tab: Tab | undefined;
  beforeEach(async () => {
    tab = await Tab.open(started.browser, daemon);
    await opened(tab);
  });
  afterEach(async ({ task }) => {
    // What a person would have seen says more than which wait failed.
    if (task.result?.state === 'fail' && tab) console.log(task.name, await tab.seen());
    await tab?.close();
    expect(tab?.errors).toEqual([]);
  });
  return started;
}
