import { expect, it } from 'vitest';
import type { Api } from '$lib/api/api';
import { ApiError } from '$lib/api/errors';
import type { PlaceFacts } from '$lib/api/types';
import { Computers } from './computers.svelte';

const facts: PlaceFacts = {
  system: 'Linux',
  processor: 'amd64',
  folder: '/home/me/.local/share/forevervm-place',
  free_bytes: 200e9,
  size_bytes: 1.1e9,
  installed: false,
};

interface Call {
  readonly what: string;
  readonly signal?: AbortSignal;
}

/** Whose daemon answers a look at once, and the rest as the test says. */
function computers(answer: (call: Call) => Promise<unknown> = () => Promise.resolve(undefined)) {
  const calls: string[] = [];
  const toasts: string[] = [];
  const ask =
    (method: string) =>
    (path: string, { signal, ...init }: { signal?: AbortSignal } = {}) => {
      calls.push(`${method} ${path} ${JSON.stringify(init)}`);
      if (path.endsWith('/look')) return Promise.resolve(facts);
      return answer({ what: method, ...(signal ? { signal } : {}) });
    };
  const api = { post: ask('POST'), delete: ask('DELETE') } as unknown as Api;
  const made = new Computers(() => api, {
    info: (text) => toasts.push(text),
    error: (reason) => toasts.push(`! ${String(reason)}`),
  });
  return { made, calls, toasts };
}

it('looks at what was typed, and sets up what was found', async () => {
  const { made, calls, toasts } = computers();
  made.seen = true;
  made.address = ' me@far ';
  await made.look();
  expect(made.found).toEqual({ address: 'me@far', facts });
  made.address = 'me@other';
  await made.add();
  const body = '{"body":{"kind":"ssh","address":"me@far"}}';
  expect(calls).toEqual([`POST /api/places/look ${body}`, `POST /api/places ${body}`]);
  expect(made.found).toBeNull();
  expect(made.told?.bad).toBe(false);
  expect(made.told?.text).toContain('offers me@far now');
  expect(toasts).toEqual([]);
});

it('goes on when nobody looks any more, and tells elsewhere how it went', async () => {
  const { made, toasts } = computers();
  made.seen = true;
  made.address = 'me@far';
  await made.look();
  const adding = made.add();
  made.leave();
  expect(made.found?.address).toBe('me@far');
  await adding;
  expect(made.told?.bad).toBe(false);
  expect(toasts).toEqual([made.told?.text]);
  made.leave();
  expect(made.told).toBeNull();
});

it('says what the daemon said, and lets the person try again', async () => {
  const said = 'me@far does not let you in without a password.';
  const { made, toasts } = computers(() =>
    Promise.reject(new ApiError(503, 'EngineUnavailable', said)),
  );
  made.address = 'me@far';
  await made.look();
  await made.add();
  expect(made.told).toEqual({ of: 'add', text: said, bad: true });
  expect(toasts).toEqual([`! ${said}`]);
  expect(made.found?.address).toBe('me@far');
  expect(made.doing).toBeNull();
});

it('stops, and says nothing about it', async () => {
  const { made, toasts } = computers(
    ({ signal }) =>
      new Promise((_, reject) => {
        signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      }),
  );
  made.address = 'me@far';
  await made.look();
  const adding = made.add();
  expect(made.doing).toBe('add');
  made.stop();
  await adding;
  expect(made.doing).toBeNull();
  expect(made.told).toBeNull();
  expect(toasts).toEqual([]);
});

it('removes one by the name of its engine', async () => {
  const { made, calls } = computers();
  made.seen = true;
  await made.remove('ssh:me@far');
  expect(calls).toEqual(['DELETE /api/places/{name} {"params":{"path":{"name":"ssh:me@far"}}}']);
  expect(made.told).toEqual({ of: 'remove', text: 'me@far was removed.', bad: false });
});
