/**
 * Reads a text that comes in pieces. What can no longer be part of a match goes on at once; the rest is held, up to a
 * window. However the text is cut, the same comes out.
 */
import type { AnswerPolicy } from './answer-policy.ts'
import { type Detector, type Match, NO_MATCHES } from './detector.ts'
import type { Findings, Group } from './findings.ts'
import { folded, openWord } from './fold.ts'
import type { Span } from './redaction.ts'
import { merged } from './redaction.ts'
import { distinct, unfolded } from './scan.ts'
import type { Attempts } from './viable.ts'

/** Characters that are held at most; of a match that is longer only parts may be found. */
export const HELD_MOST = 8_192
/** What is let go where that many are held and nothing is decided. */
const LET_GO = HELD_MOST / 2
/** Characters before the undecided ones by which borders and telling words are judged. */
const CONTEXT = 256
const DIGIT = /[0-9]/

/** @param text what is decided, as it came. @param spans what of it is to be hidden: in order, apart from each other. */
export type Decided = (text: string, spans: readonly Span[]) => void

interface Found extends Match {
  readonly group: Group
}

export class TextStream {
  private readonly policy: AnswerPolicy
  private readonly findings: Findings
  private readonly decided: Decided
  private context = ''
  private text = ''
  private attempts: Attempts
  /** Some attempt has become a match, as far as the automaton can tell. */
  private ended = false

  constructor(policy: AnswerPolicy, findings: Findings, decided: Decided) {
    this.policy = policy
    this.findings = findings
    this.decided = decided
    this.attempts = policy.viable.begin('')
  }

  /** Characters that wait. */
  get held(): number {
    return this.text.length
  }

  push(text: string): void {
    for (let at = 0; at < text.length; ) {
      const room = HELD_MOST - this.text.length
      this.text += text.slice(at, at + room)
      at += room
      this.decide(false)
    }
  }

  /** The text is over: everything is decided. */
  end(): void {
    if (this.text !== '') this.decide(true)
  }

  private decide(last: boolean): void {
    const { text } = this
    const hold = last ? text.length : this.alive()
    const full = !last && text.length >= HELD_MOST
    const until = hold > 0 ? hold : full ? wholeCharacters(text, LET_GO) : 0
    if (until === 0) return
    const found = this.ended || last ? this.matches(last) : []
    const clusters = clustersOf(found)
    const own = this.settled(clusters, until, last || hold === 0)
    if (own.until > 0) this.give(own)
    else if (full) this.give(this.settled(clusters, wholeCharacters(text, LET_GO), true))
  }

  /** Where the first attempt began that may still become a match. */
  private alive(): number {
    const { text, attempts } = this
    // Half a character may be a whole one soon.
    const whole = isHigh(text.charCodeAt(text.length - 1)) ? text.slice(0, -1) : text
    attempts.read(whole)
    this.ended = attempts.ended
    const open = openWord(whole)
    let hold = Math.min(attempts.earliest, open)
    for (const fold of [folded(whole), open < whole.length ? folded(whole, open) : undefined]) {
      if (!fold) continue
      const seen = this.policy.viable.begin(this.context)
      seen.read(fold.text)
      this.ended ||= seen.ended
      hold = Math.min(hold, fold.at[seen.earliest])
    }
    return hold
  }

  /** Matches that begin before the given place; one that goes beyond it waits, unless all must go. */
  private settled(clusters: readonly Cluster[], until: number, all: boolean): { until: number; clusters: Cluster[] } {
    const own: Cluster[] = []
    let to = until
    for (const cluster of clusters) {
      if (cluster.start >= to) break
      if (cluster.end > to) {
        if (!all) return { until: cluster.start, clusters: own }
        to = cluster.end
      }
      own.push(cluster)
    }
    return { until: to, clusters: own }
  }

  private give({ until, clusters }: { until: number; clusters: readonly Cluster[] }): void {
    const { text } = this
    const spans: Span[] = []
    for (const { members } of clusters)
      for (const { start, end, told, group } of members) {
        const hiding = this.findings.note(group, told ?? text.slice(start, end), false)
        if (hiding) spans.push({ start, end, ...hiding })
      }
    const gone = text.slice(0, until)
    const begun = this.attempts.earliest >= until
    this.context = (this.context + gone).slice(-CONTEXT)
    this.text = text.slice(until)
    if (begun) this.attempts.shift(until)
    else this.attempts = this.policy.viable.begin(this.context)
    this.decided(gone, merged(spans))
  }

  private matches(last: boolean): Found[] {
    const { context } = this
    const view = context + this.text
    const base = context.length
    const fold = folded(view)
    const digits = DIGIT.test(fold ? fold.text : view)
    const found: Found[] = []
    for (const group of this.policy.groups) {
      const { detector } = group
      if (detector.digits && !digits) continue
      const own = !fold || detector.verbatim ? look(detector, view, last) : NO_MATCHES
      const seen = fold ? unfolded(look(detector, fold.text, last), fold) : NO_MATCHES
      for (const { start, end, told } of seen.length === 0 ? own : distinct([...own, ...seen])) {
        if (end > base) found.push({ start: Math.max(0, start - base), end: end - base, told, group })
      }
    }
    return found
  }
}

function look(detector: Detector, text: string, last: boolean): readonly Match[] {
  if (detector.may && !detector.may(text)) return NO_MATCHES
  const found = distinct(detector.find(text, 0))
  return detector.ends && !last ? found.filter(({ end }) => end < text.length) : found
}

/** Matches that overlap. */
interface Cluster {
  readonly start: number
  end: number
  readonly members: Found[]
}

function clustersOf(found: readonly Found[]): Cluster[] {
  const clusters: Cluster[] = []
  for (const match of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const before = clusters.at(-1)
    if (before && match.start < before.end) {
      before.end = Math.max(before.end, match.end)
      before.members.push(match)
    } else clusters.push({ start: match.start, end: match.end, members: [match] })
  }
  return clusters
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

/** The offset, or the one before where a character would be cut in two. */
function wholeCharacters(text: string, at: number): number {
  return isHigh(text.charCodeAt(at - 1)) ? at - 1 : at
}
