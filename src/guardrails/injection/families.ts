/** The documented families of orders that a text tries to slip to a model (docs/contract.md#guardrails). */

import { loosenPattern, NEXT } from '../../machines/linear-regex/shape.ts'
import { ENGLISH } from './english.ts'
import type { Family } from './family.ts'
import { LANGUAGES, SCRIPTS } from './languages.ts'
import { beginnings } from './word-survey.ts'

/** Marks of a conversation's own machinery, which no caller's text needs. They are looked for in the text as it is. */
export const MARKS: readonly RegExp[] = [
  /<\/?(?:sys|system(?:[_-](?:prompt|message|instructions?|override))?)>/gi,
  /\[system[ _-](?:message|prompt|note|instructions?|override)s?\]/gi,
  // A name in brackets, as documents of programs have it, is none.
  /(?<!\w)\[\/?(?:system|sys|INST)\](?!\w| (?:namespace|class|module|assembly|package|library|folder|directory|attribute|section|tab|menu|button|key)\b)/gi,
  /^[ \t>*#-]{0,4}(?:System|SYSTEM)(?: (?:message|prompt|Message|Prompt))?[ \t]*:(?=[ \t]*\S)/gm,
  /<\|[a-z][a-z_]{1,30}\|>/gi,
  /^[ \t>*#-]{0,4}(?:system|assistant)[ \t]{0,2}:[ \t]*(?:you (?:are|must|will|may|can|should)|ignore|obey|disregard|reveal|grant|override|new instructions?)\b/gim,
  /<<\/?SYS>>/g,
  /^### ?Instruction:(?=[ \t\r\n])/gm,
  /<\/?(?:start|end)_of_turn>/g,
]
/** Units that every match contains: a cheap check before the search. */
export const MARK_NEEDLES = ['<', '[', 'ystem', 'YSTEM', 'ssistant', '###']

export interface CompiledFamily {
  /** Numbers of beginnings: of each list one is in every match. */
  readonly words: readonly (readonly number[])[]
  /** Over text with words apart. */
  readonly spoken: RegExp
  /** Over text from which all gaps were taken. */
  readonly tight: RegExp
}

const GAP = '[^A-Za-z0-9<>]{1,4}'
const WORD_GAP = "[^A-Za-z0-9<>']{1,4}"

const ALL: readonly Family[] = [...ENGLISH, ...LANGUAGES]

export const families: readonly CompiledFamily[] = ALL.map(({ words, form, exact }) => {
  const flags = exact ? 'g' : 'gi'
  return {
    words: words.map(beginnings),
    spoken: new RegExp(`(?<![A-Za-z0-9])${form.replaceAll('~', form.includes("[a-z'") ? WORD_GAP : GAP)}`, flags),
    tight: new RegExp(form.replaceAll(/\(\?:~\[[^\]]+\]\{1,\d+\}\)\{0,(\d+)\}/g, '[a-z]{0,24}').replaceAll('~', ''), flags),
  }
})

/** Marks of quotation. */
const OPENING = '\'"`\\x{2018}\\x{201c}\\x{201e}\\x{ab}'
const CLOSING = '\'"`\\x{2019}\\x{201c}\\x{201d}\\x{bb}'
const marks = (all: string): Set<string> =>
  new Set(all.replaceAll(/\\x\{([0-9a-f]+)\}/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))))
const OPENERS = marks(OPENING)
const CLOSERS = marks(CLOSING)
/** Characters around a quotation in which the text may speak about attacks. */
const TALK_BEFORE = 48
const TALK_BEHIND = 40
const TALK = /\b(?:attacks?|injections?|jailbreaks?|exploits?|angriffe?|attaques?|ataques?|attacchi)\b/i

/** An order that is only quoted, alone between its marks, where it is spoken of attacks. */
export function isQuoted(text: string, start: number, end: number): boolean {
  if (!OPENERS.has(text.charAt(start - 1)) || !CLOSERS.has(text.charAt(end))) return false
  return TALK.test(text.slice(Math.max(0, start - TALK_BEFORE), start)) || TALK.test(text.slice(end, end + TALK_BEHIND))
}

/** Shapes of plain orders and of marks. */
export const ORDER_SHAPES: readonly string[] = [
  ...ALL.map(({ form, exact }) => {
    const plain = form
      .replaceAll(/\{1,1[046]\}/g, '+')
      .replaceAll('\\u00df-\\u017f', '\\x{df}-\\x{17f}')
      .replaceAll('~', '[^A-Za-z0-9<>]{1,4}')
    return `\\b${exact ? '' : '(?i)'}${loosenPattern(plain, 0)}(?:[${CLOSING}](?s:.){0,${TALK_BEHIND}}|${NEXT})`
  }),
  `(?i)</?(?:sys|system(?:[_-](?:prompt|message|instructions?|override))?)>${NEXT}`,
  `(?i)\\[system[ _-](?:message|prompt|note|instructions?|override)s?\\]${NEXT}`,
  `(?i)\\[/?(?:system|sys|INST)\\](?s:.){0,12}`,
  ...SCRIPTS.map(({ form }) => `${form.source}${NEXT}`),
  `[ \\t>*#-]{0,4}(?:System|SYSTEM)(?: (?:message|prompt|Message|Prompt))?[ \\t]*:[ \\t]*${NEXT}`,
  `(?i)<\\|[a-z][a-z_]{1,30}\\|>${NEXT}`,
  `(?i)[ \\t>*#-]{0,4}(?:system|assistant)[ \\t]{0,2}:[ \\t]*(?:you (?:are|must|will|may|can|should)|ignore|obey|disregard|reveal|grant|override|new instructions?)${NEXT}`,
  `<</?SYS>>${NEXT}`,
  `### ?Instruction:${NEXT}`,
  `</?(?:start|end)_of_turn>${NEXT}`,
]
