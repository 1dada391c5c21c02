/**
 * The only script that runs in a frame with a machine's HTML: it tells the page how high the content is. The page's and
 * the frame's policies allow it by its digest and nothing else. Imported by vite.config.ts: keep it free of imports.
 */
export const FRAME_SCRIPT =
  'const report=()=>parent.postMessage({forevervmHeight:document.documentElement.offsetHeight},"*");' +
  'new ResizeObserver(report).observe(document.documentElement);report();';
