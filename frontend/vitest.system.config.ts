import { defineConfig } from 'vitest/config';

/** What needs more of the computer than a browser: a display (Xvfb), a session bus, ImageMagick. */
export default defineConfig({
  test: {
    include: ['e2e/**/*.system.test.ts'],
    reporters: ['default', './e2e/report.ts'],
    fileParallelism: false,
    retry: 1, // what passes only then is flaky, and the report says so
    testTimeout: 300_000,
    expect: { poll: { timeout: 150_000 } }, // a window may take a minute beside other tests
    hookTimeout: 180_000,
  },
});
