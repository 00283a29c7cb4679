/** Whatever a sound provider writes, and however, the caller reads the same in every lane: a property over real sockets. */
import fc from 'fast-check'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { type FoldedReply, foldChatStream, foldResponseStream } from '../../support/fold.ts'
import { countLane } from '../../support/lanes.ts'
import { restyle, type Style } from '../../support/restyle.ts'
import { type Rig, startRigs } from '../../support/rig.ts'
import { property } from '../../support/seed.ts'
import { type Answer, sseAnswer } from '../../support/upstream.ts'
import { framesFor, type Utterance, type UtteranceCall } from '../../support/wire.ts'

const CLIENTS = ['chat', 'responses'] as const
const root = t
const rigs = new Map<string, Rig[]>()
for (const client of CLIENTS) rigs.set(client, await startRigs(t, client))

/** Text that a careless patch of the envelope would take for its own. */
const NASTY = [
  '"id":"chatcmpl-upstream"',
  '"model":"upstream-model"',
  '{"choices":[{"delta":{"content":"x"}}],"usage":{"prompt_tokens":1}}',
  '"usage":null',
  ',"usage":null}',
  '"sequence_number":3,',
  'data: [DONE]\n\n',
  '\n\ndata: {"x":1}\n\n',
  '"finish_reason":"stop"',
  '"delta":"',
  '\\',
  '\\"',
  '\\n\\u0000',
  '\u2028\u2029',
  'é日本😀',
  '"}]}',
  '"response":{"id":"resp_upstream"}',
  '"error":{"message":"no"}',
  '<think>',
  '\r\n',
  '\ufeff',
]

const word = fc.oneof(fc.constantFrom(...NASTY), fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ minLength: 1, maxLength: 40 }))
const words = fc.array(word, { minLength: 1, maxLength: 6 })
const args = fc
  .array(fc.constantFrom('x\\"y', ',', '}', ' ', '\\"id\\":\\"no\\"', 'é'), { minLength: 1, maxLength: 4 })
  .map((pieces) => ['{"a":"', ...pieces, '"}'])
const call: fc.Arbitrary<UtteranceCall> = fc.record({ id: fc.constant('call_1'), name: fc.constantFrom('one', 'two'), args })

const saying: fc.Arbitrary<Utterance> = fc.record({
  reasoning: fc.option(words, { nil: undefined }),
  text: words,
  calls: fc.option(
    fc.array(call, { minLength: 1, maxLength: 3 }).map((calls) => calls.map((each, index) => ({ ...each, id: `call_${index}` }))),
    { nil: undefined },
  ),
  usage: fc.record({ input: fc.nat(10_000), output: fc.integer({ min: 1, max: 10_000 }) }),
})

const style: fc.Arbitrary<Style> = fc.record({
  spaced: fc.boolean(),
  escaped: fc.boolean(),
  rotate: fc.nat(9),
  extra: fc.constantFrom<JsonObject>({}, { obfuscation: 'xyz' }, { 'x-new': { id: 'other', model: 'other', usage: null } }, { created: 5 }),
  before: fc.constantFrom('keep', '', ': comment\n', 'id: 7\n', 'event: message\n', 'retry: 10\n: x\n'),
  tight: fc.boolean(),
})

const wire = fc.record({
  /** Styles in turn: a provider may change its clothes within one stream. */
  styles: fc.array(style, { minLength: 1, maxLength: 3 }),
  lineEnd: fc.constantFrom('\n' as const, '\r\n' as const, '\r' as const),
  split: fc.constantFrom(undefined, 16, 97, 1024),
})

async function answered(rig: Rig, client: string): Promise<FoldedReply> {
  const chat = client === 'chat'
  const question = chat ? { messages: [{ role: 'user', content: 'Hello' }] } : { input: 'Hello' }
  const response = await rig.gateway.post(chat ? '/v1/chat/completions' : '/v1/responses', { model: 'acme/one', stream: true, ...question })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${rig.name}: ${response.status} ${text}`)
  return chat ? foldChatStream(text) : foldResponseStream(text)
}

t.test('a stream reads the same in every lane, whatever its style', async (t) => {
  let cases = 0
  const parameters = property(80, 5000)
  await fc.assert(
    fc.asyncProperty(saying, wire, fc.constantFrom(...CLIENTS), async (utterance, { styles, lineEnd, split }, client) => {
      // A carriage return inside JSON text is an escape; restyling line ends touches frames only.
      const answer = (path: string): Answer => ({
        ...sseAnswer(framesFor(path, utterance).map((frame, index) => restyle(frame, styles[index % styles.length]))),
        lineEnd,
        split,
      })
      for (const rig of rigs.get(client) ?? []) {
        rig.upstream.script = (seen) => answer(seen.path)
        const reply = await answered(rig, client)
        const expected = {
          model: 'acme/one',
          text: utterance.text?.join(''),
          reasoning: utterance.reasoning?.join('') ?? '',
          calls: utterance.calls?.map(({ id, name, args }) => ({ callId: id, name, args: args.join('') })) ?? [],
          usage: [utterance.usage?.input, utterance.usage?.output],
        }
        const { model, text, reasoning, calls, usage } = reply
        const found = { model, text, reasoning, calls, usage: [usage?.input, usage?.output] }
        if (
          JSON.stringify(found) !==
          JSON.stringify({ ...expected, calls: expected.calls.map(({ callId, name, args }) => ({ name, callId, args })) })
        )
          throw new Error(`${client} → ${rig.name}:\nfound    ${JSON.stringify(found)}\nexpected ${JSON.stringify(expected)}`)
        countLane(root, rig.lane)
        cases++
      }
    }),
    parameters,
  )
  t.ok(cases >= parameters.numRuns, `${cases} streams`)
})
