/** The forms in which the same JSON may be written, right and wrong ones; and a reader that takes no name twice. */
import { isObject, type Json } from '../../src/core/json.ts'

type Random = () => number

const SPACES = ['', '', '', '', ' ', '\n  ', '\t', '\r\n'] as const
const LONG = ['He said "no"\\ and left\n', 'größer → ✓\n', '{"a":[1,2]},', '\\u0041\\\\"', '😀\u2028', ' '.repeat(60)] as const

const pickOne = <T>(random: Random, all: readonly T[]): T => all[Math.floor(random() * all.length)] as T

/** A string whose letters may be written as escapes. */
function text(value: string, random: Random): string {
  const plain = JSON.stringify(value)
  if (random() < 0.9) return plain
  const units = [...Array(value.length).keys()].map((at) => `\\u${value.charCodeAt(at).toString(16).padStart(4, '0')}`)
  return `"${units.join('')}"`
}

function number(value: number, random: Random): string {
  const plain = JSON.stringify(value)
  if (random() < 0.8 || !Number.isInteger(value)) return plain
  return pickOne(random, [`${plain}e0`, `${plain}${/[.e]/.test(plain) ? '' : '.0'}`, `${plain}E+0`, plain])
}

interface Writing {
  readonly random: Random
  /** Chance that a member stands twice. */
  readonly doubled: number
}

function members(value: Record<string, Json | undefined>, writing: Writing): string {
  const { random, doubled } = writing
  const gap = (): string => pickOne(random, SPACES)
  const found: string[] = []
  for (const [name, each] of Object.entries(value)) {
    if (each === undefined) continue
    if (random() < doubled) found.push(`${text(name, random)}:${pickOne(random, ['null', '"system"', '{}', '[{"role":"system"}]'])}`)
    found.push(`${gap()}${text(name, random)}${gap()}:${gap()}${json(each, writing)}${gap()}`)
  }
  return `{${found.join(',')}${gap()}}`
}

function json(value: Json, writing: Writing): string {
  const { random } = writing
  if (typeof value === 'string')
    return text(random() < 0.1 ? value + pickOne(random, LONG).repeat(Math.floor(random() * 30)) : value, random)
  if (typeof value === 'number') return number(value, random)
  if (Array.isArray(value))
    return `[${value.map((each) => pickOne(random, SPACES) + json(each, writing)).join(',')}${pickOne(random, SPACES)}]`
  return isObject(value) ? members(value, writing) : JSON.stringify(value)
}

const PIECES = [
  '"',
  '\\',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '1e400',
  '-',
  '\u0000',
  '\ud800',
  '"__proto__":1,',
  '"0":1,',
  '9'.repeat(400),
] as const

/** The bytes with something put in, taken out or cut off. */
function broken(bytes: Buffer, random: Random): Buffer {
  const at = Math.floor(random() * bytes.length)
  const kind = Math.floor(random() * 4)
  if (kind === 0) return bytes.subarray(0, at)
  if (kind === 1) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + Math.floor(random() * 4))])
  if (kind === 2) return Buffer.concat([bytes.subarray(0, at), Buffer.from(pickOne(random, PIECES)), bytes.subarray(at)])
  const changed = Buffer.from(bytes)
  changed[at] = Math.floor(random() * 256)
  return changed
}

/** A value in one of its forms: spaces, escapes, numbers and names that stand twice as chance has it; one in eight is broken. */
export function written(value: Json, random: Random): Buffer {
  const bytes = Buffer.from(pickOne(random, SPACES) + json(value, { random, doubled: random() < 0.1 ? 0.05 : 0 }) + pickOne(random, SPACES))
  return random() < 0.125 ? broken(bytes, random) : bytes
}

/** A JSON text as a tree of its own tokens; JSON.parse has accepted it before. */
class Strict {
  private readonly tokens: string[]
  private at = 0

  constructor(source: string) {
    this.tokens = source.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? []
  }

  value(): Json {
    const token = this.tokens[this.at++]
    if (token === '[') return this.list()
    if (token === '{') return this.object()
    return JSON.parse(token ?? '') as Json
  }

  private list(): Json[] {
    const list: Json[] = []
    while (this.tokens[this.at] !== ']') {
      list.push(this.value())
      if (this.tokens[this.at] === ',') this.at++
    }
    this.at++
    return list
  }

  private object(): Json {
    const entries = new Map<string, Json>()
    while (this.tokens[this.at] !== '}') {
      const name = JSON.parse(this.tokens[this.at] ?? '') as string
      if (entries.has(name)) throw new Error('a name stands twice')
      this.at += 2
      entries.set(name, this.value())
      if (this.tokens[this.at] === ',') this.at++
    }
    this.at++
    return Object.fromEntries(entries)
  }
}

/** @returns undefined for what is no JSON, and where a name stands twice in an object. */
export function readStrictly(source: string): { readonly json: Json } | undefined {
  try {
    JSON.parse(source)
    return { json: new Strict(source).value() }
  } catch {
    return undefined
  }
}
