/** Random JSON documents as models write them, drawn from a seed. */
import type { Json, JsonObject } from '../../../src/core/json.ts'

/** Uniform in [0, 1); the same row for the same seed (xorshift with a multiplicative finish). */
export class Draw {
  private state: number
  constructor(seed: number) {
    this.state = (seed ^ 0x9e3779b9) >>> 0 || 1
    for (let i = 0; i < 8; i++) this.next()
  }

  next(): number {
    this.state ^= this.state << 13
    this.state ^= this.state >>> 17
    this.state ^= this.state << 5
    this.state >>>= 0
    return (Math.imul(this.state, 0x2545f491) >>> 0) / 0x1_0000_0000
  }

  /** A whole number from 0 to `below` - 1. */
  under(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  of<One>(list: readonly One[]): One {
    return list[this.under(list.length)]
  }
}

const KEYS = ['name', 'age', 'title', 'items', 'tags', 'price', 'is_open', 'user_id', 'address', 'city', 'notes', 'score', 'unit', 'next']
const TEXTS = [
  'Alice',
  'Berlin',
  'a short text',
  'two, with a comma',
  'Zoë Müller',
  '東京',
  'a "quoted" word',
  "it's fine",
  'line one\nline two',
  'C:\\temp\\x',
  'https://example.com/a?b=1&c=2',
  '50% (of {all} [things])',
  'key: value',
  '2026-11-21T17:00:00Z',
  '😀 done',
  '',
]
/** Texts that stay one text when their quotes are lost. */
const PLAIN = ['Alice', 'Berlin', 'a short text', 'Zoë Müller', '東京', 'in stock', 'blue', 'next week']

export interface Taste {
  /** Only texts without punctuation. */
  plain?: boolean
}

function scalar(draw: Draw, { plain }: Taste): Json {
  const kind = draw.under(10)
  if (kind < 5) return draw.of(plain ? PLAIN : TEXTS)
  if (kind < 8) return draw.chance(0.5) ? draw.under(1000) : Number((draw.next() * 100 - 50).toFixed(2))
  return kind === 8 ? draw.chance(0.5) : null
}

function value(draw: Draw, depth: number, taste: Taste): Json {
  const kind = draw.under(10)
  if (depth === 0 || kind < 6) return scalar(draw, taste)
  if (kind < 8) return drawObject(draw, depth - 1, taste)
  const length = 1 + draw.under(4)
  const member = draw.chance(0.5) ? () => scalar(draw, taste) : () => drawObject(draw, depth - 1, taste)
  return Array.from({ length }, member)
}

/** An object with one to five members. */
export function drawObject(draw: Draw, depth: number, taste: Taste = {}): JsonObject {
  const made: JsonObject = {}
  const members = 1 + draw.under(5)
  for (let i = 0; i < members; i++) made[draw.of(KEYS)] = value(draw, depth, taste)
  return made
}

export type Layout = 'compact' | 'spaced' | 'indented'

export type TokenKind = 'open' | 'close' | 'comma' | 'colon' | 'key' | 'text' | 'scalar' | 'space'

export interface Token {
  kind: TokenKind
  text: string
  /** Text of a key or of a value, and the depth of a token. */
  utterance?: string
  depth: number
}

/** A document as tokens, so that a single one can be broken. */
export function layoutTokens(document: Json, layout: Layout): Token[] {
  const tokens: Token[] = []
  const add = (kind: TokenKind, text: string, depth: number, utterance?: string): void => {
    if (text !== '') tokens.push(utterance === undefined ? { kind, text, depth } : { kind, text, depth, utterance })
  }
  const line = (depth: number): string => (layout === 'indented' ? `\n${'  '.repeat(depth)}` : '')
  const gap = layout === 'compact' ? '' : ' '
  const write = (part: Json | undefined, depth: number): void => {
    if (typeof part === 'string') add('text', JSON.stringify(part), depth, part)
    else if (typeof part !== 'object' || part === null) add('scalar', JSON.stringify(part), depth)
    else {
      const list = Array.isArray(part)
      const members: [string | undefined, Json | undefined][] = list
        ? part.map((one): [undefined, Json] => [undefined, one])
        : Object.entries(part)
      add('open', list ? '[' : '{', depth)
      members.forEach(([key, one], i) => {
        if (i > 0) add('comma', ',', depth + 1)
        add('space', i > 0 && layout === 'spaced' ? ' ' : line(depth + 1), depth + 1)
        if (key !== undefined) {
          add('key', JSON.stringify(key), depth + 1, key)
          add('colon', ':', depth + 1)
          add('space', gap, depth + 1)
        }
        write(one, depth + 1)
      })
      if (members.length > 0) add('space', line(depth), depth)
      add('close', list ? ']' : '}', depth)
    }
  }
  write(document, 0)
  return tokens
}

export const written = (tokens: readonly Token[]): string => tokens.map(({ text }) => text).join('')
