import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { binary, escapeExcess, textBytes } from '../../src/machines/sse/frames.ts'
import { property } from '../support/seed.ts'

/** JSON as some servers write it: nothing beyond ASCII. */
const ascii = (json: string): string => json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
const words = fc.string({
  unit: fc.oneof(fc.constantFrom('\n', '"', '\\', '\u0001', 'é', '日', '🦊'), fc.string({ unit: 'grapheme', maxLength: 1 })),
})

t.test('text counts in bytes of UTF-8, however JSON writes it', async (t) => {
  fc.assert(
    fc.property(words, words, (text, next) => {
      for (const write of [JSON.stringify, (value: string) => ascii(JSON.stringify(value))]) {
        const frames = binary(`data: {"a":${write(text)},"b":${write(next)}}\n\n`)
        const bytes = Buffer.byteLength(text)
        assert.equal(textBytes(frames, frames.indexOf('"a":"') + 5), bytes)
        assert.equal(binary(write(text)).length - 2 - escapeExcess(binary(write(text))), bytes)
      }
    }),
    property(500, 50_000),
  )
  t.equal(textBytes('{"a":"cut', 6), 3, 'a string that never ends')
  t.equal(textBytes('{"a":"cut\n"', 6), 3, 'no string goes over the end of a line')
  t.equal(escapeExcess('nothing'), 0)
})
