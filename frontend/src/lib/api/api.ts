import createClient, { type FetchOptions, type FetchResponse, type ParseAs } from 'openapi-fetch';
import type {
  FilterKeys,
  HttpMethod,
  MediaType,
  PathsWithMethod,
  RequiredKeysOf,
} from 'openapi-typescript-helpers';
import { words } from '$lib/words';
import { Http } from './http';
import type { paths } from './schema';
import { isDone, type Instruction, type Machine, type Parcel, type Representation } from './types';

/** How much of a machine's file says what is in it, in bytes. */
const PARCEL_HEAD = 128 << 10;

/**
 * The daemon's operations by their paths in backend/api/openapi.yaml, with the types of schema.ts.
 * Each resolves to what the daemon answers, and throws ApiError or Unreachable; an aborted one
 * throws what fetch throws.
 */
export class Api {
  readonly get: Call<'get'>;
  readonly post: Call<'post'>;
  readonly put: Call<'put'>;
  readonly patch: Call<'patch'>;
  readonly delete: Call<'delete'>;

  constructor(readonly http: Http) {
    const client = createClient<paths>({
      baseUrl: http.url,
      fetch: (request) => http.fetch(request),
    });
    // http.fetch throws where the daemon refuses: an answer always has data.
    const call = <M extends HttpMethod>(method: M) =>
      (async (path: never, ...init: never[]) =>
        (await client.request(method, path, ...init)).data) as unknown as Call<M>;
    this.get = call('get');
    this.post = call('post');
    this.put = call('put');
    this.patch = call('patch');
    this.delete = call('delete');
  }

  /** Every machine, or everything in the bin, over as many pages as there are. */
  async listMachines(deleted = false): Promise<Machine[]> {
    const all: Machine[] = [];
    let cursor: string | undefined;
    do {
      const query = given({ limit: 1000, cursor, deleted: deleted || undefined });
      const page = await this.get('/api/machines', { params: { query } });
      all.push(...page.items);
      cursor = page.next;
    } while (cursor);
    return all;
  }

  /** The instruction once it is over. */
  async ended(name: string, seq: number, wait: number): Promise<Instruction> {
    for (;;) {
      const now = await this.get('/api/machines/{name}/instructions/{seq}', {
        params: { path: { name, seq }, query: { wait } },
      });
      if (isDone(now)) return now;
    }
  }

  /**
   * A representation's bytes as a blob. The href is the daemon's own path and is used as nothing
   * else.
   */
  async data({ href, mime }: Representation, signal: AbortSignal): Promise<Blob> {
    if (!href.startsWith('/api/')) throw new Error(words.errors.noAddress);
    const response = await this.http.fetch(new Request(this.http.url + href, { signal }));
    return new Blob([await response.arrayBuffer()], { type: mime });
  }

  /** Sends a file; `onsent` is told how many bytes have gone. */
  writeFile(
    name: string,
    path: string,
    file: Blob,
    onsent: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<string> {
    const to = `/api/machines/${encodeURIComponent(name)}/files/content`;
    return this.http.upload('PUT', to, { path }, file, onsent, signal);
  }

  /** What a machine's file holds, and what is to be said about it here. */
  lookIntoParcel(file: Blob, signal: AbortSignal): Promise<Parcel> {
    return this.post('/api/unpack/look', {
      body: file.slice(0, PARCEL_HEAD) as never, // bytes, which the schema calls a string
      bodySerializer: (bytes) => bytes,
      headers: { 'Content-Type': 'application/octet-stream' },
      signal,
    });
  }

  /**
   * Makes a machine of a file. `trust` names a maker who is not known, `maker` is what the person
   * calls them.
   */
  async unpack(
    file: Blob,
    query: { trust?: string; maker?: string },
    onsent: (bytes: number) => void,
    signal: AbortSignal,
  ): Promise<Machine> {
    const answer = await this.http.upload('POST', '/api/unpack', query, file, onsent, signal);
    return JSON.parse(answer) as Machine;
  }
}

/** What a call about a machine begins with. */
export const of = (name: string) => ({ params: { path: { name } } });

/** Without what is undefined, which no query has. */
export function given<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as never;
}

/** A method of openapi-fetch's client that throws errors, in place of answering with them. */
type Call<M extends HttpMethod> = <
  P extends PathsWithMethod<paths, M>,
  As extends ParseAs = 'json',
>(
  path: P,
  ...init: Options<FetchOptions<FilterKeys<paths[P], M>> & { parseAs?: As }>
) => Promise<Data<FetchResponse<paths[P][M] & object, { parseAs: As }, MediaType>>>;

type Options<I> = RequiredKeysOf<I> extends never ? [I?] : [I];
type Data<R> = R extends { error?: never; data: infer D } ? D : never;
