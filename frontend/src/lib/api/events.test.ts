import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Api } from './api';
import { followEvents } from './events';
import { Http } from './http';

/** A real HTTP server whose answers to /api/events are scripted, connection by connection. */
let server: Server;
let base: string;
let asked: string[];
let script: ((response: ServerResponse) => void)[];

beforeEach(async () => {
  asked = [];
  script = [];
  server = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://x').searchParams.get('after') ?? '-');
    const next = script.shift();
    if (next) next(response);
    else response.writeHead(200).flushHeaders();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Follows until `until` is true of what happened so far. */
async function follow(until: (happened: string[]) => boolean, token = 'a.b'): Promise<string[]> {
  const stop = new AbortController();
  const happened: string[] = [];
  const note = (what: string) => {
    happened.push(what);
    if (until(happened)) stop.abort();
  };
  await followEvents(
    {
      api: () => Promise.resolve(new Api(new Http({ url: base, token }, 'browser'))),
      delay: (ms) => {
        note(`wait ${ms}`);
        return Promise.resolve();
      },
    },
    {
      onEvent: (event) => note(`${event.type} ${event.id ?? ''}`.trim()),
      onState: (state, resumed) => note(state === 'open' ? `open ${resumed}` : state),
      onUnauthorized: () => note('unauthorized'),
    },
    stop.signal,
  );
  return happened;
}

const line = (value: unknown) => `${JSON.stringify(value)}\n`;

describe('followEvents', () => {
  it('reads events that arrive in pieces, and no pings', async () => {
    script.push((response) => {
      response.write(line({ type: 'ping' }) + '{"type":"mach');
      response.write('ine","id":"1"}\n' + line({ type: 'status', id: '2' }));
    });
    const happened = await follow((list) => list.includes('status 2'));
    expect(happened).toEqual(['open false', 'machine 1', 'status 2']);
  });

  it('goes on after the last event when the connection breaks, leaving out half a line', async () => {
    script.push((response) => {
      response.write(line({ type: 'machine', id: '7' }) + '{"type":"machine","id":"8"');
      setImmediate(() => response.destroy());
    });
    script.push((response) => response.write(line({ type: 'machine', id: '8' })));
    const happened = await follow((list) => list.includes('machine 8'));
    expect(happened).toEqual([
      'open false',
      'machine 7',
      'lost',
      'wait 250',
      'open true',
      'machine 8',
    ]);
    expect(asked).toEqual(['-', '7']);
  });

  it('waits longer and longer while nobody answers, and shortly again after success', async () => {
    const refuse = (response: ServerResponse) => response.destroy();
    script.push(refuse, refuse, refuse, refuse, refuse, refuse, (response) => {
      response.write(line({ type: 'machine', id: '1' }));
      setImmediate(() => response.destroy());
    });
    const happened = await follow(
      (list) => list.filter((what) => what.startsWith('wait')).length === 7,
    );
    const waits = happened.filter((what) => what.startsWith('wait')).map((what) => what.slice(5));
    expect(waits).toEqual(['250', '500', '1000', '2000', '4000', '5000', '250']);
  });

  it('ends when the token is refused', async () => {
    script.push((response) =>
      response.writeHead(401).end('{"code":"Unauthorized","message":"no"}'),
    );
    expect(await follow(() => false)).toEqual(['unauthorized']);
  });
});
