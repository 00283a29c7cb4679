/**
 * Finds out whether a provider's sentence quotes text that the caller did not send: presets, stored prompts, search results, pages,
 * instructions of plugins and dialects. What was added is what the written body holds and the caller's own body does not.
 */
import type { Json } from '../../core/json.ts'

/** Characters of a run that is withheld (contract C-185). */
const RUN = 20
/** Any run holds a block that begins at a multiple of this length: only such blocks of a text are looked up. */
const BLOCK = RUN / 2
/** Characters of added text that are compared. Beyond them the sentence is withheld. */
const MOST_TEXT = 8_000_000
/** Characters of the caller's own text that are searched, counted again for each search. */
const MOST_SEARCHED = 64_000_000
/** Images and files: text of people has a blank or another sign long before. */
const DATA = /^[A-Za-z0-9+/=_-]{256}/

/** Texts of a body: strings, and the names that schemas give to properties. */
function* textsIn(value: Json | undefined, named = false): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const each of value) yield* textsIn(each)
  else if (value !== null && typeof value === 'object')
    for (const [key, each] of Object.entries(value)) {
      if (named) yield key
      yield* textsIn(each, key === 'properties')
    }
}

/** The sentence as it came, and with the escapes of JSON undone: providers quote a value in both forms. */
function formsOf(sentence: string): string[] {
  if (!sentence.includes('\\')) return [sentence]
  return [
    sentence,
    sentence
      .replaceAll('\\n', '\n')
      .replaceAll('\\t', '\t')
      .replaceAll(/\\(["'\\/])/g, '$1'),
  ]
}

/** The texts of the caller, searched within a budget. */
class OwnTexts {
  private readonly texts: ReadonlySet<string>
  private left = MOST_SEARCHED

  constructor(sent: Json) {
    this.texts = new Set(textsIn(sent))
  }

  has(text: string): boolean {
    return this.texts.has(text)
  }

  /** False also where it would take too long to say. */
  holds(part: string): boolean {
    for (const text of this.texts) {
      this.left -= text.length
      if (this.left < 0) return false
      if (text.includes(part)) return true
    }
    return false
  }

  /** True where each run of the part stands in a text of the caller. */
  holdsRuns(part: string): boolean {
    if (this.holds(part)) return true
    for (let i = 0; i + RUN <= part.length; i++) if (!this.holds(part.slice(i, i + RUN))) return false
    return true
  }
}

/** The longest common run around two places where two texts are equal. */
function runAround(a: string, at: number, b: string, bt: number): string {
  let before = 0
  while (before < at && before < bt && a[at - before - 1] === b[bt - before - 1]) before++
  let after = 0
  while (at + after < a.length && bt + after < b.length && a[at + after] === b[bt + after]) after++
  return a.slice(at - before, at + after)
}

/** True where a form of the sentence shares a run with the text that no text of the caller holds. */
function sharesRun(text: string, forms: readonly string[], blocks: ReadonlySet<string>, own: OwnTexts): boolean {
  for (let at = 0; at + BLOCK <= text.length; at += BLOCK) {
    const block = text.slice(at, at + BLOCK)
    if (!blocks.has(block)) continue
    for (const form of forms)
      for (let place = form.indexOf(block); place !== -1; place = form.indexOf(block, place + 1)) {
        const run = runAround(text, at, form, place)
        if (run.length >= RUN && !own.holdsRuns(run)) return true
      }
  }
  return false
}

/**
 * True where the sentence holds 20 characters in a row from text that stands in the written body alone.
 * @param written the body as the provider was sent it. @param sent the body as the caller sent it.
 */
export function quotesAddedText(sentence: string, written: Json, sent: Json): boolean {
  if (sentence.length < RUN) return false
  const forms = formsOf(sentence)
  const blocks = new Set<string>()
  for (const form of forms) for (let i = 0; i + BLOCK <= form.length; i++) blocks.add(form.slice(i, i + BLOCK))
  const own = new OwnTexts(sent)
  let compared = 0
  for (const text of textsIn(written)) {
    if (text.length < RUN || own.has(text) || DATA.test(text)) continue
    compared += text.length
    if (compared > MOST_TEXT || sharesRun(text, forms, blocks, own)) return true
  }
  return false
}
