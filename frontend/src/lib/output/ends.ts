import { plainLines } from './plain';

/** A long output as lines to look through: whole, or its beginning and its end. */
export interface Ends {
  readonly head: readonly string[];
  readonly tail: readonly string[];
  /** Lines between them, which are not kept. */
  readonly hidden: number;
}

/** Kept of each end; more would take the page's memory and hold it up. */
const MAX_BYTES = 10 << 20;
const MAX_LINES = 500_000;

/** Reads an output to its end and keeps no more of it than the page bears, however long it is. */
export async function readEnds(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  maxBytes = MAX_BYTES,
  maxLines = MAX_LINES,
): Promise<Ends> {
  const head: Uint8Array<ArrayBuffer>[] = [];
  const tail: Uint8Array<ArrayBuffer>[] = [];
  let headBytes = 0;
  let tailBytes = 0;
  let hidden = 0;
  let cut = false;
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (headBytes < maxBytes) {
      head.push(value);
      headBytes += value.length;
      continue;
    }
    tail.push(value);
    tailBytes += value.length;
    for (let first = tail[0]; first && tailBytes - first.length >= maxBytes; first = tail[0]) {
      hidden += newlines(first);
      tailBytes -= first.length;
      tail.shift();
      cut = true;
    }
  }
  if (!cut) return bounded(plainLines(await textOf([...head, ...tail])), [], 0, maxLines);
  // What is left of the lines in which the ends are cut counts as one more between them.
  const begin = await textOf(head);
  const end = await textOf(tail);
  const first = plainLines(begin.slice(0, begin.lastIndexOf('\n') + 1));
  const last = plainLines(end.includes('\n') ? end.slice(end.indexOf('\n') + 1) : '');
  return bounded(first, last, hidden + 1, maxLines);
}

function bounded(head: string[], tail: string[], hidden: number, max: number): Ends {
  if (hidden === 0 && head.length <= 2 * max) return { head, tail, hidden };
  const end = hidden === 0 ? head : tail;
  const first = head.slice(0, max);
  const last = end.slice(-max);
  const all = head.length + hidden + tail.length;
  return { head: first, tail: last, hidden: all - first.length - last.length };
}

function textOf(chunks: Uint8Array<ArrayBuffer>[]): Promise<string> {
  return new Blob(chunks).text();
}

function newlines(chunk: Uint8Array): number {
  let n = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) n += 1;
  return n;
}
