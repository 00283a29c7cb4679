/** The detector of prompt injection: plain, spaced, scrambled and coded orders, with phrases that are let be. */
import { type Detector, Matches } from '../detector.ts'
import { lowered } from '../phrases.ts'
import { type CompiledFamily, families, isQuoted, MARK_NEEDLES, MARKS, ORDER_SHAPES } from './families.ts'
import { coded, HIDDEN_SHAPES, type Hidden, scrambled, spaced } from './hidden.ts'
import { SCRIPTS } from './languages.ts'
import { survey } from './word-survey.ts'

/** Texts within texts that are unwrapped. */
const DEEPEST = 2
/** Stands in place of an allowed phrase: no word, no gap. */
const MASK = '<'

/** @param allowed phrases that are no injection, whatever is in them; case does not count. Scrambled and coded orders count still. */
export function injectionDetector(allowed: readonly string[] = []): Detector {
  const masks = allowed.length > 0 ? new RegExp(allowed.map(escaped).join('|'), 'gi') : undefined
  return {
    // An order inside an allowed phrase waits for the phrase.
    shapes: [...ORDER_SHAPES, ...HIDDEN_SHAPES, ...allowed.map((phrase) => `(?i)${escaped(phrase)}`)],
    find(text, from) {
      const matches = new Matches()
      const low = lowered(text)
      const { seen, ...odd } = survey(low)
      plain(masks ? text.replace(masks, (phrase) => MASK.repeat(phrase.length)) : text, seen, matches)
      if (odd.scrambled) for (const { start, end } of scrambled(low)) matches.add(start, end)
      if (odd.spaced) for (const hidden of spaced(text)) add(hidden, plainText(hidden), matches)
      unwrap(text, matches, 0)
      return from === 0 ? matches.list : matches.list.filter(({ start }) => start >= from)
    },
  }
}

function plain(text: string, seen: Uint8Array, matches: Matches): void {
  for (const { words, spoken } of families) {
    if (!holds(seen, words)) continue
    for (const { 0: order, index } of text.matchAll(spoken)) {
      const end = index + order.length
      if (!isQuoted(text, index, end)) matches.add(index, end)
    }
  }
  for (const { needles, form } of SCRIPTS) {
    if (!needles.some((needle) => text.includes(needle))) continue
    for (const hit of text.matchAll(form)) matches.add(hit.index, hit.index + hit[0].length)
  }
  if (!MARK_NEEDLES.some((needle) => text.includes(needle))) return
  for (const mark of MARKS) for (const hit of text.matchAll(mark)) matches.add(hit.index, hit.index + hit[0].trimEnd().length)
}

function holds(seen: Uint8Array, words: CompiledFamily['words']): boolean {
  return words.every((list) => list.some((number) => seen[number] === 1))
}

/** The first order in a hidden text. */
function plainText({ text, tight }: Hidden): string | undefined {
  const low = lowered(text)
  const { seen } = survey(low)
  for (const family of families) {
    const form = tight ? family.tight : family.spoken
    if (!tight && !holds(seen, family.words)) continue
    form.lastIndex = 0
    const hit = form.exec(text)
    form.lastIndex = 0
    if (hit) return hit[0]
  }
  if (tight) return undefined
  for (const mark of MARKS) {
    mark.lastIndex = 0
    const hit = mark.exec(text)
    mark.lastIndex = 0
    if (hit) return hit[0]
  }
  return scrambled(low).length > 0 ? text.slice(0, 100) : undefined
}

function unwrap(text: string, matches: Matches, depth: number): boolean {
  let found = false
  for (const hidden of coded(text)) {
    const order = plainText(hidden) ?? within(hidden, depth)
    if (order === undefined) continue
    found = true
    matches.add(hidden.start, hidden.end, order)
  }
  return found
}

/** An order that is coded once more, or spaced inside the code. */
function within({ text }: Hidden, depth: number): string | undefined {
  for (const hidden of spaced(text)) {
    const order = plainText(hidden)
    if (order !== undefined) return order
  }
  if (depth + 1 >= DEEPEST) return undefined
  const inner = new Matches()
  return unwrap(text, inner, depth + 1) ? inner.list[0]?.shown : undefined
}

function add(hidden: Hidden, order: string | undefined, matches: Matches): void {
  if (order !== undefined) matches.add(hidden.start, hidden.end)
}

function escaped(phrase: string): string {
  return phrase.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
