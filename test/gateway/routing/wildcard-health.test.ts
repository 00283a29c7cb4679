/** Names behind a wildcard, of which callers choose as many as they like, leave what is known of the other endpoints alone. */
import t from 'tap'
import { FakeClock } from '../../support/clock.ts'
import { startGateway } from '../../support/gateway.ts'
import { startUpstream } from '../../support/upstream.ts'
import { answerFor } from '../../support/wire.ts'

const yaml = (ill: string, well: string, more = ''): string => `
providers:
  ill: { dialect: openai-chat, base_url: "${ill}/v1", key: sk-i }
  well: { dialect: openai-chat, base_url: "${well}/v1", key: sk-w }
models:
  acme/one: { endpoints: [ { provider: ill, model: m, price: free }, { provider: well, model: m, price: free } ] }
  "local/*": { endpoints: [ { provider: well, model: "*", price: free } ] }
${more}`

t.test('an endpoint in trouble stays so after requests to thousands of other names', async (t) => {
  const ill = await startUpstream(() => ({ status: 500, headers: { 'content-type': 'application/json' }, body: ['{}'] }))
  const well = await startUpstream((seen) => answerFor(seen, { text: ['Yes.'] }))
  for (const upstream of [ill, well]) t.teardown(() => upstream.close())
  const gateway = await startGateway(yaml(ill.url, well.url), { clock: new FakeClock(), directory: t.testdir() })
  t.teardown(() => gateway.close())
  const ask = async (model: string): Promise<void> => {
    const reply = await gateway.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: 'Well?' }] })
    await reply.arrayBuffer()
    t.equal(reply.status, 200, model)
  }
  const status = async (): Promise<number[]> => {
    const reply = await gateway.get('/v1/models/acme/one/endpoints')
    const { data } = (await reply.json()) as { data: { endpoints: { status: number }[] } }
    return data.endpoints.map((endpoint) => endpoint.status)
  }
  // Thousands of whole requests take half a minute: one stands for them, and the rest are what it leaves.
  const askOthers = async (name: string): Promise<void> => {
    const { health } = gateway.running.runtime.dependencies
    const success = health.success.bind(health)
    health.success = (endpoint, sample) => {
      for (let at = 0; at < 4200; at++) success({ ...endpoint, id: endpoint.id.replace(name, `${name}${at}`) }, sample)
    }
    await ask(`local/${name}`)
    health.success = success
  }
  while (ill.requests.length === 0) await ask('acme/one')
  const before = await status()
  t.not(before[0], 0)
  await askOthers('x')
  t.same(await status(), before)
  t.equal((await gateway.reconfigure(yaml(ill.url, well.url, 'aliases: { uno: acme/one }'))).kind, 'applied')
  await askOthers('y')
  t.same(await status(), before, 'also after a reload')
})
