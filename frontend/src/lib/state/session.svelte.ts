import { Api } from '$lib/api/api';
import { clientName, connect, forget, inWindow, type Connection } from '$lib/api/connection';
import { ApiError, sentence } from '$lib/api/errors';
import { followEvents } from '$lib/api/events';
import { Http } from '$lib/api/http';
import { Stranger } from '$lib/api/proof';
import type { Event } from '$lib/api/types';
import { words } from '$lib/words';

const LOST_SHOWN_AFTER_MS = 1_200;

interface Handlers {
  onEvent(event: Event): void;
  /** The daemon tells events from now on. `resumed` is false when some may have been missed. */
  onOpen(resumed: boolean): void;
}

/** The page's connection to the daemon: how it stands, and what comes over it. */
export class Session {
  phase = $state<'connecting' | 'locked' | 'failed' | 'ready'>('connecting');
  /** Why it failed, for the person. */
  problem = $state('');
  /** False once the daemon has been away long enough to be worth a word. */
  online = $state(true);
  /** While the daemon is away: whether something else answers in its place. */
  stranger = $state(false);
  /** While the daemon moves its files, and does nothing else. */
  moving = $state(false);
  /** While the daemon is away: why the window cannot bring it back, for the person. */
  trouble = $state('');

  private current: Api | null = null;
  private stop = new AbortController();
  private lostTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly handlers: Handlers) {}

  /** The daemon's operations; only once the page is ready. */
  get api(): Api {
    if (!this.current) throw new Error('The page is not connected yet.');
    return this.current;
  }

  /** Connects and follows the daemon until close(). */
  async start(): Promise<void> {
    this.stop.abort();
    this.stop = new AbortController();
    this.phase = 'connecting';
    try {
      let next = await connect();
      if (!next) {
        this.phase = 'locked';
        return;
      }
      await followEvents(
        {
          api: async () => {
            const connection = next ?? (await this.reconnect());
            next = null;
            this.current = new Api(new Http(connection, clientName()));
            return this.current;
          },
        },
        {
          onEvent: (event) => this.handlers.onEvent(event),
          onState: (state, resumed, reason) => this.onState(state, resumed, reason),
          onUnauthorized: () => {
            forget();
            this.phase = 'locked';
          },
        },
        this.stop.signal,
      );
    } catch (reason) {
      this.fail(reason);
    }
  }

  /**
   * Loads what the page needs before it is shown; resolves to whether that worked. Throws only
   * once the page was shown: a first load that is lost comes again with the next connection.
   */
  async ready(load: () => Promise<void>): Promise<boolean> {
    try {
      await load();
      this.phase = 'ready';
      return true;
    } catch (reason) {
      if (this.phase === 'ready') throw reason;
      if (reason instanceof ApiError) this.fail(reason);
      return false;
    }
  }

  close(): void {
    this.stop.abort();
    clearTimeout(this.lostTimer);
  }

  private fail(reason: unknown): void {
    this.problem = sentence(reason);
    this.phase = 'failed';
  }

  private async reconnect(): Promise<Connection> {
    try {
      const connection = await connect();
      if (connection) return connection;
    } catch (reason) {
      this.stranger = reason instanceof Stranger;
      if (inWindow()) this.trouble = sentence(reason);
      throw reason;
    }
    throw new ApiError(401, 'Unauthorized', words.locked.title);
  }

  private onState(state: 'open' | 'lost', resumed: boolean, reason?: ApiError): void {
    clearTimeout(this.lostTimer);
    this.moving = reason?.code === 'Moving';
    if (state === 'lost') {
      this.current?.http.close();
      this.lostTimer = setTimeout(() => (this.online = false), LOST_SHOWN_AFTER_MS);
      return;
    }
    this.online = true;
    this.stranger = false;
    this.trouble = '';
    this.handlers.onOpen(resumed);
  }
}
