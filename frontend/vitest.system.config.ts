import { defineConfig } from 'vitest/config';

/** What needs more of the computer than a browser: a display (Xvfb), a session bus, ImageMagick. */
export default defineConfig({
  test: {
    include: ['e2e/**/*.system.test.ts'],
    reporters: ['default', './e2e/report.ts'],
    fileParallelism: false,
    retry: 1, // what passes only then is flaky, and the report says so
    testTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 180_000,
  },
});
