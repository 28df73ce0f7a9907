/** How often each value occurs. */
export function count<T>(values: Iterable<T>): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** Return whether no value occurs more often in `some` than in `all`. */
export function isIncluded<T>(some: ReadonlyMap<T, number>, all: ReadonlyMap<T, number>): boolean {
  for (const [value, occurrences] of some) if (occurrences > (all.get(value) ?? 0)) return false;
  return true;
}
