/** Lines of two texts side by side: what stays, what goes, what comes. */

export interface DiffLine {
  readonly kind: 'same' | 'old' | 'new'
  readonly text: string
  /** Line of the running text, from 1; undefined for a new one. */
  readonly old: number | undefined
  readonly new: number | undefined
}

/** Cells of the table of common lines: beyond it the middle is shown as replaced, so that a page stays quick. */
const MOST_CELLS = 4_000_000

/** The longest common sequence of lines, after what both begin and end with is set aside. */
export function diffOf(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  const same = (): void => void lines.push({ kind: 'same', text: a[i] ?? '', old: ++i, new: ++j })
  const gone = (): void => void lines.push({ kind: 'old', text: a[i] ?? '', old: ++i, new: undefined })
  const come = (): void => void lines.push({ kind: 'new', text: b[j] ?? '', old: undefined, new: ++j })
  while (i < head) same()
  const [endA, endB] = [a.length - tail, b.length - tail]
  const common = (endA - head) * (endB - head) <= MOST_CELLS ? commonLengths(a.slice(head, endA), b.slice(head, endB)) : undefined
  while (common && i < endA && j < endB) {
    if (a[i] === b[j]) same()
    else if (common(i - head + 1, j - head) >= common(i - head, j - head + 1)) gone()
    else come()
  }
  while (i < endA) gone()
  while (j < endB) come()
  while (i < a.length) same()
  return lines
}

/** @returns how many lines the two have in common from these two places on. */
function commonLengths(a: readonly string[], b: readonly string[]): (i: number, j: number) => number {
  const width = b.length + 1
  const table = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => table[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  return at
}

/** Lines that differ with some around each; `null` where lines that are the same are left out. */
export function shortened(lines: readonly DiffLine[], around = 3): (DiffLine | null)[] {
  const near = new Set<number>()
  for (const [at, { kind }] of lines.entries())
    if (kind !== 'same') for (let each = at - around; each <= at + around; each++) near.add(each)
  const shown: (DiffLine | null)[] = []
  for (const [at, line] of lines.entries()) {
    if (near.has(at)) shown.push(line)
    else if (shown.at(-1) !== null) shown.push(null)
  }
  return shown
}
