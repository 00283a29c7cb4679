/** `service_tier`: which words callers may use, and which one a provider is sent: of its own list, and no other. */
import t from 'tap'
import { presetNames, providerPreset } from '../../../src/config/provider-presets.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { REQUESTED_TIERS, STANDARD_ONLY } from '../../../src/core/service-tiers.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { CLIENTS, PATHS, questionFor } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'

/** OpenAI's list, and what this gateway knows of others. */
const EVERYWHERE = ['auto', 'default', 'flex', 'priority', 'scale', 'fast', 'ultrafast', 'on_demand', 'performance', 'standard', null]
const NOWHERE = ['turbo', 'Priority', 'batch', 'reserved', '', 'standard-only', 5, true, ['flex']]

t.test('words of callers', async (t) => {
  const { ask, upstream } = await startScene(t)
  await every(t, 'each word in each format', async (t) => {
    for (const client of CLIENTS) {
      for (const word of EVERYWHERE) t.equal((await ask({ service_tier: word }, client)).status, 200, `${client}: ${word}`)
      const messages = (await ask({ service_tier: 'standard_only' }, client)).status
      t.equal(messages, client === 'messages' ? 200 : 400, `${client}: standard_only`)
      const sent = upstream.requests.length
      for (const word of NOWHERE) {
        const response = await ask({ service_tier: word as string }, client)
        const body = (await response.json()) as JsonObject
        t.equal(response.status, 400, `${client}: ${JSON.stringify(word)}`)
        t.match(object(body.error).message, /service_tier/)
      }
      t.equal(upstream.requests.length, sent, 'nothing of it was sent')
    }
  })
})

t.test('a provider is sent its own word, or none', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `
providers:
  groq: { preset: groq, base_url: "${url}/v1", key: sk-1 }
  fireworks: { preset: fireworks, base_url: "${url}/v1", key: sk-1 }
  mistral: { preset: mistral, base_url: "${url}/v1", key: sk-1 }
  minimax: { preset: minimax-chat, base_url: "${url}/v1", key: sk-1 }
  plain: { dialect: openai-chat, base_url: "${url}/v1" }
models:
${['groq', 'fireworks', 'mistral', 'minimax', 'plain']
  .map((provider) => {
    const endpoint = (tier: string) =>
      `{ provider: ${provider}, model: m, price: { prompt: "1", completion: "1" }${tier && `, tier: ${tier}`} }`
    return `  acme/${provider}: { endpoints: [${['', 'flex', 'priority', 'ultrafast'].map(endpoint).join(', ')}] }`
  })
  .join('\n')}
`,
  })
  const sent = async (provider: string, service_tier: string): Promise<unknown> => {
    const response = await gateway.post(PATHS.chat, { ...questionFor('chat'), model: `acme/${provider}`, service_tier })
    t.equal(response.status, 200, await response.text())
    return upstream.requests.at(-1)?.json.service_tier
  }
  const WORDS = ['auto', 'default', 'standard', 'flex', 'priority', 'fast', 'performance', 'ultrafast']
  const words = async (provider: string): Promise<unknown[]> => {
    const all: unknown[] = []
    for (const word of WORDS) all.push(await sent(provider, word))
    return all
  }
  const none = undefined
  t.same(await words('groq'), [none, 'on_demand', 'on_demand', 'flex', 'performance', 'performance', 'performance', none])
  t.same(await words('minimax'), [none, 'standard', 'standard', none, 'priority', 'priority', 'priority', none])
  t.same(await words('fireworks'), [none, 'default', 'default', none, 'priority', 'priority', 'priority', none])
  t.same(await words('mistral'), [none, 'standard_only', 'standard_only', none, 'auto', 'auto', 'auto', none])
  t.same(await words('plain'), [none, 'default', 'default', 'flex', 'priority', 'priority', 'priority', 'ultrafast'])
})

t.test('callers know every word that a preset names', (t) => {
  for (const name of presetNames()) {
    const { quirks } = providerPreset(name).provider
    for (const word of Object.values(object(object(quirks ?? {}).service_tiers ?? {})))
      t.ok([...REQUESTED_TIERS, STANDARD_ONLY].includes(String(word)), `${name}: ${word}`)
  }
  t.end()
})
