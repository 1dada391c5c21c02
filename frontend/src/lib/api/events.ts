import { given, type Api } from './api';
import { ApiError } from './errors';
import { Slice } from '$lib/slice';
import { ndjson } from './ndjson';
import type { Event } from './types';

/** The daemon sends a ping every 15 s; silence for this long means that the connection is dead. */
const SILENCE_MS = 40_000;
const FIRST_DELAY_MS = 250;
const LAST_DELAY_MS = 5_000;

export interface EventHandlers {
  /** Each event but pings, in order, none twice. */
  onEvent(event: Event): void;
  /**
   * The stream is open, or was lost and is being tried again. `resumed` is false when nothing is
   * known of what happened before: everything has to be loaded. `reason` is why it was lost, where
   * the daemon said so.
   */
  onState(state: 'open' | 'lost', resumed: boolean, reason?: ApiError): void;
  /** The token is no longer right; the stream has ended. */
  onUnauthorized(): void;
}

export interface EventOptions {
  /** Waits before the next attempt; a test passes its own. */
  delay?: (ms: number, signal: AbortSignal) => Promise<void>;
  /**
   * A new Api for every attempt: in the window the daemon may have come back at another address.
   */
  api: () => Promise<Api>;
}

/**
 * Follows the daemon's events until the signal is aborted. After a dropped connection it goes on
 * after the last event seen; the daemon answers with `reset` where it cannot.
 */
export async function followEvents(
  options: EventOptions,
  handlers: EventHandlers,
  signal: AbortSignal,
): Promise<void> {
  const delay = options.delay ?? wait;
  let after: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    let refusal: ApiError | undefined;
    try {
      const attempt = new AbortController();
      const stop = () => attempt.abort();
      signal.addEventListener('abort', stop, { once: true });
      let watchdog = setTimeout(stop, SILENCE_MS);
      try {
        const api = await options.api();
        const body = await api.get('/api/events', {
          params: { query: given({ after }) },
          parseAs: 'stream',
          signal: attempt.signal,
        });
        if (!body) throw new Error('The event stream has no body.');
        handlers.onState('open', after !== undefined);
        failures = 0;
        const slice = new Slice();
        for await (const value of ndjson(body)) {
          clearTimeout(watchdog);
          watchdog = setTimeout(stop, SILENCE_MS);
          const event = value as Event;
          if (event.id) after = event.id;
          if (event.type !== 'ping') handlers.onEvent(event);
          await slice.pause();
        }
      } finally {
        clearTimeout(watchdog);
        signal.removeEventListener('abort', stop);
      }
    } catch (reason) {
      if (signal.aborted) return;
      if (reason instanceof ApiError && reason.status === 401) {
        handlers.onUnauthorized();
        return;
      }
      if (reason instanceof ApiError) refusal = reason;
    }
    if (signal.aborted) return;
    handlers.onState('lost', false, refusal);
    await delay(Math.min(FIRST_DELAY_MS * 2 ** failures, LAST_DELAY_MS), signal);
    failures += 1;
  }
}

/** Resolves after `ms`, or at once when the signal is aborted. */
function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}
