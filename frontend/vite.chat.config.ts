/** Builds dist/chat.html, which AI apps show under a call: one file, as they give it no network. */
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';
import { aliases, chatPlotly, digest, digests, figureScripts, frameScript } from './vite.shared.ts';

/** Puts the script and the style into the page, with a policy that allows these and no more. */
function inOneFile(): Plugin {
  return {
    name: 'in-one-file',
    generateBundle: {
      order: 'post', // Vite's own plugins change the script before
      handler(_, bundle) {
        const files = Object.values(bundle);
        const script = files
          .find((file) => file.type === 'chunk')
          ?.code.replaceAll('</script', '<\\/script');
        const style = files.find((file) => file.fileName.endsWith('.css'));
        const page = files.find((file) => file.fileName === 'chat.html');
        if (!script || style?.type !== 'asset' || page?.type !== 'asset') {
          this.error('a part of the chat page is missing');
        }
        const policy = [
          "default-src 'none'",
          `script-src ${digest(script)} ${frameScript} ${figureScripts}`,
          "style-src 'unsafe-inline'",
          'img-src data: blob:',
          'font-src data:',
          "frame-src 'none'",
          "base-uri 'none'",
          "form-action 'none'",
        ].join('; ');
        page.source = String(page.source)
          .replace(/\s*<(script|link)[^>]*(src|href)="[^"]*"[^>]*>(<\/script>)?/g, '')
          .replace(
            '<head>',
            () => `<head><meta http-equiv="Content-Security-Policy" content="${policy}">`,
          )
          .replace('</head>', () => `<style>${String(style.source)}</style></head>`)
          .replace('</body>', () => `<script type="module">${script}</script></body>`);
        for (const file of files) if (file !== page) Reflect.deleteProperty(bundle, file.fileName);
      },
    },
  };
}

export default defineConfig({
  plugins: [svelte(), inOneFile()],
  define: digests,
  resolve: { alias: { '$lib/output/plotly': chatPlotly, ...aliases } },
  publicDir: false,
  build: {
    target: ['es2022', 'safari16'],
    chunkSizeWarningLimit: 1500,
    modulePreload: false,
    emptyOutDir: false,
    cssCodeSplit: false,
    rolldownOptions: { input: 'chat.html', output: { codeSplitting: false } },
  },
});
