import type { Attachment } from 'svelte/attachments';
import { NEAR } from './near';

/** How long what went out of sight keeps what it holds: who scrolls a little comes back. */
const LINGERS_MS = 5_000;

interface Place {
  readonly element: Element;
  readonly hold: (held: boolean) => void;
  held: boolean;
  near: boolean;
  leaving?: ReturnType<typeof setTimeout>;
}

/**
 * Shares out something costly among many elements: those near what is visible hold it, but never
 * more than `most` at once, and give it back a while after they went out of sight. Each is told by
 * its own function when it holds it, and when no longer.
 */
export function few(most: number): (hold: (held: boolean) => void) => Attachment<HTMLElement> {
  /** In the order in which they last came or went. */
  const places = new Map<Element, Place>();
  let observer: IntersectionObserver | undefined;

  function onchange(entries: readonly IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of entries) {
      const place = places.get(target);
      if (!place || place.near === isIntersecting) continue;
      place.near = isIntersecting;
      clearTimeout(place.leaving);
      if (!isIntersecting) place.leaving = setTimeout(() => set(place, false), LINGERS_MS);
      places.delete(target);
      places.set(target, place);
    }
    share();
  }

  function share(): void {
    const all = [...places.values()];
    const near = all
      .filter((place) => place.near)
      .map((place) => [place, fromMiddle(place)] as const);
    near.sort(([, a], [, b]) => a - b);
    near.forEach(([place], i) => set(place, i < most));
    const lingering = all.filter((place) => place.held && !place.near);
    const tooMany = near.length + lingering.length - most;
    if (tooMany > 0) lingering.slice(0, tooMany).forEach((place) => set(place, false));
  }

  function set(place: Place, held: boolean): void {
    if (place.held === held) return;
    place.held = held;
    place.hold(held);
  }

  return (hold) => (element) => {
    observer ??= new IntersectionObserver(onchange, NEAR);
    const place: Place = { element, hold, held: false, near: false };
    places.set(element, place);
    observer.observe(element);
    return () => {
      observer?.unobserve(element);
      clearTimeout(place.leaving);
      places.delete(element);
      queueMicrotask(share); // once all that goes with it has gone
    };
  };
}

function fromMiddle({ element }: Place): number {
  const { top, bottom } = element.getBoundingClientRect();
  return Math.abs((top + bottom) / 2 - innerHeight / 2);
}
