import { fileURLToPath } from 'node:url';
import { createHash } from 'node:crypto';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';
import { FRAME_SCRIPT } from './src/lib/output/frame-script';

const frameScriptDigest = createHash('sha256').update(FRAME_SCRIPT).digest('base64');

/**
 * The page's own policy. The frames with machines' output inherit it, so the one script that they run is named here by
 * its digest; `frame-src 'none'` keeps such a frame from being led to another address.
 */
function contentSecurityPolicy(): Plugin {
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${frameScriptDigest}'`,
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

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));

export default defineConfig({
  plugins: [svelte(), contentSecurityPolicy()],
  define: { __FRAME_SCRIPT_DIGEST__: JSON.stringify(frameScriptDigest) },
  resolve: { alias: { $lib: path('./src/lib'), $components: path('./src/components') } },
  build: { target: ['es2022', 'safari16'], chunkSizeWarningLimit: 1200, modulePreload: false },
});
