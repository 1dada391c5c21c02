import { expect, it } from 'vitest';
import type { Machine } from '$lib/api/types';
import { byUser } from './groups';

it('groups machines by who uses them', () => {
  const used = (name: string, client?: string) =>
    ({ name, ...(client === undefined ? {} : { client: { name: client } }) }) as Machine;
  const groups = byUser([
    used('a', 'Cursor'),
    used('b'),
    used('c', 'forevervm-sdk python (jupyter)'),
    used('d', 'browser'),
    used('e', 'Claude Desktop'),
    used('f', 'Cursor'),
    used('g', 'python'),
    used('h', 'window'),
    used('i', 'forevervm CLI'),
  ]);
  expect(
    groups.map(({ who, machines }) => [who, machines.map(({ name }) => name).join('')]),
  ).toEqual([
    ['You', 'dh'],
    ['Claude Desktop', 'e'],
    ['Command line', 'i'],
    ['Cursor', 'af'],
    ['Python program', 'cg'],
    ['Not used from here yet', 'b'],
  ]);
});
