import { words } from '$lib/words';
import type { Connection } from './connection';
import { ApiError, Unreachable } from './errors';
import type { ErrorBody } from './types';

/**
 * The one place where the page speaks HTTP: adds the token and turns failures into ApiError or
 * Unreachable.
 */
export class Http {
  private closed = false;

  constructor(
    private readonly connection: Connection,
    private readonly client: string,
  ) {}

  /** What paths are put behind; empty for the origin that the page came from. */
  get url(): string {
    return this.connection.url;
  }

  /** Where the daemon is, for who writes a program that speaks to it. */
  get address(): string {
    return this.url || location.origin;
  }

  /** From now on nothing is sent any more: nobody knows who would answer. */
  close(): void {
    this.closed = true;
  }

  /** The response, its body unread. An aborted request throws what fetch throws. */
  async fetch(request: Request): Promise<Response> {
    if (this.closed) throw new Unreachable();
    for (const [name, value] of this.headers) request.headers.set(name, value);
    let response: Response;
    try {
      response = await fetch(request, { cache: 'no-store' });
    } catch (reason) {
      if (request.signal.aborted) throw reason;
      throw new Unreachable();
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }

  /** Sends a body, tells how much of it has gone, which fetch cannot, and returns the answer. */
  async upload(
    method: 'PUT' | 'POST',
    path: string,
    query: Record<string, string>,
    body: Blob,
    onsent: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<string> {
    if (this.closed) throw new Unreachable();
    const request = new XMLHttpRequest();
    request.open(method, `${this.url}${path}?${new URLSearchParams(query).toString()}`);
    for (const [name, value] of this.headers) request.setRequestHeader(name, value);
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.upload.onprogress = ({ loaded }) => onsent(loaded);
    const ended = new Promise<void>((resolve, reject) => {
      request.onload = () => resolve();
      request.onerror = () => reject(new Unreachable());
      request.onabort = () => reject(new DOMException('', 'AbortError'));
    });
    const abort = (): void => request.abort();
    signal.addEventListener('abort', abort);
    try {
      if (signal.aborted) throw new DOMException('', 'AbortError');
      request.send(body);
      await ended;
    } finally {
      signal.removeEventListener('abort', abort);
    }
    if (request.status < 200 || request.status > 299) {
      throw await refusal(new Response(request.responseText, { status: request.status }));
    }
    return request.responseText;
  }

  private get headers(): [string, string][] {
    return [
      ['Authorization', `Bearer ${this.connection.token}`],
      ['X-Forevervm-Client', this.client],
    ];
  }
}

/** What a refused request throws. */
export async function refusal(response: Response): Promise<ApiError> {
  let body: Partial<ErrorBody> = {};
  try {
    body = (await response.json()) as Partial<ErrorBody>;
  } catch {
    // Not the daemon's own answer; the status has to do.
  }
  return new ApiError(
    response.status,
    body.code ?? 'Internal',
    body.message ?? words.errors.unexpected(response.status),
  );
}
