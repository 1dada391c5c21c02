import type { Status } from '$lib/api/types';

/** Something that a person may have to know, and what to do about it; empty where nothing is. */
export interface Notice {
  readonly what: string;
  readonly remedy: string;
}

/** What the daemon says of its engines and of the computer. */
export function noticesOf(status: Status | null) {
  const engines = status?.engines ?? [];
  const engine = engines.find((one) => one.default);
  const usable = engine !== undefined && !engine.problems?.length;
  const plain = (what: string): Notice => ({ what, remedy: '' });
  const concerns: Notice[] = [
    // What is being set up is no concern yet.
    ...(usable || engines.some(({ busy }) => busy)
      ? []
      : engines.flatMap(({ problems = [] }) =>
          problems.map(({ what, do: remedy }) => ({ what, remedy })),
        )),
    ...(status?.warnings ?? []).map(plain),
  ];
  // What an engine does without is no concern, but may be known.
  const notes = engines.flatMap(({ notes: all = [] }) => all.map(plain));
  return { engine, usable, concerns, notes };
}
