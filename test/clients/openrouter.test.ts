/**
 * White label: with their brand word the official clients of a service that speaks this API work unchanged,
 * and every identifier on the wire reads that word.
 */

import { createOpenRouter } from '@openrouter/ai-sdk-provider'
import { OpenRouter } from '@openrouter/sdk'
import t from 'tap'
import { FakeClock } from '../support/clock.ts'
import { KEY, oneModel, startGateway } from '../support/gateway.ts'
import { Gate, sseAnswer, startUpstream } from '../support/upstream.ts'
import { framesFor } from '../support/wire.ts'
import { AI_SDK_ERRORS, askWithAiSdk } from './support/ai-sdk.ts'
import { type Ask, type Client, STRANGER, type Told } from './support/client.ts'
import { exercise } from './support/exercise.ts'
import { DIALECTS, dialectModel, startHouse } from './support/house.ts'
import { askChat, askResponses, SDK_CLASSES, statusOfSdk } from './support/openrouter-sdk.ts'

const BRAND = 'openrouter'
const house = await startHouse(t, `brand: { word: ${BRAND} }`)
const sdkWith = (apiKey: string): OpenRouter => new OpenRouter({ apiKey, serverURL: `${house.gateway.url}/v1` })

const sdkClient = (name: string, ask: (sdk: OpenRouter, ask: Ask) => Promise<Told>): Client => ({
  name,
  ask: (asked) => ask(sdkWith(KEY), asked),
  askAsStranger: (asked) => ask(sdkWith(STRANGER), asked),
  classes: SDK_CLASSES,
  errorStatus: statusOfSdk,
})

const providerWith = (apiKey: string) => createOpenRouter({ baseURL: `${house.gateway.url}/v1`, apiKey, compatibility: 'strict' })
const REASONING = { openrouter: { reasoning: { effort: 'medium' } } } as const

await exercise(t, house, sdkClient('openrouter-sdk responses', askResponses))
await exercise(t, house, sdkClient('openrouter-sdk chat', askChat))
await exercise(t, house, {
  name: 'ai-sdk openrouter',
  ask: (ask) => askWithAiSdk(providerWith(KEY)(ask.model), ask, REASONING),
  askAsStranger: (ask) => askWithAiSdk(providerWith(STRANGER)(ask.model), ask, REASONING),
  ...AI_SDK_ERRORS,
})

/** Places where the wire shows the default word instead of the brand. */
const strays = (bytes: string): string[] => [...bytes.matchAll(/.{0,20}(?<!open)router.{0,20}/gi)].map(([match]) => match)

const REQUESTS: readonly [path: string, body: object][] = [
  ['/v1/responses', { input: 'What time is it?', tools: [{ type: `${BRAND}:datetime` }] }],
  ['/v1/chat/completions', { messages: [{ role: 'user', content: 'What time is it?' }], tools: [{ type: `${BRAND}:datetime` }] }],
]

for (const dialect of DIALECTS)
  for (const [path, body] of REQUESTS)
    for (const stream of [false, true])
      t.test(`the raw bytes of ${path} from ${dialect}${stream ? ', streaming' : ''} hold their word only`, async (t) => {
        house.script({ calls: [{ id: 'call_a', name: `${BRAND}_datetime`, args: ['{}'] }] }, { text: ['Tea ', 'time.'] })
        const reply = await house.gateway.post(path, { ...body, model: dialectModel(dialect), stream }, { 'x-openrouter-metadata': 'enabled' })
        const bytes = await reply.text()
        t.equal(reply.status, 200)
        t.match(bytes, /Tea/)
        t.match(bytes, '"openrouter_metadata":{')
        if (path === '/v1/responses') t.match(bytes, '"type":"openrouter:datetime"')
        t.same(strays(bytes), [])
        t.same(strays(JSON.stringify([...reply.headers])), [])
        t.equal(house.seen().length, 2, 'the tool was run by the gateway')
      })

t.test('the comment of a silent stream has their word', async (t) => {
  const gate = new Gate()
  const clock = new FakeClock()
  const upstream = await startUpstream((seen) => sseAnswer([gate.step, ...framesFor(seen.path, { text: ['late'] })]))
  t.teardown(() => upstream.close())
  const gateway = await startGateway(`brand: { word: ${BRAND} }\n${oneModel(upstream.url, 'openai-chat')}`, { clock })
  t.teardown(() => gateway.close())
  const asked = gateway.post('/v1/chat/completions', { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] })
  await upstream.request(0)
  await clock.advance(10_000)
  const reply = await asked
  gate.open()
  const bytes = await reply.text()
  t.match(bytes, /^: OPENROUTER PROCESSING$/m)
  t.match(bytes, /late/)
  t.same(strays(bytes), [])
})
