import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';
import { aliases, digests, figureScripts, frameScript, reportScripts } from './vite.shared.ts';

/**
 * The page's own policy. The frames with machines' output inherit it, so the scripts that they run
 * are named here by their digests; `frame-src 'none'` keeps such a frame from being led to another
 * address.
 */
function contentSecurityPolicy(): Plugin {
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${frameScript} ${figureScripts} ${reportScripts}`,
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
  define: digests,
  resolve: { alias: aliases },
  build: { target: ['es2022', 'safari16'], chunkSizeWarningLimit: 1200, modulePreload: false },
});
