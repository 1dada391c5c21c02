import { codeOf, sentence } from '$lib/api/errors';
import { placeOf, type Place } from '$lib/help/places';

export interface Toast {
  readonly id: number;
  readonly kind: 'info' | 'error';
  readonly text: string;
  readonly action?: { readonly label: string; run(): void };
  /** Where the documents say more. */
  readonly place?: Place;
}

const SHOWN_MS = 8_000;

/** Short messages at the bottom. Errors stay until they are dismissed. */
export class Toasts {
  list = $state.raw<readonly Toast[]>([]);
  /** How much of the page below them they are not to cover, in pixels. */
  above = $state(0);
  private nextId = 0;

  info(text: string, action?: Toast['action']): void {
    const id = this.push({ kind: 'info', text, ...(action ? { action } : {}) });
    setTimeout(() => this.dismiss(id), SHOWN_MS);
  }

  error(reason: unknown): void {
    const text = sentence(reason);
    if (this.list.some((toast) => toast.text === text)) return;
    const place = placeOf(codeOf(reason));
    this.push({ kind: 'error', text, ...(place ? { place } : {}) });
  }

  dismiss(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }

  private push(toast: Omit<Toast, 'id'>): number {
    const id = this.nextId;
    this.nextId += 1;
    this.list = [...this.list.slice(-3), { ...toast, id }];
    return id;
  }
}
