import type { Machine, MachineState } from '$lib/api/types';

/** What people are told of a machine: its state, or that a person paused its code. */
export type ShownState = MachineState | 'paused';

export function shown({ state, paused }: Pick<Machine, 'state' | 'paused'>): ShownState {
  return paused && state === 'swapped' ? 'paused' : state;
}
