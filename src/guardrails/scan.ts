/** Reads the passages of a request once for all rules that hold for it, in steps between which others may have their turn. */
import { entryAt } from '../core/entry-at.ts'
import { parseJson } from '../core/json.ts'
import { MatchScreen } from '../machines/linear-regex/match-screen.ts'
import { type Detector, type Match, NO_MATCHES } from './detector.ts'
import { Findings, type Group, type Hit } from './findings.ts'
import { type Folded, folded } from './fold.ts'
import { jsonTexts, withTexts } from './json-texts.ts'
import { redacted, redactedInSteps, type Span, spanPlaceholder } from './redaction.ts'
import type { Rule } from './rule.ts'
import type { Vault } from './vault.ts'
import { textWindows, type WindowSize } from './windows.ts'

/** Parts of one message as one text, and the way back to the parts. */
export class JointText {
  readonly text: string
  /** By part: where it ends in the text. */
  private readonly ends: number[] = []

  constructor(parts: readonly string[]) {
    this.text = parts.join('')
    let end = 0
    for (const part of parts) {
      end += part.length
      this.ends.push(end)
    }
  }

  /** True where a border of two parts lies within. */
  crosses(start: number, end: number): boolean {
    return entryAt(this.ends, this.partAt(start)) < end
  }

  /** A match over borders: the placeholder stands in the first part, the rest is taken out of the others. */
  spread(span: Span, into: Span[][]): void {
    const { start, end } = span
    let placeholder = spanPlaceholder(span, this.text.slice(start, end))
    for (let part = this.partAt(start), from = start; from < end; part++) {
      const base = part === 0 ? 0 : entryAt(this.ends, part - 1)
      const to = Math.min(end, entryAt(this.ends, part))
      if (from === to) continue
      entryAt(into, part).push({ start: from - base, end: to - base, placeholder })
      placeholder = ''
      from = to
    }
  }

  /** The part that the character is in. */
  private partAt(place: number): number {
    const { ends } = this
    let from = 0
    let to = ends.length - 1
    while (from < to) {
      const middle = (from + to) >> 1
      const until = ends[middle]
      if (until !== undefined && until > place) to = middle
      else from = middle + 1
    }
    return from
  }
}

const WINDOW: WindowSize = { size: 16_384, ahead: 4_096 }
/** Matches that are noted in one step. */
const MATCHES_AT_ONCE = 1_024
const NO_SPANS: readonly Span[] = []
const DIGIT = /[0-9]/

/** Rules by what they look for. */
export function ruleGroups(rules: readonly Rule[]): Group[] {
  const byDetector = new Map<Detector, Rule[]>()
  for (const rule of rules) byDetector.set(rule.detector, [...(byDetector.get(rule.detector) ?? []), rule])
  return [...byDetector].map(([detector, each]) => ({ detector, rules: each, userOnly: each.every(({ userOnly }) => userOnly) }))
}

/** Texts that belong together: a provider may join the parts of a message, so a text cut in two is still one. */
export interface Passage {
  readonly texts: readonly string[]
  /** The user's own words, not those of instructions, tools or the model. */
  readonly user: boolean
  /** Each text is JSON, in which escapes could hide a match. */
  readonly json?: true
  /** The texts have nothing to do with one another: many small ones, which are looked at together first. */
  readonly apart?: true
}

export class TextPolicy {
  readonly groups: readonly Group[]
  readonly matchScreen: MatchScreen

  constructor(rules: readonly Rule[]) {
    this.groups = ruleGroups(rules)
    this.matchScreen = new MatchScreen(this.groups.flatMap(({ detector }) => detector.shapes))
  }
}

export class Scan {
  private readonly findings: Findings
  /** The replacements of texts that must not be sent unchanged. */
  readonly replaced = new Map<string, string>()
  private readonly groups: readonly Group[]
  private readonly matchScreen: MatchScreen

  /** @param vault keeps the values that are restored later. */
  constructor(policy: TextPolicy, vault?: Vault) {
    this.findings = new Findings(vault)
    this.groups = policy.groups
    this.matchScreen = policy.matchScreen
  }

