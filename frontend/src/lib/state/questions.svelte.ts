import type { Api } from '$lib/api/api';
import type { Contact, Machine } from '$lib/api/types';
import { isHosted } from '$lib/hosted';
import { listContacts } from './contacts.svelte';

/** A machine that waits to hear whether it may reach a host. */
export interface Question {
  /** The machine's name. */
  readonly machine: string;
  readonly contact: Contact;
}

/**
 * What machines ask, oldest first: one question for each machine and host, as one answer is for all
 * that wait for it.
 */
export class Questions {
  private waiting = $state.raw<readonly Question[]>([]);
  readonly list = $derived(
    this.waiting.filter((one, i) => this.waiting.findIndex((other) => sameHost(one, other)) === i),
  );

  /** Those that wait no longer, while lists that may be older are on their way. */
  private over: Set<number> | null = null;

  /** Takes over how a connection stands now. */
  note(machine: string, contact: Contact): void {
    if (contact.state !== 'asking') this.over?.add(contact.id);
    else if (this.over?.has(contact.id)) return;
    const known = this.waiting.some((one) => one.contact.id === contact.id);
    if (contact.state !== 'asking') {
      if (known) this.waiting = this.waiting.filter((one) => one.contact.id !== contact.id);
    } else if (!known) {
      this.waiting = [...this.waiting, { machine, contact }].sort(
        (a, b) => a.contact.id - b.contact.id,
      );
    }
  }

  /** Takes a question away that was answered. */
  answered(question: Question): void {
    this.waiting = this.waiting.filter((one) => !sameHost(one, question));
  }

  /**
   * Finds out what was asked before somebody listened. Throws nothing: what is missed is denied
   * after a while.
   */
  async load(api: Api, machines: readonly Machine[]): Promise<void> {
    this.waiting = [];
    const over = (this.over = new Set<number>());
    const awake = machines.filter((one) => one.state !== 'swapped' && !isHosted(one));
    await Promise.allSettled(
      awake.map(async ({ name }) => {
        const { items } = await listContacts(api, name);
        for (const contact of items) this.note(name, contact);
      }),
    );
    if (this.over === over) this.over = null;
  }
}

function sameHost(a: Question, b: Question): boolean {
  return a.machine === b.machine && a.contact.host === b.contact.host;
}
