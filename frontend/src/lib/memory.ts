import { number } from './words/locale';

/** In MiB. */
const SIZES = [512, 1024, 2048, 4096, 8192, 16_384, 32_768];

/** What a machine without a choice may use, in MiB. */
export const USUAL_MEMORY_MB = 2048;

/** A memory limit in MiB, for people. */
export function memorySize(mb: number): string {
  return mb < 1024 ? `${number(mb)} MB` : `${number(mb / 1024)} GB`;
}

/** Limits to choose from. The one that holds is among them. */
export function memorySizes(mb: number): { value: string; label: string }[] {
  const sizes = SIZES.includes(mb) ? SIZES : [...SIZES, mb].sort((a, b) => a - b);
  return sizes.map((size) => ({ value: `${size}`, label: memorySize(size) }));
}