  /** By rule, in the order in which they first matched. */
  get hits(): ReadonlyMap<Rule, Hit> {
    return this.findings.hits
  }

  get blocked(): boolean {
    return this.findings.blocked
  }

  /** Each step takes at most a few milliseconds. */
  *read(all: Iterable<Passage>): Generator<void, void> {
    for (const passage of all) {
      const { texts, user } = passage
      if (passage.json) for (const text of texts) yield* this.json(text, user)
      else if (passage.apart) yield* this.apart(texts, user)
      else if (texts.length === 1 && texts[0] !== undefined) yield* this.single(texts[0], user)
      else yield* this.joined(texts, user)
      if (this.findings.enough) return
    }
  }

  private *single(text: string, user: boolean): Generator<void, void> {
    // Asking a map for a text reads all of it.
    if (text === '' || (this.replaced.size > 0 && this.replaced.has(text))) return
    const spans = yield* this.spans(text, { groups: this.groups, user })
    if (spans.length > 0) this.replaced.set(text, yield* redactedInSteps(text, spans))
  }

  /** Parts by themselves, and what lies across their borders. */
  private *joined(texts: readonly string[], user: boolean): Generator<void, void> {
    const each: Span[][] = []
    for (const text of texts) each.push([...(yield* this.spans(text, { groups: this.groups, user }))])
    const joint = new JointText(texts)
    const crosses = (start: number, end: number): boolean => joint.crosses(start, end)
    const across = yield* this.spans(joint.text, { groups: this.groups, user, only: crosses })
    for (const span of across) joint.spread(span, each)
    for (const [i, text] of texts.entries()) {
      const spans = each[i]
      if (spans && spans.length > 0) this.replaced.set(text, redacted(text, spans))
    }
  }

  /** One look over all of them; only where it finds something are they read one by one. */
  private *apart(texts: readonly string[], user: boolean): Generator<void, void> {
    if (texts.length > 2 && !this.look(texts.join('\n'))) return
    for (const text of texts) {
      const spans = yield* this.spans(text, { groups: this.groups, user })
      if (spans.length > 0) this.replaced.set(text, redacted(text, spans))
    }
  }

  /** @returns undefined where surely nothing is in the text; else how it is folded, if it is. */
  private look(text: string): { fold: Folded | undefined } | undefined {
    const { matchScreen } = this
    const held = matchScreen.mayHold(text)
    if (!held && matchScreen.plain) return undefined
    const fold = folded(text)
    return held || (fold !== undefined && matchScreen.mayHold(fold.text)) ? { fold } : undefined
  }

  /** Arguments of tools: as they are, and without escapes. A rewritten text has no name twice. */
  private *json(source: string, user: boolean): Generator<void, void> {
    if (this.replaced.size > 0 && this.replaced.has(source)) return
    const search = { groups: this.groups, user }
    let spans = yield* this.spans(source, search)
    const bare = source.includes('\\') ? yield* unescaped(source) : source
    const more = bare === source ? NO_SPANS : yield* this.spans(bare, search)
    if (spans.length === 0 && more.length === 0) return
    const value = parseJson(source)
    if (value === undefined) {
      this.replaced.set(source, more.length > 0 ? redacted(bare, more) : redacted(source, spans))
      return
    }
    for (const text of jsonTexts(value)) yield* this.single(text, user)
    let text = JSON.stringify(withTexts(value, (each) => this.replaced.get(each)))
    // The remaining matches are in field names or are numbers.
    spans = yield* this.spans(text, search)
    const plain = redacted(text, spans)
    text = parseJson(plain) === undefined ? redacted(text, spans, '"') : plain
    this.replaced.set(source, text)
  }

