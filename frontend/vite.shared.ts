/** What the page and the chat page are both built with. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FIGURE_SCRIPT, FRAME_SCRIPT } from './src/lib/output/frame-script.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const plotly = readFileSync(
  path('node_modules/plotly.js-strict-dist-min/plotly-strict.min.js'),
  'utf8',
);

/** The digest of a script, as a policy has it. */
export const digest = (script: string) =>
  `'sha256-${createHash('sha256').update(script).digest('base64')}'`;

export const frameScript = digest(FRAME_SCRIPT);
export const figureScripts = [plotly, FIGURE_SCRIPT].map(digest).join(' ');
/** Those of a report, which is shown in a frame before it is saved. */
export const reportScripts = ['boot', 'draw']
  .map((name) => digest(readFileSync(path(`../backend/export/scripts/${name}.js`), 'utf8')))
  .join(' ');
export const digests = {
  __FRAME_SCRIPT_DIGEST__: JSON.stringify(frameScript),
  __FIGURE_SCRIPT_DIGESTS__: JSON.stringify(figureScripts),
};
export const aliases = { $lib: path('./src/lib'), $components: path('./src/components') };
export const chatPlotly = path('./src/chat/plotly.ts');
