/** Words of the operator's own, by category, found without calling a service. */
import type { Detector } from '../detector.ts'
import { folded } from '../fold.ts'
import { phraseDetector } from '../phrases.ts'
import { distinct, unfoldMatches } from '../scan.ts'
import { textWindows } from '../windows.ts'
import type { Moderator } from './moderator.ts'
import type { Judgement, ModerationSettings, Reason } from './types.ts'

/** Of each category in one text. */
const MATCHES = 20
const WINDOW = { size: 32_768, ahead: 4_096 }
/** UTF-16 units around a match that are shown. */
const AROUND = 50
/** UTF-16 units after which other work may run. */
const TURN = 262_144

interface Category {
  readonly category: string
  readonly detector: Detector
}

/** Words are found whatever their case, and also where invisible or lookalike characters hide them. */
export function lexiconModerator({ lexicon = {}, ignored = [] }: ModerationSettings): Moderator {
  const categories = Object.entries(lexicon)
    .filter(([category, phrases]) => phrases.length > 0 && !ignored.includes(category))
    .map(([category, phrases]): Category => ({ category, detector: phraseDetector(phrases) }))
  return {
    name: 'lexicon',
    async judge(texts, _direction, { onAbort }) {
      const judged: Judgement[] = []
      let gone = false
      const takeBack = onAbort(() => {
        gone = true
      })
      let read = 0
      for (const text of new Set(texts)) {
        for (const { text: part } of textWindows(text, WINDOW)) {
          if (gone) throw new Error('aborted')
          const found = matchesIn(part, categories)
          if (found) judged.push({ text, ...found })
          read += part.length
          if (read < TURN) continue
          read = 0
          await new Promise((resolve) => setImmediate(resolve))
        }
      }
      takeBack()
      return judged
    },
  }
}

function matchesIn(view: string, categories: readonly Category[]): Omit<Judgement, 'text'> | undefined {
  const fold = folded(view)
  const reasons: Reason[] = []
  const matched = new Set<string>()
  let first = view.length
  for (const { category, detector } of categories) {
    const seen = fold ? unfoldMatches(detector.find(fold.text, 0), fold) : []
    const matches = distinct([...detector.find(view, 0), ...seen])
    const [earliest] = matches
    if (!earliest) continue
    reasons.push({ category })
    first = Math.min(first, earliest.start)
    for (const { start, end } of matches.slice(0, MATCHES)) matched.add(view.slice(start, end))
  }
  if (reasons.length === 0) return undefined
  return { part: view.slice(Math.max(0, first - AROUND), first + AROUND).toWellFormed(), reasons, matched: [...matched] }
}
