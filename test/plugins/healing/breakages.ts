/**
 * A thousand broken answers, generated from a seed: for each the text that a model might have sent,
 * and the value that it meant. Every kind breaks a document in one way that leaves its meaning plain.
 */
import type { JsonObject } from '../../../src/core/json.ts'
import { Draw, drawObject, type Layout, layoutTokens, type Token, written } from './documents.ts'

export const SEED = 20261121
export const COUNT = 1000

export interface Breakage {
  kind: Kind
  text: string
  meant: JsonObject
}

const BEFORE = [
  'Here is the JSON you asked for:\n\n',
  'Sure! ',
  'The result (see [1]) is:\n',
  'I filled {name} in as requested.\n\n',
  'Answer: ',
  "Here's the object, with its keys in order:\n",
]
const AFTER = [
  '\n\nLet me know if you need anything else!',
  ' Hope this helps.',
  '\n\nNote: all values are examples [2].',
  '\nThat is {all}.',
]

const LAYOUTS: readonly Layout[] = ['compact', 'spaced', 'indented']

/** Changes a document's tokens; undefined where the document has nothing that this kind could break. */
type Break = (tokens: Token[], draw: Draw) => string | undefined

const places = (tokens: readonly Token[], fits: (token: Token, at: number) => boolean): number[] =>
  tokens.flatMap((token, at) => (fits(token, at) ? [at] : []))

/** Rewrites one to all of the fitting tokens. */
function rewrite(tokens: Token[], draw: Draw, at: readonly number[], change: (token: Token) => string): string | undefined {
  if (at.length === 0) return undefined
  const all = draw.chance(0.5)
  const one = draw.of(at)
  return written(tokens.map((token, i) => (at.includes(i) && (all || i === one) ? { ...token, text: change(token) } : token)))
}

const isWord = (text: string | undefined): boolean => text !== undefined && /^[A-Za-z_]\w*$/.test(text)
const isPlain = (text: string | undefined): boolean => text !== undefined && text !== '' && /^[\p{L} ]+$/u.test(text)
const single = (text = ''): string => `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`

/** The token before the last line end or bracket: what a missing quote must not swallow. */
function follows(tokens: readonly Token[], at: number): Token | undefined {
  return tokens.slice(at + 1).find(({ kind }) => kind !== 'space')
}

