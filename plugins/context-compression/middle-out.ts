/** Engine `middle-out`: what is in the middle goes first, the start and the end stay. */
import { type Estimate, type Item, itemTokens, type Part } from '../../src/plugin-api/index.ts'
import { fromTheMiddle, groupItems } from './groups.ts'

/** A shortened text keeps at least this many tokens, else leaving it out is better. */
const WORTH_KEEPING = 64

/**
 * @param budget tokens that the items may take.
 * @returns the items that stay, some shortened; undefined where the budget cannot be met.
 */
export function middleOut(items: readonly Item[], budget: number, estimate: Estimate): Item[] | undefined {
  const cost = items.map((item) => itemTokens(item, estimate))
  const costAt = (at: number): number => {
    const tokens = cost[at]
    if (tokens === undefined) throw new RangeError(`no item ${at} among ${items.length}`)
    return tokens
  }
  let total = cost.reduce((sum, tokens) => sum + tokens, 0)
  const kept: (Item | undefined)[] = [...items]
  for (const group of fromTheMiddle(groupItems(items))) {
    if (total <= budget) break
    const size = group.members.reduce((sum, at) => sum + costAt(at), 0)
    const spare = budget - (total - size)
    const [first] = group.members
    if (first === undefined) continue
    const only = group.members.length === 1 ? items[first] : undefined
    const shortened = only && spare >= WORTH_KEEPING ? shortenItem(only, spare, estimate) : undefined
    for (const at of group.members) kept[at] = undefined
    kept[first] = shortened
    total -= size - (shortened ? itemTokens(shortened, estimate) : 0)
  }
  if (total > budget) {
    const last = items.findLastIndex((item) => item.kind === 'message' && item.role === 'user')
    const question = items[last]
    const shortened = question && shortenItem(question, budget - (total - costAt(last)), estimate)
    if (!shortened) return undefined
    kept[last] = shortened
  }
  return kept.filter((item) => item !== undefined)
}

/** A message whose longest text has lost its middle; undefined where that does not bring it down to `budget`. */
function shortenItem(item: Item, budget: number, estimate: Estimate): Item | undefined {
  if (item.kind !== 'message') return undefined
  let longest = -1
  let length = 0
  for (const [at, part] of item.parts.entries()) {
    if (part.kind !== 'text' || part.text.length <= length) continue
    longest = at
    length = part.text.length
  }
  const part = item.parts[longest]
  if (part?.kind !== 'text') return undefined
  const others = itemTokens(item, estimate) - estimate(part.text)
  const text = shortenText(part.text, budget - others, estimate)
  if (text === undefined) return undefined
  const parts: Part[] = item.parts.with(longest, { ...part, text })
  return { ...item, parts }
}

/** Start and end of a text with a mark between them, at most `budget` tokens; undefined where nothing worth it is left. */
export function shortenText(text: string, budget: number, estimate: Estimate): string | undefined {
  if (budget < WORTH_KEEPING / 2) return undefined
  let keep = Math.floor((text.length * budget) / Math.max(1, estimate(text)))
  for (; keep >= 2; keep = Math.floor(keep * 0.9)) {
    const head = wholeCharacters(text, Math.ceil(keep / 2))
    const tail = wholeCharacters(text, text.length - Math.floor(keep / 2))
    const short = `${text.slice(0, head)}\n[… ${tail - head} characters left out …]\n${text.slice(tail)}`
    if (short.length < text.length && estimate(short) <= budget) return short
  }
  return undefined
}

/** A cut never splits a surrogate pair. */
function wholeCharacters(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at
}
