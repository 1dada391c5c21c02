/** Two lists in ascending order of `seq` as one; where both have a number, the second's wins. */
export function mergeBySeq<T extends { readonly seq: number }>(
  first: readonly T[],
  second: readonly T[],
): T[] {
  const merged: T[] = [];
  let i = 0;
  for (const next of second) {
    for (let known = first[i]; known && known.seq < next.seq; known = first[i]) {
      merged.push(known);
      i += 1;
    }
    if (first[i]?.seq === next.seq) i += 1;
    merged.push(next);
  }
  return merged.concat(first.slice(i));
}
