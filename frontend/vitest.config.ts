import { defineConfig, mergeConfig } from 'vitest/config';
import base from './vite.config';

export default mergeConfig(
  base,
  defineConfig({
    test: { include: ['src/**/*.test.ts'], reporters: ['default', './e2e/report.ts'] },
  }),
);
