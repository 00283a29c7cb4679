/** The speed of an endpoint is that of its provider: no caller makes it look slower or faster than it is. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { FakeClock } from '../../support/clock.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { startScene } from '../../support/scene.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor, type UtteranceUsage } from '../../support/wire.ts'

/** Unlike any other timer: armed when a reply begins. */
const IDLE = 777_000

interface Reply {
  usage: UtteranceUsage
  /** Milliseconds from the head of the reply to its first content, and from there to its end. */
  before: number
  writing: number
  fields?: JsonObject
}

async function timedReplies(t: Test) {
  const clock = new FakeClock()
  const { gateway, upstream } = await startScene(t, {
    answer: () => ({}),
    config: (url) => `
server: { host: 127.0.0.1, port: 0, silence: 3600s }
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef } ] }
providers:
  up: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, timeouts: { connect: 900s, first_byte: 700s, idle: 777s, total: 899s } }
models:
  acme/one: { endpoints: [ { provider: up, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
    clock,
  })
  /** One streamed reply, read to its end, or left after the first content. */
  const stream = async ({ usage, before, writing, fields = {} }: Reply, leaves = false): Promise<void> => {
    const content = new Gate()
    const rest = new Gate()
    upstream.script = (seen) => {
      const [role, first, ...last] = framesFor(seen.path, { text: ['one ', 'two'], usage })
      return sseAnswer([role, content.step, first, rest.step, ...last])
    }
    const body = { model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hello' }], ...fields }
    const aborter = new AbortController()
    const asked = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: aborter.signal,
    })
    await clock.armed(IDLE)
    await clock.advance(before)
    content.open()
    const reader = ((await asked).body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    await clock.advance(writing)
    if (leaves) {
      aborter.abort()
      await heardLeave(clock)
    }
    rest.open()
    if (leaves) await clock.advance(READ_ON)
    else while (!(await reader.read()).done);
  }
  const speed = async (): Promise<unknown> => {
    const listed = (await (await gateway.get('/v1/models/acme/one/endpoints')).json()) as { data: { endpoints: JsonObject[] } }
    const { throughput_last_30m: throughput } = listed.data.endpoints[0]
    return throughput === null ? null : (throughput as JsonObject).p50
  }
  return { stream, speed }
}

t.test('a reply that is too short to measure shows what its provider reaches at least', async (t) => {
  const { stream, speed } = await timedReplies(t)
  await stream({ usage: { input: 9, output: 60 }, before: 3_000, writing: 50 })
  t.equal(await speed(), 600, '60 tokens in less than a tenth of a second')
  await stream({ usage: { input: 9, output: 30 }, before: 3_000, writing: 50 })
  t.equal(await speed(), 600, 'a lower bound lowers nothing')
  await stream({ usage: { input: 9, output: 100 }, before: 3_000, writing: 10_000 })
  t.equal(await speed(), 300, 'nor does one slow reply among them: two of three were faster')
  await stream({ usage: { input: 9, output: 100 }, before: 3_000, writing: 10_000 })
  await stream({ usage: { input: 9, output: 100 }, before: 3_000, writing: 10_000 })
  t.equal(await speed(), 10, 'most of what was measured decides')
  await stream({ usage: { input: 9, output: 15 }, before: 3_000, writing: 0 })
  t.equal(await speed(), 10, 'one piece after three seconds: five a second at least, which is no news')
})

for (const fields of [{ provider: { sort: 'throughput' } }, { model: 'acme/both:nitro' }, { provider: { preferred_min_throughput: 100 } }])
  t.test(`the fastest provider wins with short replies: ${JSON.stringify(fields)}`, async (t) => {
    const clock = new FakeClock()
    const slow = new Gate()
    const { gateway, upstream } = await startScene(t, {
      clock,
      config: (url) => {
        const price = 'price: { prompt: "1.00", completion: "1.00" }'
        const one = (slug: string): string => `acme/${slug}: { endpoints: [ { provider: ${slug}, model: m, ${price} } ] }`
        return `
providers:
  fast: { dialect: openai-chat, base_url: "${url}/fast", key: sk-up }
  slow: { dialect: openai-chat, base_url: "${url}/slow", key: sk-up, timeouts: { idle: 777s } }
models:
  ${one('fast')}
  ${one('slow')}
  acme/both:
    endpoints:
      - { provider: slow, model: m, price: { prompt: "0.01", completion: "0.01" } }
      - { provider: fast, model: m, ${price} }
`
      },
      answer: (seen) => {
        const usage = { input: 9, output: 60 }
        const [role, first, ...last] = framesFor(seen.path, { text: ['one ', 'two'], usage })
        return sseAnswer(seen.path.startsWith('/slow') ? [role, first, slow.step, ...last] : [role, first, ...last])
      },
    })
    const ask = (more: JsonObject): Promise<Response> =>
      gateway.post('/v1/chat/completions', { model: 'acme/both', stream: true, messages: [{ role: 'user', content: 'Hello' }], ...more })
    const only = (slug: string): JsonObject => ({ provider: { only: [slug] } })
    const waiting = ask(only('slow'))
    const reply = await waiting
    await clock.advance(6_000)
    slow.open()
    await reply.text()
    for (let i = 0; i < 3; i++) await (await ask(only('fast'))).text()
    await (await ask(fields)).text()
    t.match(upstream.requests.at(-1)?.path, /^\/fast/)
  })

t.test('the output of a reply over the time from its first content to its end', async (t) => {
  const { stream, speed } = await timedReplies(t)
  await stream({ usage: { input: 9, output: 100 }, before: 3_000, writing: 10_000 })
  t.equal(await speed(), 10)
})

t.test('a reply of two tokens shows no speed', async (t) => {
  const { stream, speed } = await timedReplies(t)
  await stream({ usage: { input: 9, output: 2 }, before: 3_000, writing: 2, fields: { max_tokens: 2 } })
  t.equal(await speed(), null)
})

t.test('hidden reasoning counts with the time that it took', async (t) => {
  const { stream, speed } = await timedReplies(t)
  await stream({ usage: { input: 9, output: 5_000, reasoning: 4_900 }, before: 49_000, writing: 1_000 })
  t.equal(await speed(), 100, 'not 5,000 tokens in one second')
})

t.test('a caller that leaves changes no figure', async (t) => {
  const { stream, speed } = await timedReplies(t)
  await stream({ usage: { input: 9, output: 100 }, before: 3_000, writing: 1_000 }, true)
  t.equal(await speed(), null)
})
