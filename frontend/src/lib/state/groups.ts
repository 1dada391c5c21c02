import type { Machine } from '$lib/api/types';
import { author, words } from '$lib/words';

/** Machines that one program uses, or the person. */
export interface Group {
  readonly who: string;
  readonly machines: Machine[];
}

/** Who uses a machine, as people know them. */
export const user = ({ client }: Machine) => (client ? author(client) : words.list.unused);

/**
 * Machines by who uses them, in their order within each group. The person's own come first, those
 * that nobody has used last.
 */
export function byUser(machines: readonly Machine[]): Group[] {
  const groups = new Map<string, Group>();
  const ofClient = new Map<string | undefined, Group>(); // some programs have several names
  for (const machine of machines) {
    let group = ofClient.get(machine.client?.name);
    if (!group) {
      const who = user(machine);
      group = groups.get(who) ?? { who, machines: [] };
      groups.set(who, group);
      ofClient.set(machine.client?.name, group);
    }
    group.machines.push(machine);
  }
  return [...groups.values()].sort((a, b) => place(a) - place(b) || a.who.localeCompare(b.who));
}

const place = ({ who }: Group) => (who === words.you ? 0 : who === words.list.unused ? 2 : 1);
