/** How numbers and times are written: a BCP 47 tag, or undefined for the browser's own way. */
export let locale: string | undefined;

export function setLocale(tag: string): void {
  locale = tag;
}

/** A whole number with its thousands apart. */
export const number = (n: number): string => n.toLocaleString(locale);
