import type { Branch, Checkpoint } from '$lib/api/types';

/** A checkpoint in the tree of a machine's states, newest first. */
export interface Node {
  readonly checkpoint: Checkpoint;
  /** The branch that ends here. */
  readonly branch: Branch | undefined;
  /** Its column; 0 is the line that led to the present state. */
  readonly lane: number;
  /** Whether a line goes on upwards and downwards in its own column. */
  readonly up: boolean;
  readonly down: boolean;
  /** Columns of lines that pass by. */
  readonly past: readonly number[];
  /** Columns of lines that part from it, to newer states. */
  readonly parting: readonly number[];
}

/**
 * Lays out checkpoints, which come newest first, as one tree. A state stands below those that came
 * from it. Where the state that one came from is gone, its line ends.
 */
export function tree(checkpoints: readonly Checkpoint[], branches: readonly Branch[]): Node[] {
  const all = new Map(checkpoints.map((one) => [one.id, one]));
  const tips = new Map(branches.map((branch) => [branch.checkpoint, branch]));
  const main = new Set<string>();
  for (
    let at = checkpoints.find(({ present }) => present);
    at && !main.has(at.id);
    at = all.get(at.parent ?? '')
  ) {
    main.add(at.id);
  }

  /** Where lines go on downwards: by column, the state that they come from. */
  const open = new Map<number, string>();
  return checkpoints.map((checkpoint) => {
    const above = [...open].filter(([, from]) => from === checkpoint.id).map(([column]) => column);
    const lane = main.has(checkpoint.id)
      ? 0
      : above.length > 0
        ? Math.min(...above)
        : freeBeside(open);
    for (const column of above) open.delete(column);
    const past = [...open.keys()];
    const down = all.has(checkpoint.parent ?? '');
    if (down) open.set(lane, checkpoint.parent ?? '');
    return {
      checkpoint,
      branch: tips.get(checkpoint.id),
      lane,
      up: above.includes(lane),
      down,
      past,
      parting: above.filter((column) => column !== lane),
    };
  });
}

function freeBeside(open: ReadonlyMap<number, string>): number {
  let lane = 1;
  while (open.has(lane)) lane += 1;
  return lane;
}
