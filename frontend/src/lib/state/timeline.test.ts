import { expect, it } from 'vitest';
import type { Api } from '$lib/api/api';
import { ApiError, Unreachable } from '$lib/api/errors';
import type { Instruction } from '$lib/api/types';
import { Timeline } from './timeline.svelte';

/** A timeline whose daemon fails with this until it is taken away. */
function failing(reason: Error) {
  const failures = [reason];
  const instruction = { seq: 0, status: 'ok', items: 0 } as Instruction;
  const api = {
    get: (path: string) =>
      failures[0]
        ? Promise.reject(failures[0])
        : Promise.resolve({ items: path.endsWith('/instructions') ? [instruction] : [] }),
  } as unknown as Api;
  return { timeline: new Timeline({ api, name: 'm' }), failures };
}

it('says that a machine is gone only when the daemon says so', async () => {
  for (const [reason, state] of [
    [new ApiError(404, 'NotFound', 'There is no such machine.'), 'gone'],
    [new ApiError(500, 'Internal', 'The disk is full.'), 'failed'],
    [new Unreachable(), 'failed'],
  ] as const) {
    const { timeline } = failing(reason);
    await timeline.load();
    expect(timeline.state).toBe(state);
  }
});

it('loads again after a failure, asked or on its own', async () => {
  for (const again of ['load', 'retry'] as const) {
    const { timeline, failures } = failing(new Unreachable());
    await timeline.load();
    await timeline[again]();
    expect(timeline.state).toBe('failed');
    failures.pop();
    await timeline[again]();
    expect(timeline.state).toBe('ready');
    expect(timeline.entries).toHaveLength(1);
  }
});

it('takes no answer for news that events have overtaken', async () => {
  const step = (status: Instruction['status']) => ({ seq: 7, status, items: 0 }) as Instruction;
  for (const loaded of [true, false]) {
    const { timeline, failures } = failing(new Unreachable());
    failures.pop();
    if (loaded) await timeline.load();
    timeline.onInstruction(step('running'));
    timeline.onQueued(step('queued'));
    if (!loaded) await timeline.load();
    expect(timeline.running).toBe(7);
    timeline.onInstruction(step('queued')); // after a crash it waits for its turn again
    expect(timeline.running).toBeUndefined();
  }
});

it('goes back to the last saved state where quick steps in a row share one', async () => {
  // Newest first, as they come.
  const items = {
    instructions: [3, 2, 1, 0].map((seq) => ({ seq, status: 'ok', items: 0 })),
    checkpoints: [
      { id: 'cp-2', last_seq: 2 },
      { id: 'cp-0', last_seq: 0 },
    ],
  };
  const api = {
    get: (path: string) =>
      Promise.resolve({
        items: path.endsWith('/instructions')
          ? items.instructions
          : path.endsWith('/checkpoints')
            ? items.checkpoints
            : [],
      }),
  } as unknown as Api;
  const timeline = new Timeline({ api, name: 'm' });
  await timeline.load();
  const before = (seq: number) => {
    const found = timeline.saved.before.get(seq);
    return found && [found.checkpoint.id, found.exact];
  };
  expect([0, 1, 2, 3].map(before)).toEqual([
    undefined,
    ['cp-0', true],
    ['cp-0', false],
    ['cp-2', true],
  ]);
});
