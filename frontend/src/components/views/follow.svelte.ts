import { tick } from 'svelte';

/** Within this distance of the end a view counts as being there. */
const NEAR_PX = 48;

/** Keeps a scrolling view at its end while content grows, unless the person has scrolled away. */
export function follow() {
  let element: HTMLElement | undefined;
  let atEnd = $state(true);
  let lastTop = 0;
  let lastHeight = 0;

  function toEnd(): void {
    atEnd = true;
    if (element) element.scrollTop = element.scrollHeight;
    remember();
  }

  function remember(): void {
    lastTop = element?.scrollTop ?? 0;
    lastHeight = element?.scrollHeight ?? 0;
  }

  return {
    get atEnd() {
      return atEnd;
    },
    toEnd,

    viewport(node: HTMLElement) {
      element = node;
      const onscroll = () => {
        // Content that grows below, or shrinks and takes the position along, is not the person scrolling away.
        const near = node.scrollHeight - node.scrollTop - node.clientHeight < NEAR_PX;
        if (near) atEnd = true;
        else if (node.scrollTop < lastTop && node.scrollHeight >= lastHeight) atEnd = false;
        remember();
      };
      node.addEventListener('scroll', onscroll, { passive: true });
      const observer = new ResizeObserver(() => atEnd && toEnd());
      observer.observe(node);
      return () => {
        observer.disconnect();
        node.removeEventListener('scroll', onscroll);
      };
    },

    content(node: HTMLElement) {
      const observer = new ResizeObserver(() => atEnd && toEnd());
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
