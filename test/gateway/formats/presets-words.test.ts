/** Parameters that presets without a stand-in send for "no thinking" and for efforts, by the material that each names; the wires of Ollama besides chat. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { startScene } from '../../support/scene.ts'

const template = { chat_template_kwargs: { enable_thinking: false, thinking: false } }

const WORDS: Readonly<Record<string, { off: JsonObject; low: string }>> = {
  novita: { off: { enable_thinking: false }, low: 'low' },
  siliconflow: { off: { enable_thinking: false }, low: 'high' },
  wandb: { off: template, low: 'low' },
  nvidia: { off: template, low: 'low' },
  cloudflare: { off: template, low: 'low' },
  'lm-studio': { off: { reasoning_effort: 'none' }, low: 'low' },
}

const FIELDS = ['thinking', 'reasoning', 'reasoning_effort', 'enable_thinking', 'chat_template_kwargs']

t.test('no thinking, and a little of it', async (t) => {
  for (const [preset, { off, low }] of Object.entries(WORDS))
    await every(t, preset, async (t) => {
      const { ask, upstream } = await startScene(t, { provider: `preset: ${preset}, discover: false` })
      const sent = async (more: JsonObject, client: 'chat' | 'messages' = 'chat'): Promise<JsonObject> => {
        const response = await ask(more, client)
        t.equal(response.status, 200, await response.text())
        const body = object(upstream.requests.at(-1)?.json)
        return Object.fromEntries(FIELDS.flatMap((field) => (body[field] === undefined ? [] : [[field, body[field]]])))
      }
      t.same(await sent({ reasoning_effort: 'none' }), off)
      t.same(await sent({ thinking: { type: 'disabled' } }, 'messages'), off)
      t.same(await sent({ reasoning_effort: 'low' }), { reasoning_effort: low })
      t.same(await sent({}), {})
    })
})

t.test('Ollama over Responses: developer messages and open thoughts reach the model, a schema is checked', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'openai-responses', provider: 'preset: ollama-responses, discover: false' })
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Hm' }] }
  const utterance = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'So.' }] }
  const input = [
    { role: 'developer', content: 'Be short.' },
    { role: 'user', content: 'Hello' },
    thought,
    utterance,
    { role: 'user', content: 'Go on' },
  ]
  const response = await ask({ input: input as unknown as JsonObject[], reasoning: { effort: 'minimal' } }, 'responses')
  t.equal(response.status, 200, await response.text())
  const sent = object(upstream.requests.at(-1)?.json)
  t.match(JSON.stringify(sent.input), /"role":"system".*reasoning_text/)
  t.equal(object(sent.reasoning).effort, 'low')
})

t.test('Ollama over Messages: thinking without a signature is taken back from callers of every format', async (t) => {
  const { ask, upstream } = await startScene(t, { dialect: 'anthropic', provider: 'preset: ollama-messages, discover: false' })
  const messages = [
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'So.', reasoning: 'Hm' },
    { role: 'user', content: 'Go on' },
  ]
  const response = await ask({ messages })
  t.equal(response.status, 200, await response.text())
  t.match(JSON.stringify(object(upstream.requests.at(-1)?.json).messages), /"type":"thinking","thinking":"Hm","signature":""/)
})
