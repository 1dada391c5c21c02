import { sentence } from '$lib/api/errors';
import type { Drop } from '$lib/api/types';

/** Sends a file to its place, calls onsent with the bytes that have gone, and returns the place. */
export type Send = (file: File, onsent: (bytes: number) => void) => Promise<Drop>;

/** The one file that the person gives for a place in a machine. */
export class GivenFile {
  /** The place; null until it is known. */
  place = $state.raw<Drop | null>(null);
  /** The file that is on its way. */
  file = $state.raw<File | null>(null);
  sent = $state(0);
  problem = $state('');

  constructor(private readonly send: Send) {}

  /** Finds the place. Throws nothing. */
  async look(get: () => Promise<Drop>): Promise<void> {
    try {
      this.place = await get();
    } catch (reason) {
      this.problem = sentence(reason);
    }
  }

  /** Sends the file. Throws nothing: after a failure the person may try again. */
  async give(file: File): Promise<void> {
    if (this.file) return;
    [this.file, this.sent, this.problem] = [file, 0, ''];
    try {
      this.place = await this.send(file, (bytes) => (this.sent = bytes));
    } catch (reason) {
      this.problem = sentence(reason);
    } finally {
      this.file = null;
    }
  }
}
