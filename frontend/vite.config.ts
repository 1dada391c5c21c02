import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';
import { FIGURE_SCRIPT, FRAME_SCRIPT } from './src/lib/output/frame-script.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const digest = (script: string) => createHash('sha256').update(script).digest('base64');

const frameScriptDigest = digest(FRAME_SCRIPT);
const plotly = readFileSync(
  path('node_modules/plotly.js-strict-dist-min/plotly-strict.min.js'),
  'utf8',
);
const figureScriptDigests = [plotly, FIGURE_SCRIPT].map((s) => `'sha256-${digest(s)}'`).join(' ');

/**
 * The page's own policy. The frames with machines' output inherit it, so the scripts that they run
 * are named here by their digests; `frame-src 'none'` keeps such a frame from being led to another
 * address.
 */
function contentSecurityPolicy(): Plugin {
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${frameScriptDigest}' ${figureScriptDigests}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self' http://127.0.0.1:* http://localhost:*",
    "frame-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return {
    name: 'content-security-policy',
    apply: 'build',
    transformIndexHtml: () => [
      {
        tag: 'meta',
        attrs: { 'http-equiv': 'Content-Security-Policy', content: policy },
        injectTo: 'head-prepend',
      },
    ],
  };
}

export default defineConfig({
  plugins: [svelte(), contentSecurityPolicy()],
  define: {
    __FRAME_SCRIPT_DIGEST__: JSON.stringify(frameScriptDigest),
    __FIGURE_SCRIPT_DIGESTS__: JSON.stringify(figureScriptDigests),
  },
  resolve: { alias: { $lib: path('./src/lib'), $components: path('./src/components') } },
  build: { target: ['es2022', 'safari16'], chunkSizeWarningLimit: 1200, modulePreload: false },
});
