/** The published rules of the Responses format hold whichever wire the provider speaks: required keys, no null, order of events. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { inOrder, wellFormed } from '../../support/responses-rules.ts'
import { startScene } from '../../support/scene.ts'
import type { Script } from '../../support/upstream.ts'
import { says, type Utterance } from '../../support/wire.ts'

const ANSWERS: Readonly<Record<string, Utterance>> = {
  text: { text: ['It ', 'rains'] },
  empty: { text: [] },
  'reasoning, then text': { reasoning: ['look ', 'outside'], signature: 'c2VhbA==', text: ['It rains'] },
  'parallel calls': {
    text: ['One moment'],
    calls: [
      { id: 'call_a', name: 'weather', args: ['{"place":', '"Rome"}'] },
      { id: 'call_b', name: 'weather', args: ['{"place":"Oslo"}'] },
    ],
  },
  refusal: { refusal: ['I ', 'will not'] },
  length: { text: ['It ra'], end: 'length' },
  filtered: { text: ['It '], end: 'content_filter' },
  citations: { text: ['It rains'], citations: [{ url: 'https://a.example', title: 'A' }] },
}
const DIALECTS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini'] as const
const BASES: Readonly<Record<string, string>> = { anthropic: '', gemini: '/v1beta' }

let script: Script = says({ text: ['fine'] })
const { gateway } = await startScene(t, {
  answer: (seen, index) => script(seen, index),
  config: (url) => `
providers:
${DIALECTS.map((id) => `  ${id}: { dialect: ${id}, base_url: "${url}${BASES[id] ?? '/v1'}", key: sk-up }`).join('\n')}
models:
${DIALECTS.map((id) => `  m/${id}: { input: [text, image], endpoints: [ { provider: ${id}, model: m, price: free } ] }`).join('\n')}
`,
})

const picture = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' }
const QUESTION: JsonObject = {
  input: [
    { role: 'user', content: [{ type: 'input_text', text: 'Does it rain here?' }, picture] },
    { type: 'function_call', call_id: 'call_0', name: 'weather', arguments: '{}' },
    { type: 'function_call_output', call_id: 'call_0', output: 'unknown place' },
    { role: 'user', content: 'In Rome and Oslo.' },
  ],
  tools: [{ type: 'function', name: 'weather', parameters: { type: 'object', properties: { place: { type: 'string' } } } }],
  reasoning: { effort: 'low' },
  include: ['reasoning.encrypted_content'],
}

for (const id of DIALECTS) {
  t.test(id, async (t) => {
    await every(t, 'every case', async (t) => {
      for (const [name, utterance] of Object.entries(ANSWERS)) {
        script = says(utterance)
        const whole = await gateway.post('/v1/responses', { model: `m/${id}`, ...QUESTION })
        t.equal(whole.status, 200, name)
        const response = (await whole.json()) as JsonObject
        wellFormed(t, response, name)
        const streamed = await gateway.post('/v1/responses', { model: `m/${id}`, stream: true, ...QUESTION })
        const events = parseStream(await streamed.text())
        inOrder(t, events, name)
        const told = object(events.at(-1)?.response)
        t.equal(told.status, response.status, `${name}: the same end`)
        // Two wires tell a refusal by the reason of the end alone.
        const filtered = utterance.refusal !== undefined && (id === 'anthropic' || id === 'gemini')
        const cut = utterance.end === 'length' || utterance.end === 'content_filter' || filtered
        t.equal(response.status, cut ? 'incomplete' : 'completed', name)
        t.same(
          list(told.output).map((item) => item.type),
          list(response.output).map((item) => item.type),
          `${name}: the same items`,
        )
      }
    })
  })
}
