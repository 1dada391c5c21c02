import { expect, it } from 'vitest';
import type { Api } from '$lib/api/api';
import type { Contact, Machine, Page } from '$lib/api/types';
import { Contacts } from './contacts.svelte';
import { Questions } from './questions.svelte';

const contact = (id: number, state: Contact['state'], host = 'a.example'): Contact => ({
  id,
  host,
  port: 443,
  state,
  started_at: '',
  sent_bytes: 0,
  received_bytes: 0,
});

interface Asked {
  path: { name: string };
  query: { cursor?: string };
}

/** A daemon that answers what it is asked for connections. */
const answering = (answer: (params: Asked) => Page<Contact>) =>
  ({
    get: async (_: string, { params }: { params: Asked }) => Promise.resolve(params).then(answer),
  }) as unknown as Api;

it('keeps the order, and what was told while a page was on its way', async () => {
  const pages: Record<string, Page<Contact>> = {
    '': { items: [contact(9, 'open'), contact(7, 'closed')], next: '7' },
    '7': { items: [contact(7, 'closed'), contact(3, 'denied')] },
  };
  const contacts = new Contacts({
    api: answering(({ query: { cursor = '' } }) => pages[cursor] ?? { items: [] }),
    name: 'm',
  });
  const shown = () => contacts.list.map(({ id, state }) => `${id} ${state}`).join(', ');
  const loading = contacts.load();
  contacts.note(contact(9, 'closed'));
  contacts.note(contact(10, 'asking'));
  await loading;
  expect(shown()).toBe('10 asking, 9 closed, 7 closed');
  contacts.note(contact(2, 'closed')); // comes with its page
  await contacts.loadEarlier();
  contacts.note(contact(8, 'failed'));
  expect(shown()).toBe('10 asking, 9 closed, 8 failed, 7 closed, 3 denied');
  expect(contacts.next).toBeUndefined();
});

it('asks once for each host of a machine, in the order in which they asked', async () => {
  const questions = new Questions();
  const shown = () => questions.list.map(({ machine, contact: { id } }) => `${machine} ${id}`);
  questions.note('m', contact(5, 'asking'));
  questions.note('m', contact(6, 'asking'));
  questions.note('n', contact(4, 'asking'));
  questions.note('m', contact(5, 'asking'));
  expect(shown()).toEqual(['n 4', 'm 5']);
  questions.note('n', contact(4, 'denied'));
  questions.note('m', contact(5, 'denied'));
  expect(shown()).toEqual(['m 6']);
  questions.answered({ machine: 'm', contact: contact(6, 'asking') });
  expect(shown()).toEqual([]);
  const api = answering(({ path }) => {
    if (path.name === 'gone') throw new Error('gone');
    return { items: [contact(8, 'asking', 'b.example'), contact(1, 'closed')] };
  });
  const machines = ['gone', 'm'].map((name) => ({ name, state: 'running', engine: 'native' }));
  await questions.load(api, machines as unknown as Machine[]);
  expect(shown()).toEqual(['m 8']);
});
