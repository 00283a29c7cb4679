/** Cost of a whole reply, in its head, where the operator wants it there. */
import OpenAI from 'openai'
import t from 'tap'
import { KEY } from '../../support/gateway.ts'
import { CLIENTS } from '../../support/providers.ts'
import { startScene } from '../../support/scene.ts'
import { says, upstreamError } from '../../support/wire.ts'

/** $1 and $2 a million: 11 and 7 tokens cost 25 microdollars. */
const says18 = says({ text: ['fine'], usage: { input: 11, output: 7 } })
const ON = 'server: { host: 127.0.0.1, port: 0, cost_header: true }'

t.test('in each format the header has what the ledger was charged, and streams have it in their usage', async (t) => {
  const place = await startScene(t, { answer: says18, yaml: ON })
  for (const client of CLIENTS) {
    const response = await place.ask({}, client)
    await response.text()
    t.equal(response.headers.get('x-router-cost'), '0.000025', client)
    const streamed = await place.ask({ stream: true }, client)
    t.equal(streamed.headers.get('x-router-cost'), null, 'not known at the head')
    t.match(await streamed.text(), '0.000025', 'in the last event')
  }
  for (const { settled } of place.rows()) t.equal(settled?.cost, 25_000)
  const sdk = new OpenAI({ apiKey: KEY, baseURL: `${place.gateway.url}/v1`, maxRetries: 0 })
  const asked = { model: 'acme/one', messages: [{ role: 'user' as const, content: 'Say fine.' }] }
  const { data, response } = await sdk.chat.completions.create(asked).withResponse()
  t.match(data.usage, { cost: Number(response.headers.get('x-router-cost')) })
})

t.test('a provider that fails costs nothing and the header shows it; what is refused before it is read has none', async (t) => {
  const place = await startScene(t, { answer: () => upstreamError(500), yaml: ON })
  const failed = await place.ask()
  t.equal(failed.status, 502)
  t.equal(failed.headers.get('x-router-cost'), '0.00')
  t.equal((await place.ask({ model: 'acme/none' })).headers.get('x-router-cost'), '0.00', 'refused after it was read')
  const refused = await place.ask({ temperature: 'hot' })
  t.equal(refused.status, 400)
  t.equal(refused.headers.get('x-router-cost'), null)
})

t.test('without the setting there is none, with another brand it has another name, and pages may read it', async (t) => {
  const plain = await startScene(t, { answer: says18 })
  t.equal((await plain.ask()).headers.get('x-router-cost'), null)
  const server = 'server: { host: 127.0.0.1, port: 0, cost_header: true, cors: { origins: [ "*" ] } }'
  const own = await startScene(t, { answer: says18, yaml: `${server}\nbrand: { word: acme }` })
  const response = await own.ask({}, 'chat', { origin: 'https://app.example' })
  t.equal(response.headers.get('x-acme-cost'), '0.000025')
  t.match(response.headers.get('access-control-expose-headers'), /x-acme-cost/)
})