const BREAKS = {
  fence: (tokens, draw) => `\`\`\`${draw.of(['json', 'JSON', '', 'json5'])}\n${written(tokens)}\n\`\`\`${draw.of(['', '\n'])}`,
  'prose-before': (tokens, draw) => draw.of(BEFORE) + written(tokens),
  'prose-after': (tokens, draw) => written(tokens) + draw.of(AFTER),
  'prose-and-fence': (tokens, draw) => `${draw.of(BEFORE)}\`\`\`json\n${written(tokens)}\n\`\`\`${draw.of(AFTER)}`,
  'trailing-comma': (tokens, draw) => {
    const ends = places(tokens, ({ kind }, at) => kind === 'close' && tokens.slice(0, at).at(-1)?.kind !== 'open')
    return rewrite(tokens, draw, ends, ({ text }) => `,${text}`)
  },
  'missing-comma': (tokens, draw) => {
    // Without a gap two numbers would become one.
    const commas = places(
      tokens,
      ({ kind }, at) => kind === 'comma' && (tokens[at + 1].kind === 'space' || tokens[at - 1].text.endsWith('"')),
    )
    return rewrite(tokens, draw, commas, () => '')
  },
  'single-quotes': (tokens) =>
    written(tokens.map((token) => (token.utterance === undefined ? token : { ...token, text: single(token.utterance) }))),
  'single-quotes-mixed': (tokens, draw) => {
    const utterance = places(tokens, ({ kind }) => kind === 'key' || kind === 'text')
    return rewrite(tokens, draw, utterance, (token) => single(token.utterance))
  },
  'unquoted-keys': (tokens, draw) => {
    const keys = places(tokens, ({ kind, utterance }) => kind === 'key' && isWord(utterance))
    return rewrite(tokens, draw, keys, (token) => token.utterance ?? '')
  },
  'unquoted-values': (tokens, draw) => {
    const texts = places(tokens, ({ kind, utterance }) => kind === 'text' && isPlain(utterance))
    return rewrite(tokens, draw, texts, (token) => token.utterance ?? '')
  },
  'missing-closing-quote': (tokens, draw) => {
    const texts = places(tokens, ({ kind, utterance }) => (kind === 'text' && isPlain(utterance)) || (kind === 'key' && isWord(utterance)))
    if (texts.length === 0) return undefined
    const at = draw.of(texts)
    return written(tokens.map((token, i) => (i === at ? { ...token, text: token.text.slice(0, -1) } : token)))
  },
  'missing-opening-quote': (tokens, draw) => {
    const texts = places(tokens, ({ kind, utterance }) => (kind === 'text' && isPlain(utterance)) || (kind === 'key' && isWord(utterance)))
    if (texts.length === 0) return undefined
    const at = draw.of(texts)
    return written(tokens.map((token, i) => (i === at ? { ...token, text: token.text.slice(1) } : token)))
  },
  'missing-last-brackets': (tokens, draw) => {
    let last = tokens.length
    const cut = 1 + draw.under(3)
    for (let gone = 0; gone < cut && last > 1; ) {
      if (tokens[last - 1].kind === 'close') gone++
      else if (tokens[last - 1].kind !== 'space') break
      last--
    }
    return written(tokens.slice(0, last))
  },
  'missing-inner-bracket': (tokens, draw) => {
    // Only where what follows tells it: a key within a list, or an object's beginning within an object.
    const inner = places(tokens, ({ kind, text, depth }, at) => {
      if (kind !== 'close' || depth === 0) return false
      const next = tokens.slice(at + 1).filter((token) => token.kind !== 'space')
      if (next[0]?.kind !== 'comma') return false
      return (text === ']' && next[1]?.kind === 'key') || (text === '}' && next[1]?.text === '{')
    })
    if (inner.length === 0) return undefined
    const at = draw.of(inner)
    return written(tokens.filter((_, i) => i !== at))
  },
  'extra-bracket': (tokens, draw) => {
    const closers = places(tokens, ({ kind, text }, at) => {
      if (kind !== 'close') return false
      const next = follows(tokens, at)
      // A list closed twice within a list, or an object within an object, would close what stands around it.
      return next === undefined || (text === ']' && !openAround(tokens, at).includes('['))
    })
    const at = draw.of(closers)
    return written(tokens.map((token, i) => (i === at ? { ...token, text: token.text.repeat(2) } : token)))
  },
  'bracket-of-the-wrong-kind': (tokens, draw) => {
    const inner = places(tokens, ({ kind, depth, text }, at) => {
      const next = tokens.slice(at + 1).filter((token) => token.kind !== 'space')
      return kind === 'close' && depth === 1 && text === ']' && next[0]?.kind === 'comma'
    })
    if (inner.length === 0) return undefined
    return rewrite(tokens, draw, [draw.of(inner)], () => '}')
  },
} satisfies Record<string, Break>

export type Kind = keyof typeof BREAKS | 'two-at-once'

/** Brackets that are open around the token, without its own. */
function openAround(tokens: readonly Token[], at: number): string[] {
  const open: string[] = []
  for (const { kind, text } of tokens.slice(0, at)) {
    if (kind === 'open') open.push(text)
    else if (kind === 'close') open.pop()
  }
  return open.slice(0, -1)
}

const NAMES = Object.keys(BREAKS) as (keyof typeof BREAKS)[]
const WRAPS = ['fence', 'prose-before', 'prose-after', 'prose-and-fence'] as const
/** Kinds that stay mendable inside prose or a fence. */
const WRAPPED = [
  'trailing-comma',
  'missing-comma',
  'single-quotes',
  'unquoted-keys',
  'missing-last-brackets',
  'missing-closing-quote',
  'unquoted-values',
] as const

function breakOne(kind: Kind, draw: Draw): Breakage | undefined {
  const plain = kind === 'unquoted-values' || kind === 'missing-closing-quote' || kind === 'missing-opening-quote'
  const meant = drawObject(draw, 3, { plain })
  const tokens = layoutTokens(meant, draw.of(LAYOUTS))
  const whole = written(tokens)
  let text: string | undefined
  if (kind === 'two-at-once') {
    const inner = BREAKS[draw.of(WRAPPED)](tokens, draw)
    text = inner === undefined || inner === whole ? undefined : BREAKS[draw.of(WRAPS)]([{ kind: 'text', text: inner, depth: 0 }], draw)
  } else text = BREAKS[kind](tokens, draw)
  return text === undefined || text === whole ? undefined : { kind, text, meant }
}

/** The same list for the same seed, every kind equally often. */
export function breakages(seed = SEED, count = COUNT): Breakage[] {
  const draw = new Draw(seed)
  const kinds: readonly Kind[] = [...NAMES, 'two-at-once']
  const made: Breakage[] = []
  for (let i = 0; made.length < count; i++) {
    const kind = kinds[made.length % kinds.length]
    const one = breakOne(kind, draw)
    if (one) made.push(one)
    else if (i > count * 100) throw new Error(`no document can be broken by ${kind}`)
  }
  return made
}
