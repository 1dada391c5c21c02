import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Daemon } from './daemon';
import { inBrowser } from './tabs';

const daemon = new Daemon();
const started = inBrowser(daemon);

it('takes a file at a link, without a token, once', async () => {
  const name = await daemon.machine({ title: 'Accounts' });
  const { url, code } = await daemon.call<{ url: string; code: string }>(
    'POST',
    `/api/machines/${name}/drops`,
    { path: 'inbox/' },
  );
  expect(url).toBe(`${daemon.url}/drop/${code}`);
  const context = await started.browser.newContext({ viewport: { width: 700, height: 500 } });
  try {
    const page = await context.newPage();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await page.goto(url);
    await page.getByRole('heading', { name: 'A file for your AI app' }).waitFor();
    const zone = page.getByRole('group', { name: 'Place for the file' });
    await zone.getByText(`It goes into the folder inbox/ of the machine ${name}`).waitFor();
    if (process.env.PICTURES)
      await page.screenshot({ path: join(process.env.PICTURES, 'drop.png') });
    // Two files at once are none.
    const two = await page.evaluateHandle(() => {
      const files = new DataTransfer();
      for (const name of ['a.csv', 'b.csv']) files.items.add(new File(['x,y\n1,2\n'], name));
      return files;
    });
    await zone.dispatchEvent('drop', { dataTransfer: two });
    await page.getByRole('alert').getByText('This link takes one file').waitFor();
    const one = await page.evaluateHandle(() => {
      const files = new DataTransfer();
      files.items.add(new File(['x,y\n1,2\n'], 'sales.csv'));
      return files;
    });
    await zone.dispatchEvent('drop', { dataTransfer: one });
    await page.getByText('The file is there: inbox/sales.csv, 8 B.').waitFor();
    await page.getByText('Go back to your AI app, and tell it to continue.').waitFor();
    expect(daemon.cli('exec', name, 'print(open("inbox/sales.csv").read())')).toContain(
      'x,y\n1,2\n',
    );
    await page.goto(`${daemon.url}/drop/another`);
    await page.getByRole('alert').getByText('This link was used before or is too old').waitFor();
    expect(errors).toEqual([]);
  } finally {
    await context.close();
  }
});
