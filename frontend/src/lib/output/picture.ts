import { words } from '$lib/words';

/** What a figure can be saved as. */
export const FORMATS = ['png', 'svg'] as const;
export type Format = (typeof FORMATS)[number];

export const MIME = { png: 'image/png', svg: 'image/svg+xml' } as const;

/** Far more than the largest figure that the frame draws has. */
export const MAX_PICTURE = 64 << 20;
const PATIENCE_MS = 60_000;

/** Tells answers to different requests apart. */
let asked = 0;

/**
 * Asks a frame with a figure (see frame-script.ts) for a picture of it. What comes is a machine's
 * and hostile: it is a blob, which has a size before anything of it is read, and must look like
 * what it should be. It is for a file or an <img>, and for no other place. Throws what is meant for
 * the person.
 */
export async function pictureOf(frame: Window, format: Format): Promise<Blob> {
  const told = await answer(frame, format);
  if (!(told instanceof Blob)) throw new Error(words.output.noPicture);
  if (told.size > MAX_PICTURE) throw new Error(words.output.hugePicture);
  const bytes = new Uint8Array(await told.arrayBuffer());
  if (!(format === 'png' ? isPng(bytes) : isSvg(bytes))) throw new Error(words.output.noPicture);
  return new Blob([bytes], { type: MIME[format] });
}

/** The first answer of the frame's own to a request. */
function answer(frame: Window, format: Format): Promise<unknown> {
  const id = ++asked;
  return new Promise((resolve, reject) => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      stop.abort();
      reject(new Error(words.output.slowPicture));
    }, PATIENCE_MS);
    addEventListener(
      'message',
      (event: MessageEvent<unknown>) => {
        if (event.source !== frame) return;
        const { data } = event;
        if (typeof data !== 'object' || data === null || !('forevervmPicture' in data)) return;
        if (data.forevervmPicture !== id) return;
        clearTimeout(timer);
        stop.abort();
        resolve('picture' in data ? data.picture : undefined);
      },
      { signal: stop.signal },
    );
    frame.postMessage({ forevervmPicture: id, format }, '*'); // its origin is nobody's, and has no name
  });
}

function isPng(bytes: Uint8Array): boolean {
  return [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a].every((byte, i) => bytes[i] === byte);
}

function isSvg(bytes: Uint8Array): boolean {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return /^\s*(<\?xml [^>]*>\s*)?<svg[\s>]/.test(text) && /<\/svg>\s*$/.test(text);
  } catch {
    return false; // no text
  }
}
