import { tick } from 'svelte';

/** Within this distance of the end a view counts as being there. */
const NEAR_PX = 48;
/** A scroll so close to a wheel, key or touch is the person's doing. */
const INTENT_MS = 600;

/** Keeps a scrolling view at its end while content grows, unless the person has scrolled away. */
export function follow() {
  let element: HTMLElement | undefined;
  let atEnd = $state(true);
  let lastTop = 0;
  let intended = -Infinity;
  /** When the view last moved up, away from its end. */
  let rose = -Infinity;
  /** A button of the mouse is down, maybe on the bar that scrolls. */
  let held = false;

  function toEnd(): void {
    atEnd = true;
    rose = -Infinity;
    if (!element) return;
    element.scrollTop = element.scrollHeight;
    lastTop = element.scrollTop;
  }

  function onresize(): void {
    if (atEnd) toEnd();
  }

  function onscroll(): void {
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const rises = scrollTop < lastTop;
    lastTop = scrollTop;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) {
      atEnd = true;
      rose = -Infinity;
    } else if (rises) {
      rose = performance.now();
      if (held) atEnd = false;
      leaveIfMeant();
    }
  }

  /**
   * The browser moves the position along when content changes its size, and on a busy computer
   * tells of it seconds later. So only what the person does leaves the end. A frame tells of that
   * after the scroll.
   */
  function leaveIfMeant(): void {
    if (Math.abs(rose - intended) < INTENT_MS) atEnd = false;
  }

  function onintent(): void {
    intended = performance.now();
    leaveIfMeant();
  }

  function onpointer(event: PointerEvent): void {
    held = event.buttons > 0;
    if (held) onintent();
  }

  return {
    get atEnd() {
      return atEnd;
    },
    toEnd,

    /** Brings an element to the top, and stays there. */
    to(target: Element): void {
      atEnd = false;
      intended = performance.now();
      target.scrollIntoView({ block: 'start' });
      lastTop = element?.scrollTop ?? 0;
    },

    viewport(node: HTMLElement) {
      element = node;
      const listening = new AbortController();
      const options = { passive: true, signal: listening.signal };
      node.addEventListener('scroll', onscroll, options);
      for (const type of ['wheel', 'touchmove', 'keydown']) {
        node.addEventListener(type, onintent, options);
      }
      node.addEventListener('pointerdown', onpointer, options);
      for (const type of ['pointermove', 'pointerup', 'pointercancel'] as const) {
        window.addEventListener(type, onpointer, options);
      }
      const observer = new ResizeObserver(onresize);
      observer.observe(node);
      return () => {
        observer.disconnect();
        listening.abort();
      };
    },

    content(node: HTMLElement) {
      const observer = new ResizeObserver(onresize);
      observer.observe(node);
      return () => observer.disconnect();
    },

    /** Does something that adds content above, without moving what is seen. */
    async keepPlace(change: () => Promise<void>): Promise<void> {
      const before = element ? element.scrollHeight - element.scrollTop : 0;
      await change();
      await tick();
      if (element) element.scrollTop = element.scrollHeight - before;
    },
  };
}
