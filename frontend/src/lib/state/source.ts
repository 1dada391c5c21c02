import type { Api } from '$lib/api/api';
import type { Machine } from '$lib/api/types';

/** What is asked for, and where: both may change while it is shown. */
export interface Source {
  readonly api: Api;
  /** The machine's name. */
  readonly name: string;
}

/** A machine as a source: of the connection that there is now, under the name that it has now. */
export class MachineSource implements Source {
  constructor(
    private readonly connected: () => Api,
    private readonly machine: () => Machine,
  ) {}

  get api(): Api {
    return this.connected();
  }

  get name(): string {
    return this.machine().name;
  }
}
