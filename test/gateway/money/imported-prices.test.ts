/** A model of an imported price list is charged as the list says, to the nano-dollar. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { models } from '../../../src/cli/models.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { LITELLM, MODELS_DEV } from '../../support/price-lists.ts'
import { jsonAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'

interface Usage {
  input: number
  output: number
  cached: number
}

const reply = ({ input, output, cached }: Usage): JsonObject => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1,
  model: 'acme-one',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Yes.' }, finish_reason: 'stop' }],
  usage: {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
  },
})

async function imported(t: Test, list: JsonObject): Promise<{ gateway: Gateway; upstream: Upstream }> {
  const directory = t.testdir()
  const [file, config, catalog] = ['list.json', 'before.yaml', 'imported.yaml'].map((name) => join(directory, name))
  writeFileSync(file, JSON.stringify(list))
  const upstream = await startUpstream(() => jsonAnswer({}))
  t.teardown(() => upstream.close())
  const providers = `providers: { openai: { preset: openai-chat, base_url: "${upstream.url}/v1", key: sk-provider-1 } }\n`
  writeFileSync(config, providers)
  const utterance: string[] = []
  const streams = { out: () => undefined, error: (line: string) => utterance.push(line) }
  t.equal(await models(['import'], { config, from: file, write: catalog }, streams, {}), 0, utterance.join('\n'))
  const gateway = await startGateway(`${providers}catalog: [imported.yaml]\n`, { directory })
  t.teardown(() => gateway.close())
  return { gateway, upstream }
}

async function cost({ gateway, upstream }: Awaited<ReturnType<typeof imported>>, usage: Usage): Promise<number> {
  upstream.script = () => jsonAnswer(reply(usage))
  const answer = await gateway.post('/v1/chat/completions', { model: 'openai/acme-one', messages: [{ role: 'user', content: 'Hello' }] })
  const id = answer.headers.get('x-generation-id') ?? ''
  await answer.json()
  const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: { total_cost: number } }
  return Math.round(data.total_cost * 1e9)
}

t.test("by LiteLLM's list", async (t) => {
  const scene = await imported(t, { 'acme-one': { ...(LITELLM['acme-one'] as JsonObject), mode: 'chat' } })
  await every(t, 'each usage', async (t) => {
    // Nano-dollars per token of the list: 100 in, 400 out, 12.5 from the cache; above 272,000 tokens 200, 600, 25.
    t.equal(await cost(scene, { input: 1, output: 0, cached: 0 }), 100)
    t.equal(await cost(scene, { input: 1001, output: 7, cached: 1 }), 1000 * 100 + 7 * 400 + 13, 'half a nano-dollar is rounded up')
    t.equal(await cost(scene, { input: 272_000, output: 10, cached: 200_000 }), 72_000 * 100 + 10 * 400 + 200_000 * 12.5)
    t.equal(await cost(scene, { input: 272_001, output: 10, cached: 200_000 }), 72_001 * 200 + 10 * 600 + 200_000 * 25)
  })
})

t.test("by models.dev's list", async (t) => {
  const scene = await imported(t, { openai: MODELS_DEV.openai })
  await every(t, 'each usage', async (t) => {
    // 5,000 in, 30,000 out, 300 from the cache; above 272,000 tokens 10,000, 45,000, 1,000.
    t.equal(await cost(scene, { input: 1000, output: 3, cached: 999 }), 5000 + 3 * 30_000 + 999 * 300)
    t.equal(await cost(scene, { input: 272_001, output: 3, cached: 1 }), 272_000 * 10_000 + 3 * 45_000 + 1000)
  })
})
