import { MediaQuery } from 'svelte/reactivity';
import { isLanguage, type Language } from '$lib/words';
import { isBoolean, Kept } from './kept.svelte';

export const THEMES = ['system', 'light', 'dark'] as const;
export const CONTRASTS = ['system', 'more'] as const;
export type Theme = (typeof THEMES)[number];
export type Contrast = (typeof CONTRASTS)[number];

/**
 * How the page looks: as the system says, unless the person has said otherwise. app.css has the
 * rest.
 */
export class Appearance {
  readonly theme = new Kept<Theme>('theme', 'system', oneOf(THEMES));
  readonly contrast = new Kept<Contrast>('contrast', 'system', oneOf(CONTRASTS));
  /** It holds from the next start of the page: main.ts sets it. */
  readonly language = new Kept<Language | 'system'>(
    'language',
    'system',
    (value) => value === 'system' || isLanguage(value),
  );
  /** Whether keys of one letter stand for commands. */
  readonly keys = new Kept('keys', true, isBoolean);
  private readonly contrastWanted = new MediaQuery('prefers-contrast: more');

  /** Call it where effects run. */
  apply(): void {
    const { dataset } = document.documentElement;
    const { value: theme } = this.theme;
    if (theme === 'system') delete dataset['theme'];
    else dataset['theme'] = theme;
    if (this.contrast.value === 'more' || this.contrastWanted.current) dataset['contrast'] = 'more';
    else delete dataset['contrast'];
  }
}

function oneOf<T extends string>(values: readonly T[]): (value: unknown) => value is T {
  return (value): value is T => values.some((one) => one === value);
}
