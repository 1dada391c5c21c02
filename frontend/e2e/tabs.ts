import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { launch, Tab } from './browser';
import type { Daemon } from './daemon';

/** Starts a browser and the daemon for the tests of a file, and ends both. */
export function inBrowser(daemon: Daemon): { readonly browser: Browser } {
  let browser: Browser;
  beforeAll(async () => {
    [browser] = await Promise.all([launch(), daemon.start()]);
  });
  afterAll(async () => {
    await browser.close();
    await daemon.close();
  });
  return {
    get browser() {
      return browser;
    },
  };
}

/** And opens the page anew for each test, in which nothing of its own may go wrong. */
export function inTabs(
  daemon: Daemon,
  opened: (tab: Tab) => void | Promise<void>,
): { readonly browser: Browser } {
  const started = inBrowser(daemon);
  let tab: Tab;
  beforeEach(async () => {
    tab = await Tab.open(started.browser, daemon);
    await opened(tab);
  });
  afterEach(async () => {
    expect(tab.errors).toEqual([]);
    await tab.close();
  });
  return started;
}
