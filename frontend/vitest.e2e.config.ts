import { configDefaults, defineConfig } from 'vitest/config';

/** The page in a browser, and what build/bin has: no more is needed. */
export default defineConfig({
  test: {
    include: ['e2e/**/*.test.ts'],
    // See vitest.docker.config.ts and vitest.system.config.ts.
    exclude: [...configDefaults.exclude, 'e2e/docker.test.ts', 'e2e/**/*.system.test.ts'],
    reporters: ['default', './e2e/report.ts'],
    // Each file has a daemon and a browser of its own.
    maxWorkers: 2,
    retry: 1, // what passes only then is flaky, and the report says so
    testTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    hookTimeout: 180_000,
  },
});
