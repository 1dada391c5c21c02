import type { Machine } from './api/types';

/**
 * Whether a machine is the hosted service's, which has no call for much of what is done with those
 * of this computer.
 */
export function isHosted(machine: Machine): boolean {
  return machine.engine === HOSTED;
}

/** The engine of such machines. */
export const HOSTED = 'hosted';
