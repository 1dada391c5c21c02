import type { Attachment } from 'svelte/attachments';

/**
 * So far beyond what is seen an element counts as near: a fast turn of the wheel does not get there
 * before it has been drawn.
 */
const MARGIN_PX = 2_000;

type Change = (near: boolean, element: HTMLElement, height: number) => void;

const changes = new WeakMap<Element, Change>();
/** One for all elements of a scrolling view, as there may be thousands. */
const observers = new WeakMap<Element, IntersectionObserver>();

/**
 * Tells whether the element is near what is seen of the view that it scrolls in, at first and
 * whenever that changes, and how high it is then.
 */
export function nearby(change: Change): Attachment<HTMLElement> {
  return (element) => {
    const observer = observerOf(view(element));
    changes.set(element, change);
    observer.observe(element);
    return () => observer.unobserve(element);
  };
}

function observerOf(root: Element): IntersectionObserver {
  const known = observers.get(root);
  if (known) return known;
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting, boundingClientRect } of entries) {
        changes.get(target)?.(isIntersecting, target as HTMLElement, boundingClientRect.height);
      }
    },
    { root, rootMargin: `${MARGIN_PX}px 0px` },
  );
  observers.set(root, observer);
  return observer;
}

/**
 * The element that scrolls; a margin around the window's own view would end at that element's edge.
 */
function view(element: Element): Element {
  let parent = element.parentElement;
  while (parent && getComputedStyle(parent).overflowY !== 'auto') parent = parent.parentElement;
  return parent ?? document.documentElement;
}
