import type { Connection } from './connection';
import { ApiError, Unreachable } from './errors';
import type { ErrorBody } from './types';

export interface RequestOptions {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'PUT';
  query?: Record<string, string | number | boolean | undefined>;
  json?: unknown;
  /** In place of JSON: bytes. */
  body?: Blob;
  signal?: AbortSignal;
}

/** The one place where the page speaks HTTP: adds the token and turns failures into ApiError or Unreachable. */
export class Http {
  private closed = false;

  constructor(
    private readonly connection: Connection,
    private readonly client: string,
  ) {}

  /** Where the daemon is, for who writes a program that speaks to it. */
  get address(): string {
    return this.connection.url || location.origin;
  }

  /** From now on nothing is sent any more: nobody knows who would answer. */
  close(): void {
    this.closed = true;
  }

  /** The response, its body unread. An aborted request throws what fetch throws. */
  async send(path: string, options: RequestOptions = {}): Promise<Response> {
    if (this.closed) throw new Unreachable();
    const headers: Record<string, string> = {
      Authorization: `Bearer ${this.connection.token}`,
      'X-Forevervm-Client': this.client,
    };
    const init: RequestInit = { method: options.method ?? 'GET', headers, cache: 'no-store' };
    if (options.json !== undefined) {
      headers['Content-Type'] = 'application/json';
      init.body = JSON.stringify(options.json);
    }
    if (options.body) {
      headers['Content-Type'] = 'application/octet-stream';
      init.body = options.body;
    }
    if (options.signal) init.signal = options.signal;
    let response: Response;
    try {
      response = await fetch(this.connection.url + path + queryString(options.query), init);
    } catch (reason) {
      if (options.signal?.aborted) throw reason;
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
    request.open(method, this.connection.url + path + queryString(query));
    request.setRequestHeader('Authorization', `Bearer ${this.connection.token}`);
    request.setRequestHeader('X-Forevervm-Client', this.client);
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

  async json<T>(path: string, options: RequestOptions = {}): Promise<T> {
    const response = await this.send(path, options);
    return (await response.json()) as T;
  }
}

function queryString(query: RequestOptions['query']): string {
  const parameters = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined) parameters.set(key, String(value));
  }
  const text = parameters.toString();
  return text === '' ? '' : `?${text}`;
}

async function refusal(response: Response): Promise<ApiError> {
  let body: Partial<ErrorBody> = {};
  try {
    body = (await response.json()) as Partial<ErrorBody>;
  } catch {
    // Not the daemon's own answer; the status has to do.
  }
  return new ApiError(
    response.status,
    body.code ?? 'Internal',
    body.message ?? `ForeverVM answered with an unexpected error (${response.status}).`,
  );
}
