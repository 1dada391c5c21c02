import { SvelteMap } from 'svelte/reactivity';

/** A picture of a figure as it was drawn last. */
export interface Still {
  /** For an <img>, and for no other place: the picture is a machine's. */
  readonly address: string;
  /** Of the frame it was drawn in, in pixels. */
  readonly height: number;
}

const MOST = 40;
const MAX_BYTES = 2 << 20;
const MAX_SIDE = 4096;

/**
 * The stills of the figures that were drawn last, by the addresses of their data. A figure shows its
 * still until it is drawn again. The filmstrip shows it, too.
 */
const all = new SvelteMap<string, Still>();

export function stillOf(figure: string): Still | undefined {
  return all.get(figure);
}

/** Keeps a PNG as a figure's still, unless it is too large to be drawn many times. */
export async function keepStill(figure: string, picture: Blob, height: number): Promise<void> {
  if (picture.size > MAX_BYTES) return;
  const header = new DataView(await picture.slice(0, 24).arrayBuffer());
  if (header.byteLength < 24) return;
  if (Math.max(header.getUint32(16), header.getUint32(20)) > MAX_SIDE) return;
  forget(figure);
  all.set(figure, { address: URL.createObjectURL(picture), height });
  const [oldest] = all.keys();
  if (all.size > MOST && oldest !== undefined) forget(oldest);
}

function forget(figure: string): void {
  const old = all.get(figure);
  if (!old) return;
  URL.revokeObjectURL(old.address);
  all.delete(figure);
}
