/** Service tiers: what providers are sent, and what is charged (docs/contract.md#service-tiers). */
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import type { Gateway } from '../../support/gateway.ts'
import { CLIENTS, type Client, PATHS, questionFor } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, jsonAnswer, type Script, type Seen, sseAnswer, type Upstream } from '../../support/upstream.ts'
import { framesFor, pathWire, replyFor, WIRES, type WireName } from '../../support/wire.ts'

const WIRE_NAMES = Object.keys(WIRES) as WireName[]
const TOKENS = 18
/** Nano-dollars of the answer: a dollar per million tokens, nine in the priority tier, half a one in the flex tier. */
const PLAIN = TOKENS * 1000
const PRIORITY = 9 * PLAIN
const FLEX = PLAIN / 2
const UTTERANCES = { text: ['Hello'], usage: { input: 11, output: 7 } }

type Tier = 'default' | 'flex' | 'priority'

/** Each wire's word for the tier that served; none of Anthropic's means flex. */
const REPORTED: Readonly<Record<WireName, Readonly<Record<Tier, string>>>> = {
  'openai-chat': { default: 'default', flex: 'flex', priority: 'priority' },
  'openai-responses': { default: 'default', flex: 'flex', priority: 'priority' },
  anthropic: { default: 'standard', flex: 'standard', priority: 'priority' },
  gemini: { default: 'ON_DEMAND', flex: 'ON_DEMAND_FLEX', priority: 'ON_DEMAND_PRIORITY' },
}

/** A sound answer that names the tier, or none at all. */
function serving(tier: Tier | undefined): Script {
  return (seen): Answer => {
    const wire = pathWire(seen.path)
    const written = (json: string): string => {
      const bare = json.replaceAll(/"service_tier":"\w+",?/g, '')
      if (tier === undefined) return bare
      const word = REPORTED[wire][tier]
      if (wire === 'gemini') return bare.replaceAll('"usageMetadata":{', `"usageMetadata":{"trafficType":"${word}",`)
      if (wire === 'anthropic') return bare.replaceAll('"usage":{', `"usage":{"service_tier":"${word}",`)
      const at = wire === 'openai-chat' ? '"object":"chat' : '"object":"response"'
      return bare.replaceAll(at, `"service_tier":"${word}",${at}`)
    }
    if (WIRES[wire].streams(seen)) return sseAnswer(framesFor(seen.path, UTTERANCES).map(written))
    return jsonAnswer(JSON.parse(written(JSON.stringify(replyFor(seen.path, UTTERANCES)))) as JsonObject)
  }
}

interface Tiers {
  gateway: Gateway
  upstream: Upstream
  ask(client: Client, model: string, more: JsonObject, escaped?: boolean): Promise<{ sent: JsonObject; cost: number; record: JsonObject }>
}

