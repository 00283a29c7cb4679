/** Decides where a quoted text ends: whether a quote, a comma or a bracket within it is part of the text or its end. */
import {
  bareKeyAt,
  closes,
  closingQuote,
  commentAt,
  FAR,
  fenceAt,
  isCloser,
  isLetter,
  isQuote,
  isSpace,
  keywordAt,
  lineBetween,
  literalAt,
  nextUnit,
  pastSpace,
  quotedKeyAt,
  REACH,
  type Sight,
} from './tokens-ahead.ts'

/** `ends`: the text ends before this character, its quote is missing. */
export type Verdict = 'closes' | 'inner' | 'ends'
export type Around = '{' | '[' | undefined

/** A quote at `at` within a value. In sound JSON it always closes. */
export function quoteInValue(sight: Sight, at: number, around: Around): Verdict | undefined {
  const { text } = sight
  const where = pastSpace(text, at + 1)
  if (lineBetween(text, at, where)) return 'closes'
  const next = nextUnit(sight, at + 1)
  if (next === undefined) return undefined
  if (next === '' || next === FAR || isCloser(next) || next === ':') return 'closes'
  if (next === ',') return commaAfterQuote(sight, where, around)
  if (next === '`') return closesIf(fenceAt(sight, where))
  if (next === '/') return closesIf(commentAt(sight, where))
  if (around === '{') {
    if (isQuote(next)) return closesIf(quotedKeyAt(sight, where))
    return isLetter(next) ? closesIf(bareKeyAt(sight, where)) : 'inner'
  }
  return isQuote(next) || next === '{' || next === '[' ? 'closes' : closesIf(literalAt(sight, where))
}

const closesIf = (answer: boolean | undefined): Verdict | undefined => (answer === undefined ? undefined : answer ? 'closes' : 'inner')

/** `… said "hi", then left"`: the comma after a quote belongs to the text where no key or value follows it. */
function commaAfterQuote(sight: Sight, comma: number, around: Around): Verdict | undefined {
  const where = pastSpace(sight.text, comma + 1)
  if (lineBetween(sight.text, comma, where)) return 'closes'
  const next = nextUnit(sight, comma + 1)
  if (next === undefined) return undefined
  if (next === '' || !isLetter(next)) return 'closes'
  if (around === '{') return closesIf(bareKeyAt(sight, where))
  const keyword = keywordAt(sight, where)
  if (keyword !== false) return closesIf(keyword)
  for (let i = where; i < Math.min(sight.text.length, where + REACH); i++) {
    if (sight.text[i] === '"') return 'inner'
    if (sight.text[i] === ',' || isCloser(sight.text.charAt(i))) return 'closes'
  }
  return sight.ended || sight.text.length - where > REACH ? 'inner' : undefined
}

/** A quote at `at` within a key. */
export function quoteInKey(sight: Sight, at: number): Verdict | undefined {
  const next = nextUnit(sight, at + 1)
  if (next === undefined) return undefined
  if (!isLetter(next)) return 'closes'
  return closesIf(keywordAt(sight, pastSpace(sight.text, at + 1)))
}

/** A comma at `at` within a value: the text ends here where a key (or a list's next text) follows that nothing else explains. */
export function commaInValue(sight: Sight, at: number, { around, quote: mark }: { around: Around; quote: string }): Verdict | undefined {
  const { text, ended } = sight
  const next = nextUnit(sight, at + 1)
  if (next === undefined) return undefined
  const quote = pastSpace(text, at + 1)
  // No line ends within a text of sound JSON.
  if (around === '[' && next !== '' && lineBetween(text, at, quote) && !isQuote(next)) return endsIf(literalAt(sight, quote))
  if (next === '' || !closes(mark, next)) return 'inner'
  const after = nextUnit(sight, quote + 1)
  if (after === undefined) return undefined
  if (after === '' || after === FAR || after === ',' || isCloser(after) || after === ':') return 'inner'
  const close = closingQuote(text, quote)
  if (close === -1) return ended || text.length - quote > REACH ? 'inner' : undefined
  if (close === -2) return 'inner'
  const end = nextUnit(sight, close + 1)
  if (end === undefined) return undefined
  if (around === '{') return end === ':' ? 'ends' : 'inner'
  return end !== '' && (end === ',' || isCloser(end)) ? 'ends' : 'inner'
}

/** A bracket or a line end at `at` within a value: the text ends here where the document's own end, or a key, follows. */
export function endInValue(sight: Sight, at: number, quote: string): Verdict | undefined {
  const { text, ended } = sight
  let i = at
  while (i < text.length && i - at < REACH && (isCloser(text.charAt(i)) || isSpace(text.charAt(i)))) i++
  if (i - at >= REACH) return 'inner'
  if (i >= text.length) return ended ? 'ends' : undefined
  const bracket = /[}\]]/.test(text.slice(at, i))
  if (closes(quote, text[i])) {
    // Behind a line end a quote may open the next key; in sound JSON no line ends within a text.
    return bracket || !lineBetween(text, at, i) ? 'inner' : endsIf(quotedKeyAt(sight, i))
  }
  if (text[i] === '`') return lineBetween(text, at, i) ? endsIf(fenceAt(sight, i)) : 'inner'
  if (text[i] !== ',' || !bracket) return 'inner'
  const next = nextUnit(sight, i + 1)
  if (next === undefined) return undefined
  const where = pastSpace(text, i + 1)
  if (closes(quote, next)) return endsIf(quotedKeyAt(sight, where))
  if (next !== '{') return 'inner'
  const inside = nextUnit(sight, where + 1)
  if (inside === undefined) return undefined
  return inside === '' || !closes(quote, inside) ? 'inner' : endsIf(quotedKeyAt(sight, pastSpace(text, where + 1)))
}

const endsIf = (answer: boolean | undefined): Verdict | undefined => (answer === undefined ? undefined : answer ? 'ends' : 'inner')

/** A colon at `at` within a key: part of it only where a closing quote and another colon follow. */
export function colonInKey(sight: Sight, at: number, quote: string): Verdict | undefined {
  const { text, ended } = sight
  for (let i = at + 1; i < Math.min(text.length, at + REACH); i++) {
    if (text[i] === '\n') return 'ends'
    if (text[i] === '\\') i++
    else if (closes(quote, text[i])) {
      const next = nextUnit(sight, i + 1)
      return next === undefined ? undefined : next === ':' || next === FAR ? 'inner' : 'ends'
    }
  }
  if (text.length - at >= REACH) return 'inner'
  return ended ? 'ends' : undefined
}
