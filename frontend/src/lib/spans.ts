import { locale } from './words/locale';

/** Spans of time as the daemon writes them in its settings: "20m", "1h30m", "7d". */
const UNITS = [
  ['d', 'day', 86_400],
  ['h', 'hour', 3_600],
  ['m', 'minute', 60],
  ['s', 'second', 1],
] as const;

function parts(span: string): { n: number; unit: string; seconds: number }[] {
  return [...span.matchAll(/(\d+)([dhms])/g)].flatMap(([, n, letter]) =>
    UNITS.filter(([short]) => short === letter).map(([, unit, seconds]) => ({
      n: Number(n),
      unit,
      seconds: Number(n) * seconds,
    })),
  );
}

const length = (span: string): number => parts(span).reduce((sum, { seconds }) => sum + seconds, 0);

/** A span in words: "1 hour 30 minutes". */
export function spanText(span: string): string {
  return parts(span)
    .map(({ n, unit }) => n.toLocaleString(locale, { style: 'unit', unit, unitDisplay: 'long' }))
    .join(' ');
}

/** Spans to choose from, the shortest first. The one that holds is among them. */
export function spanChoices(spans: readonly string[], now: string): string[] {
  const all = spans.some((span) => length(span) === length(now))
    ? spans.map((span) => (length(span) === length(now) ? now : span))
    : [...spans, now];
  return all.toSorted((a, b) => length(a) - length(b));
}
