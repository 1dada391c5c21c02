import type { Instruction, Machine, SearchHit } from '../api/types';
import { en } from './en';
import { setLocale } from './locale';

/** What the page says. Each language has all of it: TypeScript checks that. */
export type Words = typeof en;

/** The languages, each by its own name. */
export const LANGUAGES = {
  en: 'English',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  ja: '日本語',
  pt: 'Português',
  zh: '简体中文',
} as const;

export type Language = keyof typeof LANGUAGES;

export const isLanguage = (value: unknown): value is Language =>
  typeof value === 'string' && Object.hasOwn(LANGUAGES, value);

/** Loads what the page says in a language. English is always there. */
const load: Readonly<Record<Exclude<Language, 'en'>, () => Promise<Words>>> = {
  de: async () => (await import('./de')).de,
  es: async () => (await import('./es')).es,
  fr: async () => (await import('./fr')).fr,
  ja: async () => (await import('./ja')).ja,
  pt: async () => (await import('./pt')).pt,
  zh: async () => (await import('./zh')).zh,
};

/** What the page says, in the language of `speak`. It does not change afterwards. */
export let words: Words = en;

/**
 * Sets the language, once, before anything else is imported that says something: the first of the
 * wanted ones (as in `navigator.languages`) that there is, or English.
 */
export async function speak(wanted: readonly string[]): Promise<void> {
  const tag = wanted.find((one) => isLanguage(baseOf(one))) ?? 'en';
  const language = baseOf(tag);
  if (!isLanguage(language)) return;
  if (language !== 'en') words = await load[language]();
  // A system in the same language knows best how its region writes numbers.
  setLocale(navigator.languages.find((one) => baseOf(one) === language) ?? language);
  document.documentElement.lang = language;
}

const baseOf = (tag: string): string => tag.toLowerCase().split('-')[0] ?? '';

/** What a step is called when it did not simply succeed; null when it did. */
export function outcome(instruction: Instruction): string | null {
  switch (instruction.status) {
    case 'queued':
      return words.step.queued;
    case 'running':
      return words.step.running;
    case 'cancelled':
      return words.step.cancelled;
    case 'error':
      if (instruction.error_name === 'KeyboardInterrupt') return words.step.interrupted;
      if (instruction.error_name === 'Timeout') return words.step.timeout;
      return words.step.failed;
    case 'ok':
      return null;
  }
}

/** What a step does, in a few words: as its sender says, else as its code looks. '' for unknown. */
export function headline({
  summary,
  does,
}: Pick<Instruction, 'summary' | 'does'> | SearchHit): string {
  if (summary) return summary;
  const acts = (does ?? []).map(({ what, names }) =>
    words.step.does[what]((names ?? []).join(', ')),
  );
  const text = acts.join(', ').trim();
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

/** Whether a person at this page, or at another of ForeverVM's, ran it. */
export function byPerson({ client }: Pick<Instruction, 'client'>): boolean {
  return client.name === 'window' || client.name === 'browser';
}

/** Whether an AI app ran it: no page, no command line, no program with an SDK. */
export function byApp(of: Pick<Instruction, 'client'>): boolean {
  const who = author(of.client);
  return (
    !byPerson(of) && ![words.aProgram, words.commandLine].includes(who) && who === of.client.name
  );
}

/** What an error of the daemon means, in a language that is not the daemon's own. */
export function explained(code: string, message: string): string {
  const known: Readonly<Record<string, string | undefined>> = words.codes ?? {};
  const meaning = known[code];
  return meaning ? `${meaning} (${message})` : message;
}

/** Who ran a step. This page's own are the reader's. */
export function author(client: Instruction['client']): string {
  const { name } = client;
  if (byPerson({ client })) return words.you;
  if (name === '') return words.aProgram;
  if (name === 'forevervm CLI') return words.commandLine;
  const sdk = /^(?:forevervm-sdk[ -]?)?(python|javascript|rust)(?: \(\w+\))?$/i.exec(name)?.[1];
  if (sdk) return words.programIn(sdk.charAt(0).toUpperCase() + sdk.slice(1).toLowerCase());
  return name;
}

/** A machine's title, what its first code says that it is for, or its name. */
export function title(machine: Pick<Machine, 'name' | 'title' | 'derived_title'>): string {
  return [machine.title, machine.derived_title].find(Boolean) ?? machine.name;
}
