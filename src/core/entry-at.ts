/**
 * The entry at a place that the code around it has found in the same list.
 * @throws RangeError where there is none: a defect shows at its place, instead of as `undefined` further on.
 */
export function entryAt<T>(list: ArrayLike<T>, at: number): T {
  const entry = list[at]
  if (entry === undefined) throw new RangeError(`no entry ${at} among ${list.length}`)
  return entry
}
