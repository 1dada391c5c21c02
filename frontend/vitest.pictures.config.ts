import { defineConfig } from 'vitest/config';

/** `npm run pictures` makes the README's pictures from a real daemon. */
export default defineConfig({
  test: { include: ['e2e/pictures.ts'], testTimeout: 120_000, hookTimeout: 120_000 },
});
