/** Two orders line by line: what both have, what was expected and is missing, what is there and was not expected. */

/**
 * @param same true where an expected entry names a found one.
 * @returns lines that begin with two spaces, `- ` or `+ `.
 */
export function orderDiff(
  expected: readonly string[],
  found: readonly string[],
  same: (expected: string, at: number) => boolean,
): string[] {
  const longest = commonLengths(expected, found, same)
  const lines: string[] = []
  let e = 0
  let f = 0
  while (e < expected.length || f < found.length) {
    if (e < expected.length && f < found.length && same(expected[e], f)) {
      lines.push(`  ${found[f++]}`)
      e++
    } else if (f === found.length || (e < expected.length && longest[e + 1][f] >= longest[e][f + 1])) lines.push(`- ${expected[e++]}`)
    else lines.push(`+ ${found[f++]}`)
  }
  return lines
}

/** Length of the longest common order of what follows each pair of places. */
function commonLengths(expected: readonly string[], found: readonly string[], same: (expected: string, at: number) => boolean): number[][] {
  const lengths = Array.from({ length: expected.length + 1 }, () => new Array<number>(found.length + 1).fill(0))
  for (let e = expected.length - 1; e >= 0; e--) {
    for (let f = found.length - 1; f >= 0; f--) {
      lengths[e][f] = same(expected[e], f) ? lengths[e + 1][f + 1] + 1 : Math.max(lengths[e + 1][f], lengths[e][f + 1])
    }
  }
  return lengths
}