/** `plain/<wire>` has one endpoint without a tier; `tiered/<wire>` has one of each. */
async function startTiers(): Promise<Tiers> {
  const { gateway, upstream } = await startScene(t, {
    answer: serving(undefined),
    config: (url) => {
      const base: Readonly<Record<WireName, string>> = { 'openai-chat': '/v1', 'openai-responses': '/v1', anthropic: '', gemini: '/v1beta' }
      const providers = WIRE_NAMES.map((wire) => `  ${wire}: { dialect: ${wire}, base_url: "${url}${base[wire]}" }`)
      const priced = (usd: string): string => `price: { prompt: "${usd}", completion: "${usd}" }`
      const models = WIRE_NAMES.flatMap((wire) => [
        `  plain/${wire}: { context: 100000, endpoints: [ { provider: ${wire}, model: m, ${priced('1.00')} } ] }`,
        `  tiered/${wire}:`,
        '    context: 100000',
        '    endpoints:',
        `      - { provider: ${wire}, model: m, ${priced('1.00')} }`,
        `      - { provider: ${wire}, model: m, tier: priority, ${priced('9.00')} }`,
        `      - { provider: ${wire}, model: m, tier: flex, ${priced('0.50')} }`,
      ])
      return `providers:\n${providers.join('\n')}\nmodels:\n${models.join('\n')}\n`
    },
    clock: systemClock,
  })
  const ask: Tiers['ask'] = async (client, model, more, escaped = false) => {
    const body = JSON.stringify({ ...questionFor(client), model, ...more })
    const response = await gateway.post(PATHS[client], escaped ? body.replaceAll(/"(s|extra_)(?=\w+":)/g, ESCAPE) : body)
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${client} ${model}: ${response.status} ${text}`)
    const id = response.headers.get('x-generation-id')
    const { data: record } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: JsonObject }
    const seen = upstream.requests.at(-1) as Seen
    return { sent: seen.json, cost: Math.round(Number(record.total_cost) * 1e9), record }
  }
  return { gateway, upstream, ask }
}

const { upstream, ask } = await startTiers()

/** Tiers in a request to a provider, by whatever name and at whatever depth. */
const tierWords = (sent: unknown): unknown[] =>
  Object.entries(sent ?? {}).flatMap(([key, value]) => {
    if (['service_tier', 'serviceTier', 'speed'].includes(key)) return [value]
    return typeof value === 'object' ? tierWords(value) : []
  })

/** The first letter of a name as an escape. */
const ESCAPE = (start: string): string => `"\\u00${start.charCodeAt(1).toString(16)}${start.slice(2)}`

const cases = CLIENTS.flatMap((client) =>
  WIRE_NAMES.flatMap((wire) => [false, true].map((stream) => ({ client, wire, stream, name: `${client} → ${wire}, stream ${stream}` }))),
)

t.test('an endpoint without a tier is sent none', async (t) => {
  upstream.script = serving(undefined)
  await every(t, 'every case', async (t) => {
    for (const { client, wire, stream, name } of cases) {
      const asking: JsonObject[] = [{}, ...['priority', 'fast', 'flex', 'scale', 'auto', null].map((word) => ({ service_tier: word }))]
      if (client === 'messages') asking.push({ speed: 'fast' }, { speed: 'fast', service_tier: 'priority' })
      for (const more of asking) {
        const { sent, cost, record } = await ask(client, `plain/${wire}`, { ...more, stream })
        const utterance = `${name}: ${JSON.stringify(more)}`
        t.same(tierWords(sent), [], utterance)
        t.equal(cost, PLAIN, `${utterance}: and the plain price is charged`)
        const [call] = record.provider_responses as JsonObject[]
        const lost = ['priority', 'fast', 'flex', 'scale'].includes(String(more.service_tier)) || 'speed' in more
        const recorded = ((call.dropped ?? []) as string[]).filter((field) => field === 'service_tier' || field === 'speed')
        t.equal(recorded.length > 0, lost, `${utterance}: recorded as dropped where it was asked for`)
      }
    }
  })
})

t.test('words for a tier that the format does not name do not reach an endpoint without one', async (t) => {
  upstream.script = serving(undefined)
  const kept = { thinking_config: { thinking_level: 'low' } }
  const words: readonly (readonly [JsonObject, string])[] = [
    [{ speed: 'fast' }, 'speed'],
    [{ serviceTier: 'priority' }, 'serviceTier'],
    [{ extra_body: { service_tier: 'priority', keep: 1 } }, 'extra_body.service_tier'],
    [{ extra_body: { speed: 'fast' } }, 'extra_body.service_tier'],
    [{ extra_body: { google: { serviceTier: 'priority', ...kept } } }, 'extra_body.service_tier'],
  ]
  const own: Readonly<Record<Client, WireName>> = { chat: 'openai-chat', responses: 'openai-responses', messages: 'anthropic' }
  await every(t, 'every case', async (t) => {
    for (const { client, wire, stream, name } of cases)
      for (const [more, lost] of words)
        for (const escaped of [false, true]) {
          const utterance = `${name}: ${JSON.stringify(more)}${escaped ? ', escaped' : ''}`
          const { sent, cost, record } = await ask(client, `plain/${wire}`, { ...more, stream }, escaped)
          t.same(tierWords(sent), [], utterance)
          t.equal(cost, PLAIN, utterance)
          const [call] = record.provider_responses as JsonObject[]
          if (own[client] !== wire) continue
          t.ok(((call.dropped ?? []) as string[]).includes(lost), `${utterance}: recorded`)
          const rest = sent.extra_body as JsonObject | undefined
          if ('google' in ((more.extra_body ?? {}) as JsonObject)) t.same(rest, { google: kept }, `${utterance}: the rest arrives`)
        }
  })
})

t.test('an explicit usual tier reaches the endpoint in the words of its wire', async (t) => {
  upstream.script = serving('default')
  const words: Readonly<Record<WireName, string>> = {
    'openai-chat': 'default',
    'openai-responses': 'default',
    anthropic: 'standard_only',
    gemini: 'standard',
  }
  await every(t, 'every case', async (t) => {
    for (const { client, wire, stream, name } of cases) {
      const { sent, cost } = await ask(client, `tiered/${wire}`, { service_tier: 'default', stream })
      t.same(tierWords(sent), [words[wire]], name)
      t.equal(cost, PLAIN, name)
    }
  })
})

t.test('an endpoint of a tier is sent that tier, whatever opened it, and its price is charged', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const { client, wire, stream, name } of cases)
      for (const tier of ['priority', 'flex'] as const) {
        upstream.script = serving(undefined)
        const word = wire === 'anthropic' ? { priority: ['auto'], flex: [] }[tier] : [tier]
        const price = tier === 'priority' ? PRIORITY : FLEX
        for (const more of [{ service_tier: tier }, { provider: { only: [`${wire}/${tier}`] } }]) {
          const { sent, cost, record } = await ask(client, `tiered/${wire}`, { ...more, stream })
          const utterance = `${name}: ${JSON.stringify(more)}`
          t.same(tierWords(sent), word, utterance)
          t.equal(cost, price, utterance)
          t.equal(record.service_tier, tier, `${utterance}: and the record says so`)
        }
      }
  })
})

t.test('the tier that the provider reports is charged where its price is known', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const { client, wire, stream, name } of cases) {
      upstream.script = serving('priority')
      t.equal((await ask(client, `tiered/${wire}`, { stream })).cost, PRIORITY, `${name}: better than asked`)
      t.equal((await ask(client, `plain/${wire}`, { stream })).cost, PLAIN, `${name}: no price is known for it`)
      upstream.script = serving('default')
      t.equal((await ask(client, `tiered/${wire}`, { service_tier: 'priority', stream })).cost, PLAIN, `${name}: worse than asked`)
    }
  })
})
