/** Difference between two texts, line by line, with equal lines folded (E. W. Myers, "An O(ND) Difference Algorithm", 1986). */
import type { WrittenLine } from './written-lines.ts'

export interface DifferenceLine {
  readonly kind: 'same' | 'removed' | 'added' | 'folded'
  /** Lines of the two files, from 1; null where it is not in that file. */
  readonly was: number | null
  readonly now: number | null
  /** Of a folded part empty. */
  readonly text: string
  /** Lines that it stands for. */
  readonly count: number
}

export interface LineDifference {
  readonly added: number
  readonly removed: number
  readonly lines: DifferenceLine[]
  /** Lines beyond those. */
  readonly left_out: number
}

/** Lines of one part that are shown around a change. */
const CONTEXT = 3
/** Beyond so many changes in one stretch the rest of it counts as new: finding the fewest takes their square. */
const MAX_STEPS = 1000
const MAX_LINES = 2000

export function lineDifference(was: readonly WrittenLine[], now: readonly WrittenLine[]): LineDifference {
  const all = withContext(pairs(was, now))
  const shown = all.slice(0, MAX_LINES)
  const count = (kind: DifferenceLine['kind']): number => all.filter((each) => each.kind === kind).length
  return { added: count('added'), removed: count('removed'), lines: shown, left_out: all.length - shown.length }
}

function pairs(was: readonly WrittenLine[], now: readonly WrittenLine[]): DifferenceLine[] {
  let start = 0
  while (start < was.length && start < now.length && was[start]?.text === now[start]?.text) start++
  let end = 0
  while (end < was.length - start && end < now.length - start && was.at(-1 - end)?.text === now.at(-1 - end)?.text) end++
  const same = (from: number, to: number, shift: number): DifferenceLine[] =>
    was.slice(from, to).map(({ line, text }, i) => ({ kind: 'same', was: line, now: now[from + i + shift]?.line ?? null, text, count: 1 }))
  return [
    ...same(0, start, 0),
    ...between(was.slice(start, was.length - end), now.slice(start, now.length - end)),
    ...same(was.length - end, was.length, now.length - was.length),
  ]
}

function between(was: readonly WrittenLine[], now: readonly WrittenLine[]): DifferenceLine[] {
  const lines: DifferenceLine[] = []
  let x = 0
  let y = 0
  const step = (): void => {
    const [before, after] = [was[x], now[y]]
    if (before && after) lines.push({ kind: 'same', was: before.line, now: after.line, text: before.text, count: 1 })
    x++
    y++
  }
  const rest = (toX: number, toY: number): void => {
    for (const { line, text } of was.slice(x, toX)) lines.push({ kind: 'removed', was: line, now: null, text, count: 1 })
    for (const { line, text } of now.slice(y, toY)) lines.push({ kind: 'added', was: null, now: line, text, count: 1 })
    x = toX
    y = toY
  }
  for (const [toX, toY] of commonPlaces(was, now)) {
    rest(toX, toY)
    step()
  }
  rest(was.length, now.length)
  return lines
}

/** Places of lines that both have, in order: a longest common order, unless the texts differ in too much. */
function commonPlaces(was: readonly WrittenLine[], now: readonly WrittenLine[]): [x: number, y: number][] {
  const [n, m] = [was.length, now.length]
  const most = Math.min(n + m, MAX_STEPS)
  const reach = new Int32Array(2 * most + 3)
  const at = (k: number): number => reach[k + most + 1] ?? 0
  const trace: Int32Array[] = []
  for (let d = 0; d <= most; d++) {
    trace.push(reach.slice())
    for (let k = -d; k <= d; k += 2) {
      let x = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1
      while (x < n && x - k < m && was[x]?.text === now[x - k]?.text) x++
      reach[k + most + 1] = x
      if (x >= n && x - k >= m) return walkedBack(trace, { x: n, y: m, most })
    }
  }
  return []
}

function walkedBack(trace: readonly Int32Array[], { x: n, y: m, most }: { x: number; y: number; most: number }): [number, number][] {
  const places: [number, number][] = []
  let [x, y] = [n, m]
  for (const [d, reach] of [...trace.entries()].reverse()) {
    const at = (k: number): number => reach[k + most + 1] ?? 0
    const k = x - y
    const before = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1
    const fromX = d === 0 ? 0 : at(before)
    const fromY = d === 0 ? 0 : fromX - before
    while (x > fromX && y > fromY) places.push([--x, --y])
    x = fromX
    y = fromY
  }
  return places.reverse()
}

function withContext(lines: readonly DifferenceLine[]): DifferenceLine[] {
  const isNear = new Uint8Array(lines.length)
  for (const [i, { kind }] of lines.entries()) if (kind !== 'same') isNear.fill(1, Math.max(0, i - CONTEXT), i + CONTEXT + 1)
  const shown: DifferenceLine[] = []
  for (let i = 0; i < lines.length; ) {
    let end = i
    while (end < lines.length && isNear[end] === 0) end++
    if (end > i) shown.push({ kind: 'folded', was: lines[i]?.was ?? null, now: lines[i]?.now ?? null, text: '', count: end - i })
    for (; end < lines.length && isNear[end] === 1; end++) {
      const line = lines[end]
      if (line) shown.push(line)
    }
    i = end
  }
  return shown
}
