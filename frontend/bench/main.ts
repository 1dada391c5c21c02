/**
 * Measures what a person feels of the window, with the built programs and a home of its own for
 * each part: the page in Chromium, then the window itself on a screen of its own. `make bench` runs
 * it; it takes some minutes, and wants the computer for itself.
 */
import { loadavg } from 'node:os';
import { appearing, lines, steps } from './page';
import { table, type Row } from './rows';
import { painting, resting } from './window';

const parts: Record<string, () => Promise<Row[]>> = { appearing, steps, lines, painting, resting };
const only = process.argv.slice(2);

const rows: Row[] = [];
try {
  for (const [name, measure] of Object.entries(parts)) {
    if (only.length === 0 || only.includes(name)) rows.push(...(await measure()));
  }
} finally {
  const load = loadavg().map((value) => value.toFixed(1));
  process.stdout.write(`${table(rows)}The computer's load meanwhile: ${load.join(', ')}.\n\n`);
}
