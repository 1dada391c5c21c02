import type { Attachment } from 'svelte/attachments';

/**
 * Within a screen of what is visible; `scrollMargin` says the same of what scrolls within the page,
 * and older browsers ignore it.
 */
export const NEAR = { rootMargin: '800px 0px', scrollMargin: '800px 0px' };

/** Calls once when the element comes near what is visible. */
export function near(callback: () => void): Attachment<HTMLElement> {
  return (element) => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      callback();
    }, NEAR);
    observer.observe(element);
    return () => observer.disconnect();
  };
}
