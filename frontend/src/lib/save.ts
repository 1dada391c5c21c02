import { inWindow, saveInWindow } from '$lib/api/connection';

/** Who is told of what the window saved: a browser tells on its own. */
interface Listener {
  saved(path: string): void;
  failed(reason: unknown): void;
}

let listener: Listener | undefined;

export function onSaved(told: Listener): void {
  listener = told;
}

/** Where files go in place of a browser's downloads: a page in an AI app cannot save on its own. */
let elsewhere: ((name: string, content: Blob) => Promise<string>) | undefined;

export function saveThrough(save: (name: string, content: Blob) => Promise<string>): void {
  elsewhere = save;
}

/** Has the browser, or the window, save something as a file, under a name of ours. */
export function saveAs(name: string, content: Blob): void {
  saveParts(name, [content]).catch((reason: unknown) => listener?.failed(reason));
}

/**
 * The same of what comes in parts, which the window never holds together; a browser keeps large
 * blobs outside the page.
 */
async function saveParts(name: string, parts: Iterable<Blob> | AsyncIterable<Blob>): Promise<void> {
  if (inWindow()) {
    const path = await saveInWindow(name, parts);
    listener?.saved(path);
    return;
  }
  const all: Blob[] = [];
  for await (const part of parts) all.push(part);
  if (elsewhere) {
    const path = await elsewhere(name, new Blob(all, { type: all[0]?.type ?? '' }));
    listener?.saved(path);
    return;
  }
  const address = URL.createObjectURL(new Blob(all));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // Not at once: the browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/**
 * Has what comes over a connection saved as it comes, however long it is, and tells how much has
 * come.
 */
export async function saveStream(
  name: string,
  content: ReadableStream<Uint8Array<ArrayBuffer>>,
  oncome: (bytes: number) => void,
): Promise<void> {
  await saveParts(name, gather(content, oncome));
}

/** How much of a stream is handed on at a time, in bytes. */
const GATHERED = 8 << 20;

async function* gather(
  content: ReadableStream<Uint8Array<ArrayBuffer>>,
  oncome: (bytes: number) => void,
): AsyncGenerator<Blob> {
  const reader = content.getReader();
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let held = 0;
  let all = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      held += value.length;
      all += value.length;
      oncome(all);
      if (held >= GATHERED) {
        yield new Blob(chunks);
        chunks = [];
        held = 0;
      }
    }
    if (held > 0) yield new Blob(chunks);
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
