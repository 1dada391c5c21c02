import { execFileSync } from 'node:child_process';
import {
  chromium,
  type Browser,
  type BrowserContext,
  type Locator,
  type Page,
} from 'playwright-core';
import type { Daemon } from './daemon';

const finder = new URL('../../build/browser.sh', import.meta.url).pathname;

export function launch(): Promise<Browser> {
  const found = execFileSync(finder, { encoding: 'utf8' });
  // Files have names beyond ASCII, whatever language the computer is set to.
  return chromium.launch({
    executablePath: found.trim(),
    // As in a person's browser: what a frame does holds up no page. Without a window it is not so.
    args: ['--site-per-process'],
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
}

/** The page, and what a test does with it in a person's words. */
export class Tab {
  private constructor(
    readonly context: BrowserContext,
    readonly page: Page,
    /** Errors of the page's own code; must stay empty. */
    readonly errors: string[],
  ) {}

  static async open(
    browser: Browser,
    daemon: Daemon,
    { dark = false, locale = 'en-US' } = {},
  ): Promise<Tab> {
    const context = await browser.newContext({
      colorScheme: dark ? 'dark' : 'light',
      locale,
      viewport: { width: 1200, height: 800 },
    });
    context.setDefaultTimeout(60_000); // a busy computer takes its time
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(daemon.link());
    await page.getByRole('contentinfo').waitFor();
    return new Tab(context, page, errors);
  }

  get machines(): Locator {
    return this.page.getByRole('listbox', { name: 'Machines' }).getByRole('option');
  }

  /** A step by its number as shown, from 1. */
  step(number: number): Locator {
    return this.page.locator(`article[data-seq="${number - 1}"]`);
  }

  async newMachine(): Promise<string> {
    const heading = this.page.locator('main h2').first();
    const before = await heading.textContent(); // of a machine in which nothing has run, maybe
    await this.page.getByRole('button', { name: 'New machine', exact: true }).last().click();
    const same = new RegExp(`^${(before ?? '').replace(/\W/g, '\\$&')}$`);
    await heading.filter({ hasNotText: same }).waitFor();
    await this.page.getByText('Nothing has run here yet').waitFor();
    return (await heading.textContent()) ?? '';
  }

  /** Types code and runs it; does not wait for its end. */
  async run(code: string): Promise<void> {
    const editor = this.page.getByRole('textbox', { name: 'Python code' });
    await editor.fill(code);
    await editor.press('Shift+Enter');
  }

  async runToEnd(number: number, code: string): Promise<Locator> {
    await this.run(code);
    const step = this.step(number);
    await step.and(this.page.locator('.ok, .error, .cancelled')).waitFor();
    return step;
  }

  /** Opens the panel at the right where it is closed, and a tab of it. */
  async side(tab: string): Promise<Locator> {
    const show = this.page.getByRole('button', { name: 'Show checkpoints, plots, files and more' });
    if (await show.isVisible()) await show.click();
    await this.page.getByRole('tab', { name: tab }).click();
    return this.page.getByRole('tabpanel', { name: tab });
  }

  /**
   * Runs code until the list of variables shows something. A busy machine has no time to tell of
   * its variables: it is asked again after the next step. Returns the number of the last step.
   */
  async tells(number: number, code: string, shown: Locator): Promise<number> {
    const panel = this.page.getByRole('tabpanel', { name: 'Variables' });
    const busy = panel
      .getByText('Python is busy. You see the values from before.')
      .or(panel.getByRole('button', { name: 'Try again' }));
    for (; ; number += 1) {
      await this.runToEnd(number, code);
      await shown.or(busy).first().waitFor();
      if (await shown.isVisible()) return number;
    }
  }

  async menu(item: string): Promise<void> {
    await this.page.getByRole('button', { name: 'More for this machine', exact: true }).click();
    await this.page.getByRole('menuitem', { name: item }).click();
  }

  /** What the page says now. */
  async seen(): Promise<string> {
    const text = await this.page.locator('body').innerText();
    return `${this.page.url()}\n${text.slice(0, 5000)}`;
  }

  close(): Promise<void> {
    return this.context.close();
  }
}
