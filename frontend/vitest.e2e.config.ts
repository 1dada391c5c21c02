import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['e2e/**/*.test.ts'],
    exclude: ['e2e/docker.test.ts'], // see vitest.docker.config.ts
    fileParallelism: false,
    retry: 1, // what else the computer does takes its time from the page, too
    testTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 120_000,
  },
});
