import { words } from '$lib/words';
import { locale } from '$lib/words/locale';

/**
 * Numbers and times as people read them. All take `now` where they depend on it, in milliseconds.
 */

export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = n;
  let unit = 'B';
  for (const next of units) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  return `${short(value)} ${unit}`;
}

/** With one digit behind the point where it is small. */
function short(value: number): string {
  const digits = value < 9.95 ? 1 : 0;
  return value.toLocaleString(locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
  });
}

export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.max(1, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 59.95) return `${short(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A running clock in whole seconds, steady in width. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const two = (n: number) => String(n).padStart(2, '0');
  const hours = Math.floor(seconds / 3600);
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}

/** Today's times as 14:05, others with their day. */
export function time(iso: string, now: number): string {
  const date = new Date(iso);
  const today = new Date(now);
  const clockTime = date.toLocaleTimeString(locale, { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === today.toDateString()) return clockTime;
  const year = date.getFullYear() === today.getFullYear() ? undefined : 'numeric';
  const day = date.toLocaleDateString(locale, { day: 'numeric', month: 'short', year });
  return `${day}, ${clockTime}`;
}

/** The whole date and time, for a tooltip. */
export function fullTime(iso: string): string {
  return new Date(iso).toLocaleString(locale, { dateStyle: 'full', timeStyle: 'medium' });
}

/** How long ago, roughly. */
export function ago(iso: string, now: number): string {
  const minutes = Math.floor((now - new Date(iso).getTime()) / 60_000);
  if (minutes < 1) return words.ago.now;
  if (minutes < 60) return words.ago.minutes(minutes);
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return words.ago.hours(hours);
  const days = Math.floor(hours / 24);
  if (days >= 31) return time(iso, now);
  return days === 1 ? words.ago.yesterday : words.ago.days(days);
}
