/** Why a call of the daemon failed. */
import { explained, words } from '$lib/words';

/** A request that the daemon refused; `message` is a sentence for the person. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    /** The daemon's own words, which are English. */
    readonly said: string,
  ) {
    super(explained(code, said));
    this.name = 'ApiError';
  }
}

/** Whether a machine could not answer a question in the time that it has for one. */
export function isBusy(reason: unknown): boolean {
  return reason instanceof ApiError && reason.code === 'Busy';
}

/** The daemon did not answer at all. */
export class Unreachable extends Error {
  constructor() {
    super(words.errors.unreachable);
    this.name = 'Unreachable';
  }
}

/** The code of what went wrong, if it has one. */
export function codeOf(reason: unknown): string | undefined {
  if (reason instanceof ApiError) return reason.code;
  return reason instanceof Unreachable ? reason.name : undefined;
}

/** What went wrong, for the person. */
export function sentence(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason);
}
