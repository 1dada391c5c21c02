/** Newline-delimited JSON from a response's body, one value at a time. */

/** A line longer than this is no message of the daemon's. */
const MAX_LINE = 64 << 20;

/**
 * Yields each line's value. A last line without a newline was cut off by a dropped connection and
 * is left out.
 */
export async function* ndjson(body: ReadableStream<Uint8Array>): AsyncGenerator<unknown> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest: string[] = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      let text = decoder.decode(value, { stream: true });
      for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
        rest.push(text.slice(0, end));
        const line = rest.join('');
        rest = [];
        length = 0;
        text = text.slice(end + 1);
        if (line.trim() !== '') yield JSON.parse(line);
      }
      rest.push(text);
      length += text.length;
      if (length > MAX_LINE) throw new Error('A message of the daemon is too long to read.');
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
