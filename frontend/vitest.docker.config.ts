import { defineConfig } from 'vitest/config';

/**
 * What needs a Docker: backend/engine/docker/page_test.go starts one, and this. Root may run it,
 * and leaves nothing here.
 */
export default defineConfig({
  cacheDir: process.env.FOREVERVM_TEST_CACHE ?? 'node_modules/.vite',
  test: {
    include: ['e2e/docker.test.ts'],
    testTimeout: 180_000,
    expect: { poll: { timeout: 10_000 } },
    hookTimeout: 120_000,
  },
});
