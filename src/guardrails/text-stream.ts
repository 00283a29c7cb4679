/**
 * Reads a text that comes in pieces. Text that can no longer be part of a match is passed on at once; the rest is held, up to a
 * window. However the text is cut, the same comes out.
 */
import type { AnswerPolicy } from './answer-policy.ts'
import { type Detector, type Match, NO_MATCHES } from './detector.ts'
import type { Findings, Group } from './findings.ts'
import { folded } from './fold.ts'
import { GrowingText, isHigh } from './growing-text.ts'
import type { Span } from './redaction.ts'
import { merged } from './redaction.ts'
import { distinct, unfoldMatches } from './scan.ts'

/** Characters that are held at most; of a match that is longer only parts may be found. */
export const HELD_MOST = 8_192
/** Characters that are released when `HELD_MOST` are held and nothing is decided. */
const RELEASED_LENGTH = HELD_MOST / 2
/** Characters before the undecided ones by which borders and telling words are judged. */
const CONTEXT = 256
const DIGIT = /[0-9]/

/** @param text what is decided, as it came. @param spans what of it is to be hidden: in order, apart from each other. */
export type Decided = (text: string, spans: readonly Span[]) => void

/** The credit of a text that has not been read again and again: a few looks at all that may be held. */
const MAX_CREDIT = 4 * HELD_MOST

interface Found extends Match {
  readonly group: Group
}

/** Decided part of the text, and the progress of partial matches after which more can be decided. */
interface Settled {
  readonly until: number
  readonly clusters: readonly Cluster[]
  readonly waits: number
}

export class TextStream {
  private readonly policy: AnswerPolicy
  private readonly findings: Findings
  private readonly decided: Decided
  private context = ''
  private text = ''
  /** Part of the text that has been read. */
  private growing: GrowingText
  /** Nothing more is decided while a partial match begins before this place: a match at the beginning of the text goes that far. */
  private waits = 0
  /** Words of two scripts by then: one more may have changed what stands behind the match. */
  private mixedWords = 0
  /** Characters that may be read for matches: each that comes adds to them, so that all the looks together are linear in the text. */
  private credit = MAX_CREDIT
  /** Characters that were decided since some had to be released within a partial match. */
  private sinceCut = CONTEXT

  constructor(policy: AnswerPolicy, findings: Findings, decided: Decided) {
    this.policy = policy
    this.findings = findings
    this.decided = decided
    this.growing = new GrowingText(policy.partialMatches, '')
  }

  /** Characters that wait. */
  get held(): number {
    return this.text.length
  }

  push(text: string): void {
    for (let at = 0; at < text.length; ) {
      const piece = text.slice(at, at + HELD_MOST - this.text.length)
      this.text += piece
      at += piece.length
      this.credit = Math.min(MAX_CREDIT, this.credit + piece.length * this.policy.reads)
      this.growing.read(piece)
      this.decide()
    }
  }

  /** The text is over: everything is decided. */
  end(): void {
    const { length } = this.text
    if (length > 0) this.give(this.settled(this.findClusters(true), length, true))
  }

  private decide(): void {
    const { text, growing } = this
    const hold = growing.earliest
    const waits = growing.mixedWords === this.mixedWords ? this.waits : 0
    const ready = hold > 0 && (!growing.ended || (hold >= waits && this.credit >= text.length))
    const full = text.length >= HELD_MOST
    if (!ready && !full) return
    const clusters = growing.ended ? this.findClusters(false) : []
    const own = ready ? this.settled(clusters, hold, false) : undefined
    if (own && (own.until > 0 || !full)) this.give(own)
    else this.give(this.settled(clusters, wholeCharacters(text, RELEASED_LENGTH), true))
  }

  /** Matches that begin before the given place; one that goes beyond it waits, unless all must go. */
  private settled(clusters: readonly Cluster[], until: number, all: boolean): Settled {
    const own: Cluster[] = []
    let to = until
    for (const cluster of clusters) {
      if (cluster.start >= to) break
      if (cluster.end > to) {
        if (!all) {
          // Matches that begin later may still change.
          const sure = cluster.members.filter(({ start }) => start < until)
          return { until: cluster.start, clusters: own, waits: Math.max(...sure.map(({ end }) => end)) }
        }
        to = cluster.end
      }
      own.push(cluster)
    }
    return { until: to, clusters: own, waits: 0 }
  }

  private give({ until, clusters, waits }: Settled): void {
    this.waits = Math.max(0, waits - until)
    this.mixedWords = this.growing.mixedWords
    if (until === 0) return
    const { text, growing } = this
    const spans: Span[] = []
    for (const { members } of clusters)
      for (const { start, end, shown, group } of members) {
        const hiding = this.findings.note(group, shown ?? text.slice(start, end), false)
        if (hiding) spans.push({ start, end, ...hiding })
      }
    const gone = text.slice(0, until)
    this.context = (this.context + gone).slice(-CONTEXT)
    this.text = text.slice(until)
    this.sinceCut += until
    if (growing.earliest >= until) growing.shift(until)
    else {
      this.sinceCut = 0
      this.growing = new GrowingText(this.policy.partialMatches, this.context)
      this.growing.read(this.text)
    }
    this.decided(gone, merged(spans))
  }

  private findClusters(last: boolean): Cluster[] {
    this.credit = Math.max(0, this.credit - this.text.length)
    return clusterFound(this.matches(last))
  }

  private matches(last: boolean): Found[] {
    const { context } = this
    const view = context + this.text
    const base = context.length
    const fold = folded(view)
    const digits = DIGIT.test(fold ? fold.text : view)
    // No match of a pattern begins before the text, unless a partial match was cut off there.
    const from = this.sinceCut < CONTEXT ? 0 : base
    const foldFrom = fold && from > 0 ? fold.at.findIndex((at) => at >= from) : 0
    const found: Found[] = []
    for (const group of this.policy.groups) {
      const { detector } = group
      if (detector.digits && !digits) continue
      const own = !fold || detector.verbatim ? look(detector, view, { from, last }) : NO_MATCHES
      const seen = fold ? unfoldMatches(look(detector, fold.text, { from: foldFrom, last }), fold) : NO_MATCHES
      for (const { start, end, shown } of seen.length === 0 ? own : distinct([...own, ...seen])) {
        if (end > base) found.push({ start: Math.max(0, start - base), end: end - base, shown, group })
      }
    }
    return found
  }
}

/** @param from where custom patterns begin; others judge by what stands before as well. */
function look(detector: Detector, text: string, { from, last }: { from: number; last: boolean }): readonly Match[] {
  if (detector.may && !detector.may(text)) return NO_MATCHES
  const found = distinct(detector.find(text, detector.sliced ? from : 0))
  return detector.ends && !last ? found.filter(({ end }) => end < text.length) : found
}

/** Matches that overlap. */
interface Cluster {
  readonly start: number
  end: number
  readonly members: Found[]
}

function clusterFound(found: readonly Found[]): Cluster[] {
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

/** The offset, or the one before where a character would be cut in two. */
function wholeCharacters(text: string, at: number): number {
  return isHigh(text.charCodeAt(at - 1)) ? at - 1 : at
}