  private *spans(text: string, search: Search): Generator<void, readonly Span[]> {
    let spans: Span[] | undefined
    for (const { text: view, base, from, to } of textWindows(text, WINDOW)) {
      const last = base + view.length === text.length
      const seen = this.look(view)
      if (!seen) {
        yield
        continue
      }
      const { fold } = seen
      const digits = DIGIT.test(fold ? fold.text : view)
      for (const group of search.groups) {
        const { detector } = group
        if ((group.userOnly && !search.user) || (detector.digits && !digits)) continue
        const own = !fold || detector.verbatim ? yield* this.matches(detector, view, { from: from - base, last }) : NO_MATCHES
        const hidden = fold ? unfoldMatches(yield* this.matches(detector, fold.text, { from: 0, last }), fold) : NO_MATCHES
        const found = hidden.length === 0 ? own : distinct([...own, ...hidden])
        for (let i = 0; i < found.length; i++) {
          if (i % MATCHES_AT_ONCE === MATCHES_AT_ONCE - 1) yield
          const match = found[i]
          if (match === undefined) break
          const start = match.start + base
          const end = match.end + base
          if (start < from || start >= to || search.only?.(start, end) === false) continue
          const hiding = this.findings.note(group, match.shown ?? text.slice(start, end), search.user)
          if (hiding === undefined) continue
          spans ??= []
          spans.push({ start, end, ...hiding })
        }
        if (found.length > 0) yield
      }
      yield
    }
    return spans ?? NO_SPANS
  }

  /** @param from nothing is looked for before it. @param last true where the text ends as the whole one does. */
  private *matches(detector: Detector, text: string, { from, last }: { from: number; last: boolean }): Generator<void, readonly Match[]> {
    if (detector.may && !detector.may(text)) return NO_MATCHES
    if (!detector.sliced) return distinct(detector.find(text, from))
    const found = yield* detector.sliced(text, from)
    yield
    return detector.ends && !last ? found.filter(({ end }) => end < text.length) : found
  }
}

interface Search {
  readonly groups: readonly Group[]
  readonly user: boolean
  readonly only?: (start: number, end: number) => boolean
}

/** In order, without those that lie inside another. */
export function distinct(matches: readonly Match[]): readonly Match[] {
  if (matches.length < 2) return matches
  const sorted = [...matches].sort((a, b) => a.start - b.start || b.end - a.end)
  let end = -1
  return sorted.filter((match) => {
    if (match.end <= end) return false
    end = match.end
    return true
  })
}

/** Matches of a folded text, in units of the original: what is invisible at their end goes with them. */
export function unfoldMatches(matches: readonly Match[], { at }: Folded): readonly Match[] {
  return matches.map(({ start, end, shown }) => {
    let last = end
    while (last < at.length - 1 && at[last] === at[last - 1]) last++
    return { start: entryAt(at, start), end: entryAt(at, last), shown }
  })
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '"': '"', '\\': '\\', '/': '/' }
const BACKSLASH = 0x5c
const CODE = /^[0-9a-fA-F]{4}$/
/** Units that are read in one step, which takes about a millisecond where all of them are escapes. */
const SLICE = 16_384

/**
 * JSON texts with their escapes read (RFC 8259, 7).
 * Reads the escapes of a JSON text, whether or not it is whole: a repeated name loses no value. In steps of about a millisecond.
 */
export function* unescaped(source: string): Generator<void, string> {
  const pieces: string[] = []
  for (let at = 0; at < source.length; ) {
    const end = Math.min(source.length, at + SLICE)
    // A text made by adding would be copied together only at the end, and all at once.
    const parts: string[] = []
    /** Rest that has not been taken over. */
    let from = at
    while (at < end) {
      if (source.charCodeAt(at) !== BACKSLASH) {
        at++
        continue
      }
      const code = source[at + 1] === 'u' ? source.slice(at + 2, at + 6) : ''
      const char = CODE.test(code) ? String.fromCharCode(Number.parseInt(code, 16)) : ESCAPES[source.charAt(at + 1)]
      if (char === undefined) at++
      else {
        if (from < at) parts.push(source.slice(from, at))
        parts.push(char)
        at += code === '' ? 2 : 6
        from = at
      }
    }
    pieces.push(parts.length === 0 ? source.slice(from, at) : parts.join('') + source.slice(from, at))
    if (at < source.length) yield
  }
  return pieces.join('')
}
