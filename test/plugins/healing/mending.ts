/** Texts through the mender, in pieces of any size, and sound documents with nasty texts in them. */
import fc from 'fast-check'
import { DocumentMender } from '../../../plugins/response-healing/document-mender.ts'
import type { Json } from '../../../src/core/json.ts'

/** Output for a text that comes in pieces of `size` characters. */
export function mend(text: string, size = Math.max(1, text.length)): string {
  const mender = new DocumentMender()
  let out = ''
  for (let at = 0; at < text.length; at += size) out += mender.push(text.slice(at, at + size))
  return out + mender.finish()
}

const PIECES = [
  '"',
  "'",
  '\\',
  '}',
  ']',
  '{',
  '[',
  ',',
  ':',
  ' ',
  '\n',
  '```',
  '//',
  '/*',
  'a',
  'key',
  '“',
  '”',
  '’',
  '1',
  'true',
  '😀',
  '\t',
  'u12',
]

/** Texts made of whatever means something to a parser. */
const nasty = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 12 }).map((pieces) => pieces.join('')),
  fc.string(),
)
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    nasty,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(nasty, tie('value'), { maxKeys: 4 }),
  ),
}))
const space = fc.array(fc.constantFrom(' ', '\n', '\t', '\r'), { maxLength: 3 }).map((units) => units.join(''))

function spread(one: Json, gap: () => string, plain: () => boolean): string {
  const quoted = (text: string): string => {
    const json = JSON.stringify(text)
    if (!plain()) return json
    return json.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`).replaceAll('/', '\\/')
  }
  if (Array.isArray(one)) return `[${gap()}${one.map((member) => spread(member, gap, plain) + gap()).join(`,${gap()}`)}]`
  if (typeof one !== 'object' || one === null) return typeof one === 'string' ? quoted(one) : JSON.stringify(one)
  const members = Object.entries(one).map(([key, member]) => `${quoted(key)}${gap()}:${gap()}${spread(member ?? null, gap, plain)}${gap()}`)
  return `{${gap()}${members.join(`,${gap()}`)}}`
}

/** Sound documents in every layout, with white space around them. */
export const soundDocument: fc.Arbitrary<string> = fc
  .tuple(
    fc.oneof(fc.array(value, { maxLength: 5 }), fc.dictionary(nasty, value, { maxKeys: 5 })),
    fc.infiniteStream(space),
    fc.infiniteStream(fc.boolean()),
  )
  .map(([one, spaces, plains]) => {
    const gap = (): string => spaces.next().value ?? ''
    return gap() + spread(one, gap, () => plains.next().value === true) + gap()
  })

const SCRAPS = [
  '{',
  '}',
  '[',
  ']',
  '"',
  "'",
  ':',
  ',',
  '\n',
  ' ',
  '```',
  'a',
  'key',
  '1',
  '-',
  '.',
  'true',
  'nul',
  '\\',
  '//',
  '/*',
  '*/',
  '“',
  '`',
]

/** Anything that begins as a document might. */
export const junk: fc.Arbitrary<string> = fc
  .tuple(
    fc.constantFrom('', '{', '[', '{"a":[', '[{"a":"x', '{"a":"x', '<think>{'),
    fc.array(fc.oneof(fc.constantFrom(...SCRAPS, '{"a":', '"b"', '</think>'), fc.string({ maxLength: 3 })), { maxLength: 30 }),
  )
  .map(([start, scraps]) => start + scraps.join(''))
