/**
 * Words that a provider defines beyond OpenAI's reach a provider of the caller's own format, in both lanes:
 * tools without a type and `tool_choice: any` (@mistralai/mistralai 2.7.0: `Tool.type` has a default, `ToolChoiceEnum`), efforts
 * (console.groq.com, "Reasoning": `default`) and others. Of tiers a provider is sent the one that its endpoint declares, since prices depend
 * on it: another is recorded.
 */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { type Client, PATHS } from '../../support/providers.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const LANES = ['pass', 'translate'] as const
const schema = { type: 'object', properties: {} }
const bare = { function: { name: 'weather', parameters: schema } }
const typed = { type: 'function', ...bare }
const flat = { type: 'function', name: 'weather', parameters: schema }
const block = { name: 'weather', input_schema: schema }

const upstream = await startUpstream((seen) => answerFor(seen, { text: ['Fine.'] }))
t.teardown(() => upstream.close())

interface Case {
  fields: JsonObject
  /** Fields that the provider gets in each lane. */
  pass: JsonObject
  translate: JsonObject
}

const alike = (fields: JsonObject): Case => ({ fields, pass: fields, translate: fields })

const CASES: Readonly<Record<Client, readonly Case[]>> = {
  chat: [
    { fields: { tools: [bare] }, pass: { tools: [bare] }, translate: { tools: [typed] } },
    { fields: { tools: [typed], tool_choice: 'any' }, pass: { tool_choice: 'any' }, translate: { tool_choice: 'required' } },
    alike({ reasoning_effort: 'default' }),
    alike({ reasoning_effort: 'ultra' }),
  ],
  responses: [
    { fields: { tools: [flat], tool_choice: 'any' }, pass: { tool_choice: 'any' }, translate: { tool_choice: 'required' } },
    alike({ reasoning: { effort: 'ultra', summary: 'full' } }),
    alike({ text: { verbosity: 'terse' } }),
  ],
  messages: [
    { fields: { tools: [block] }, pass: { tools: [block] }, translate: { tools: [block] } },
    alike({ thinking: { type: 'adaptive' }, output_config: { effort: 'ultra' } }),
  ],
}
const DIALECTS: Readonly<Record<Client, string>> = { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic' }

const clientBody = (client: Client, fields: JsonObject): JsonObject => {
  const messages = [{ role: 'user', content: 'Hello' }]
  const own = client === 'responses' ? { input: messages } : client === 'chat' ? { messages } : { messages, max_tokens: 4000 }
  return { model: 'acme/one', ...own, ...fields }
}

for (const client of Object.keys(CASES) as Client[])
  for (const lane of LANES)
    t.test(`${client}, ${lane}`, async (t) => {
      const yaml = oneModel(upstream.url, DIALECTS[client])
      const gateway = await startGateway(client === 'messages' ? yaml.replace('/v1"', '"') : yaml, { lane })
      t.teardown(() => gateway.close())
      await every(t, 'each word', async (t) => {
        for (const each of CASES[client]) {
          const name = JSON.stringify(each.fields)
          const reply = await gateway.post(PATHS[client], clientBody(client, each.fields))
          t.equal(reply.status, 200, `${name}: ${await reply.text()}`)
          t.match(upstream.requests.at(-1)?.json, each[lane], name)
        }
      })
    })

t.test('a tier that no endpoint declares is recorded', async (t) => {
  for (const client of Object.keys(CASES) as Client[]) {
    const yaml = oneModel(upstream.url, DIALECTS[client])
    const gateway = await startGateway(client === 'messages' ? yaml.replace('/v1"', '"') : yaml)
    t.teardown(() => gateway.close())
    const reply = await gateway.post(PATHS[client], clientBody(client, { service_tier: 'scale' }))
    t.equal(reply.status, 200, await reply.text())
    t.notOk('service_tier' in (upstream.requests.at(-1)?.json ?? {}), client)
    const found = (await (await gateway.get(`/v1/generation?id=${reply.headers.get('x-generation-id')}`)).json()) as JsonObject
    t.match(list(object(found.data).provider_responses), [{ dropped: ['service_tier'] }], client)
  }
})
