/** Parts that a provider signed or encrypted get the mark of its account wherever it stands in a passed stream; text alone is not searched for it. */
import t from 'tap'
import { accountMark, markText } from '../../src/dialects/canon/reasoning-owner.ts'
import { upstreamDialects } from '../../src/dialects/registry.ts'
import { PassRelay } from '../../src/pipeline/attempt/pass-relay.ts'
import { context } from '../dialects/responses/rig.ts'
import { every } from '../support/every.ts'
import { WIRES, type WireName } from '../support/wire.ts'

const SIGNED = 'c2VhbGVkIGJ5IGE='
const LETTERS = 'AAAAbbbb'
const UTTERANCES = { reasoning: ['Let me ', 'see.'], signature: SIGNED, text: ['One ', 'two ', 'three ', 'four.'] }

/** Frames of an answer whose signed reasoning comes after its text. */
function lateFrames(wire: WireName): string[] {
  const frames = WIRES[wire].frames(UTTERANCES)
  const last = frames.findLastIndex((frame) => frame.includes('four.') && frame.includes('elta'))
  const isSigned = (frame: string, at: number): boolean => at < last && frame.includes(SIGNED)
  return [...frames.slice(0, last + 1).filter((frame, at) => !isSigned(frame, at)), ...frames.filter(isSigned), ...frames.slice(last + 1)]
}

for (const wire of ['openai-chat', 'openai-responses', 'anthropic'] as const)
  await t.test(wire, async (t) => {
    const pass = upstreamDialects.get(wire)?.pass
    if (!pass) throw new Error(`${wire} has no pass lane`)
    const frames = lateFrames(wire)
    for (const size of [1, 2, 3, frames.length])
      await every(t, `${size} frames at a time`, async (t) => {
        let searched = 0
        const relay = new PassRelay(pass.stream(context()), (text) => {
          searched++
          return markText(text, pass.signed, LETTERS)
        })
        let out = ''
        let chunks = 0
        for (let at = 0; at < frames.length; at += size) {
          out += relay.feed(Buffer.from(frames.slice(at, at + size).join('')))
          chunks++
        }
        out += relay.close()
        t.equal(out.includes(`${accountMark(LETTERS)}${SIGNED}`), true, out)
        t.equal(out.replaceAll(`${accountMark(LETTERS)}${SIGNED}`, '').includes(SIGNED), false, 'no value goes out without a mark')
        if (size === 1) t.ok(searched <= chunks - 2, 'chunks of text alone are not searched')
      })
  })

t.test('openai-chat: the same signature beside the words of each chunk', async (t) => {
  const pass = upstreamDialects.get('openai-chat')?.pass
  if (!pass) throw new Error('no pass lane')
  const relay = new PassRelay(pass.stream(context()), (text) => markText(text, pass.signed, LETTERS))
  const details = [{ type: 'reasoning.encrypted', data: SIGNED, index: 0 }]
  let out = ''
  for (const content of ['One ', 'two ', 'three ', 'four ', 'five.']) {
    const chunk = {
      id: 'chatcmpl-1',
      created: 1,
      model: 'up',
      choices: [{ index: 0, delta: { role: 'assistant', content, reasoning: 'Hm', reasoning_details: details } }],
    }
    out += relay.feed(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`))
  }
  t.equal(out.split(`${accountMark(LETTERS)}${SIGNED}`).length - 1, 5, out)
})
