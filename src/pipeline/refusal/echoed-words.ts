/**
 * Words of the caller's own that a provider repeats in its error. What an error says of the gateway's account or of the provider may be the
 * caller's text: a name, an address, a whole prompt that a validator prints. Such words are no evidence against anybody but the caller.
 */
import type { Fault } from '../../core/faults.ts'
import type { Json } from '../../core/json.ts'

/** Characters of a request that are searched: beyond them the words count as the caller's. */
const MAX_SEARCHED = 8_000_000
/** Words by which a repeated passage is longer than the evidence, from which on it is a text of the caller's and no coincidence. */
const PASSAGE = 4
/** Words of a sentence that are compared on each side of the evidence. */
const REACH = 60
/** Passages that are taken out of one sentence. */
const MAX_PASSAGES = 5
const WORD = /[\p{L}\p{N}]+/gu
const ESCAPED = /(?:%[0-9a-f]{2})+/gi
/** ASCII that is no letter and no digit. */
const ESCAPED_SIGN = /%(?:[01][0-9a-f]|2[0-9a-f]|3[a-f]|40|5[b-f]|60|7[b-f])/gi

export interface SentRequest {
  /** Bytes that the caller has sent. */
  readonly sent: Json
  /** It is not at hand. */
  readonly isDiscarded: boolean
}

/**
 * The fault as it is without words that the caller wrote. Where the sentence repeats a passage of the request, the table reads it again
 * without the passage. Where it has no more of the request than the very words that decide, it may be either: the request goes on as after
 * the fault, and nothing is held against the account or the endpoint (`isEchoed`).
 */
export function withoutEcho(fault: Fault, request: SentRequest): Fault {
  if (fault.evidence === undefined) return fault
  // Such as in the middle of the answer to a large body.
  if (request.isDiscarded) return fault.with({ isEchoed: true })
  const texts = plainTexts(request.sent)
  if (texts === undefined) return fault.with({ isEchoed: true })
  let read = fault
  for (let passages = 0; passages < MAX_PASSAGES; passages++) {
    const { evidence, sentence = '' } = read
    if (evidence === undefined || !texts.includes(plain(evidence))) return read
    const passage = passageAround(sentence, evidence, texts)
    const next = passage === undefined ? undefined : read.without(passage)
    if (next === undefined) return read.with({ isEchoed: true })
    read = next
  }
  return read.with({ isEchoed: true })
}

/** True where a request has words in it, or where that cannot be seen any more. */
export function mayBeCallers(words: string, request: SentRequest): boolean {
  const texts = request.isDiscarded ? undefined : plainTexts(request.sent)
  return texts === undefined || texts.includes(plain(words))
}

/** Words in small letters with one blank between two: as different forms of one text have them in common. */
function plain(text: string): string {
  const words = decoded(text)
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/\p{Cf}/gu, '')
    .match(WORD)
  return words === null ? ' ' : ` ${words.join(' ')} `
}

/** Decodes the escapes of addresses. */
function decoded(text: string): string {
  return text.includes('%') ? text.replaceAll(ESCAPED, (bytes) => Buffer.from(bytes.replaceAll('%', ''), 'hex').toString()) : text
}

/** Of the same length, with blanks for the escapes of signs in addresses. */
function spaced(sentence: string): string {
  return sentence.replaceAll(ESCAPED_SIGN, '   ')
}

/** All texts and names of a body, one after the other, since an error may join neighbours. @returns undefined where they are too long. */
function plainTexts(sent: Json): string | undefined {
  const texts: string[] = []
  let left = MAX_SEARCHED
  const gather = (value: Json | undefined): void => {
    if (left < 0) return
    if (typeof value === 'string') {
      left -= value.length
      texts.push(value)
    } else if (Array.isArray(value)) for (const each of value) gather(each)
    else if (value !== null && typeof value === 'object')
      for (const [name, each] of Object.entries(value)) {
        texts.push(name)
        gather(each)
      }
  }
  gather(sent)
  return left < 0 ? undefined : plain(texts.join(' '))
}

/**
 * The passage of the sentence around the evidence that stands in the request.
 * @returns undefined where it is hardly longer than the evidence, or is the whole sentence: an account's own, which the caller may discuss.
 */
function passageAround(sentence: string, evidence: string, texts: string): string | undefined {
  const words = [...spaced(sentence).matchAll(WORD)].map(({ 0: word, index }) => ({ word, from: index, to: index + word.length }))
  const wanted = plain(evidence).trim().split(' ')
  const at = words.findIndex((_, first) => wanted.every((word, i) => plain(words[first + i]?.word ?? '').trim() === word))
  if (at < 0) return undefined
  let [from, to] = [at, at + wanted.length]
  const stands = (a: number, b: number): boolean =>
    texts.includes(
      plain(
        words
          .slice(a, b)
          .map(({ word }) => word)
          .join(' '),
      ),
    )
  while (to < words.length && to - at < REACH && stands(from, to + 1)) to++
  while (from > 0 && at - from < REACH && stands(from - 1, to)) from--
  const isWhole = from === 0 && to === words.length
  const [first, last] = [words[from], words[to - 1]]
  if (isWhole || to - from < wanted.length + PASSAGE || !first || !last) return undefined
  return sentence.slice(first.from, last.to)
}
