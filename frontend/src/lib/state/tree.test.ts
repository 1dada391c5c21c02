import { expect, it } from 'vitest';
import type { Branch, Checkpoint } from '$lib/api/types';
import { tree } from './tree';

function state(id: string, parent?: string, present = false): Checkpoint {
  const own = {
    id,
    kind: 'auto' as const,
    created_at: '2026-11-01T10:00:00Z',
    last_seq: 1,
    size: 1,
  };
  return { ...own, pause_ms: 1, ...(parent ? { parent } : {}), ...(present ? { present } : {}) };
}

function branch(checkpoint: string): Branch {
  return {
    name: `on ${checkpoint}`,
    named: false,
    checkpoint,
    last_seq: 1,
    steps: 1,
    left_at: '2026-11-01T10:00:00Z',
  };
}

/** Each row as text: column, name, and which lines there are. */
function drawn(checkpoints: Checkpoint[], branches: Branch[] = []): string[] {
  return tree(checkpoints, branches).map(
    ({ checkpoint, lane, up, down, past, parting }) =>
      `${lane} ${checkpoint.id}${up ? ' up' : ''}${down ? ' down' : ''}${past.length > 0 ? ` past ${past.join(',')}` : ''}${parting.length > 0 ? ` parting ${parting.join(',')}` : ''}`,
  );
}

it('draws one line where nobody went back', () => {
  expect(drawn([state('c', 'b', true), state('b', 'a'), state('a')])).toEqual([
    '0 c down',
    '0 b up down',
    '0 a up',
  ]);
});

it('draws what was left beside the line that led to the present', () => {
  const all = [state('d', 'a', true), state('c', 'b'), state('b', 'a'), state('a')];
  expect(drawn(all, [branch('c')])).toEqual([
    '0 d down',
    '1 c down past 0',
    '1 b up down past 0',
    '0 a up parting 1',
  ]);
  expect(tree(all, [branch('c')])[1]?.branch?.name).toBe('on c');
});

it('draws newer states that were left above the present one', () => {
  const all = [state('c', 'b'), state('b', 'a'), state('a', undefined, true)];
  expect(drawn(all, [branch('c')])).toEqual(['1 c down', '1 b up down', '0 a parting 1']);
});

it('uses a column again, and ends a line where older states are gone', () => {
  const all = [state('e', 'c', true), state('d', 'c'), state('c', 'a'), state('b', 'gone')];
  expect(drawn([...all, state('a')], [branch('d'), branch('b')])).toEqual([
    '0 e down',
    '1 d down past 0',
    '0 c up down parting 1',
    '1 b past 0',
    '0 a up',
  ]);
});

it('gives branches that part from one state a column each', () => {
  const all = [state('d', 'a', true), state('c', 'a'), state('b', 'a'), state('a')];
  expect(drawn(all, [branch('b'), branch('c')])).toEqual([
    '0 d down',
    '1 c down past 0',
    '2 b down past 0,1',
    '0 a up parting 1,2',
  ]);
});
