/** Whatever a preset holds, it never makes a sound body wrong, and never changes what the caller sends. */
import fc from 'fast-check'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { type Preset, sends } from '../../src/dialects/canon/presets.ts'
import { chatClient } from '../../src/dialects/chat/index.ts'
import { messagesClient, messagesCounting } from '../../src/dialects/messages/index.ts'
import { responsesClient } from '../../src/dialects/responses/index.ts'
import type { ClientDialect } from '../../src/dialects/types.ts'
import { property } from '../support/seed.ts'

const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined })
const real = (min: number, max: number) => fc.integer({ min: min * 10, max: max * 10 }).map((tenths) => tenths / 10)
const tokens = fc.constantFrom(1, 100, 1024, 1025, 4000, 200_000, 9_000_000)
const effort = fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')

const reasoning = fc
  .record({
    effort: maybe(effort),
    max_tokens: maybe(tokens),
    enabled: maybe(fc.boolean()),
    exclude: maybe(fc.boolean()),
    summary: maybe(fc.constantFrom('auto', 'concise', 'detailed')),
  })
  .filter(({ effort, enabled }) => enabled !== false || effort === undefined || effort === 'none')

const parameters = fc.record({
  temperature: maybe(real(0, 2)),
  top_p: maybe(real(0, 1)),
  top_k: maybe(fc.nat(100)),
  min_p: maybe(real(0, 1)),
  top_a: maybe(real(0, 1)),
  frequency_penalty: maybe(real(-2, 2)),
  presence_penalty: maybe(real(-2, 2)),
  repetition_penalty: maybe(real(0, 2)),
  seed: maybe(fc.integer()),
  max_tokens: maybe(tokens),
  reasoning: maybe(reasoning),
})

const preset = fc
  .record({ parameters, systemPrompt: maybe(fc.string({ minLength: 1 })) })
  .map((each) => JSON.parse(JSON.stringify(each)) as Preset)

const HELLO: JsonObject[] = [{ role: 'user', content: 'Hello' }]
const sampling = { temperature: maybe(fc.constantFrom(0, 0.5, 1)), top_p: maybe(real(0, 1)), top_k: maybe(fc.nat(9)) }

const bodies: Record<string, { client: ClientDialect; body: fc.Arbitrary<JsonObject> }> = {
  chat: {
    client: chatClient,
    body: fc.record({
      messages: fc.constant(HELLO),
      ...sampling,
      max_tokens: maybe(tokens),
      max_completion_tokens: maybe(tokens),
      reasoning_effort: maybe(effort),
      reasoning: maybe(fc.constant({ exclude: true })),
    }) as fc.Arbitrary<JsonObject>,
  },
  'chat with a prompt': {
    client: chatClient,
    body: fc.record({ prompt: fc.constant('Hello'), seed: maybe(fc.integer()) }) as fc.Arbitrary<JsonObject>,
  },
  responses: {
    client: responsesClient,
    body: fc.record({
      input: fc.constantFrom('Hello', HELLO),
      ...sampling,
      instructions: maybe(fc.constantFrom('', 'Mine.')),
      max_output_tokens: maybe(tokens),
      reasoning: maybe(fc.constantFrom({}, { effort: 'low' })),
    }) as fc.Arbitrary<JsonObject>,
  },
  messages: {
    client: messagesClient,
    body: fc.record({
      messages: fc.constant(HELLO),
      ...sampling,
      max_tokens: tokens,
      system: maybe(fc.constantFrom('', 'Mine.', [{ type: 'text', text: 'Mine.' }])),
      thinking: maybe(fc.constantFrom({ type: 'adaptive' }, { type: 'disabled' })),
      output_config: maybe(fc.constant({ effort: 'low' })),
    }) as fc.Arbitrary<JsonObject>,
  },
  counting: { client: messagesCounting, body: fc.record({ messages: fc.constant(HELLO) }) as fc.Arbitrary<JsonObject> },
}

/** Place of a system prompt. */
const OPENING: ReadonlySet<string> = new Set(['messages', 'prompt', 'system', 'instructions'])

for (const [name, { client, body }] of Object.entries(bodies)) {
  t.test(name, async (t) => {
    let cases = 0
    fc.assert(
      fc.property(preset, body, (preset, made) => {
        const sent = JSON.parse(JSON.stringify(made)) as JsonObject
        client.check(sent)
        const before = JSON.stringify(sent)
        const whole = client.withPreset?.(sent, preset) ?? sent
        client.check(whole)
        if (JSON.stringify(sent) !== before) throw new Error("the caller's own body has changed")
        for (const field of Object.keys(sent)) {
          if (OPENING.has(field) && preset.systemPrompt !== undefined) continue
          if (sends(sent, field) && JSON.stringify(whole[field]) !== JSON.stringify(sent[field])) throw new Error(`${field} has changed`)
        }
        const [first] = client.decodeRequest(client === messagesCounting ? { max_tokens: 1, ...whole } : whole).items
        const part = first.kind === 'message' && first.role === 'system' ? first.parts[0] : undefined
        const text = part?.kind === 'text' ? part.text : ''
        if (preset.systemPrompt !== undefined && !text.startsWith(preset.systemPrompt)) throw new Error('the system prompt is not first')
        const { thinking, max_tokens: cap } = whole as { thinking?: { budget_tokens?: number }; max_tokens?: number }
        if (thinking?.budget_tokens !== undefined && thinking.budget_tokens >= (cap ?? 0)) throw new Error('no room for the answer')
        cases++
      }),
      property(400, 20_000),
    )
    t.ok(cases > 0)
  })
}

t.test('every parameter that the configuration takes is one that chat requests take', async (t) => {
  const text = `
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
presets: { p: { parameters: { temperature: 2, top_p: 1, top_k: 0, min_p: 1, top_a: 1, frequency_penalty: -2, presence_penalty: 2,
  repetition_penalty: 2, seed: -1, max_tokens: 1, reasoning: { effort: max, max_tokens: 1, enabled: true, exclude: true, summary: auto } } } }
`
  const found = loadConfig('f.yaml', {}, { text }).presets.get('p')
  if (!found) throw new Error('no preset')
  const whole = chatClient.withPreset?.({ messages: HELLO }, found)
  t.match(whole, found.parameters)
  t.doesNotThrow(() => chatClient.check(whole ?? {}))
})
