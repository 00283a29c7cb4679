/** Callers that read slowly: the provider is held back, is not blamed for it, and its reply is charged. */
import t, { type Test } from 'tap'
import { READING_TIME } from '../../../src/server/lingering-close.ts'
import { eventually, steady } from '../../support/eventually.ts'
import { parseStream } from '../../support/fold.ts'
import { READ_ON } from '../../support/leaving.ts'
import { parseReply, RawClient } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, type Seen, sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

/** Milliseconds after which the gateway cuts off a caller that takes nothing at all (`server/reading-watch.ts`). */
const STALL = 60_000
const WORD = 'x'.repeat(64 * 1024)
const WORDS = 400
const USAGE = { input: 150, output: 40_000 }

const seenFrames = (seen: Seen): string[] =>
  framesFor(seen.path, { text: Array.from({ length: WORDS }, (_, at) => `${WORD} word-${at} `), usage: USAGE })

async function pausedReader(t: Test, script: (seen: Seen) => Answer) {
  const { clock, gateway, upstream, rows } = await startScene(t, {
    answer: script,
    config: (url) => `
server: { host: 127.0.0.1, port: 0, silence: 3600s }
providers:
  up: { dialect: openai-chat, base_url: "${url}/v1", key: sk-up, timeouts: { first_byte: 9s, idle: 11s, total: 20s } }
models:
  acme/one: { endpoints: [ { provider: up, model: m, price: { prompt: "1.00", completion: "2.00" } } ] }
`,
  })
  const client = await RawClient.open(gateway.url)
  t.teardown(() => client.close())
  const body = JSON.stringify({ model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Tell me everything.' }] })
  client.pause()
  client.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nConnection: close\r\nAuthorization: Bearer ${gateway.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  await clock.armed(STALL)
  const seen = await upstream.request(0)
  await steady(() => seen.sentBytes)
  const charged = async () => {
    const { journal } = gateway.running.store
    const { id, settled } = await eventually('the settlement', () => {
      const [{ id, settled }] = [...journal.export()]
      return settled && { id, settled }
    })
    const { data } = (await (await gateway.get(`/v1/generation?id=${id}`)).json()) as { data: { charge_reason: string } }
    return { ...settled, reason: data.charge_reason }
  }
  const listed = async (): Promise<{ status: number; throughput_last_30m: unknown }> => {
    const reply = await (await gateway.get('/v1/models/acme/one/endpoints')).json()
    return (reply as { data: { endpoints: { status: number; throughput_last_30m: unknown }[] } }).data.endpoints[0]
  }
  const status = async (): Promise<unknown> => (await listed()).status
  return { clock, client, upstream, rows, charged, listed, status }
}

t.test('a slow caller gets all of the reply, and it is charged as reported', async (t) => {
  const { clock, client, charged, listed } = await pausedReader(t, (seen) => sseAnswer(seenFrames(seen)))
  await clock.advance(STALL - 1_000)
  const text = parseReply(await client.resume().closed()).body
  t.ok(text.includes(`word-${WORDS - 1} `), 'the last word')
  t.equal(parseStream(text).filter((event) => 'error' in event).length, 0)
  t.match(await charged(), { ...USAGE, status: 'completed', estimated: false, reason: 'model/usage_known/reported' })
  t.match(await listed(), { status: 0, throughput_last_30m: null }, 'the endpoint has done well, and its speed is not known')
})

t.test('a caller that reads nothing is cut off, pays, and no provider is blamed', async (t) => {
  const { clock, rows, charged, status } = await pausedReader(t, (seen) => sseAnswer(seenFrames(seen).slice(0, 300), { after: 'stall' }))
  // The first look sees what the sockets took after the first full write; the next one is due within a minute of it.
  for (let minute = 0; minute < 3; minute++) await clock.advance(STALL)
  await eventually('the caller is cut off, and its provider has been read on', async () => {
    await clock.advance(READ_ON)
    return rows().some(({ settled }) => settled)
  })
  const { cost, output, reason } = await charged()
  t.equal(reason, 'caller/content/estimated')
  t.ok(cost > 0 && output > 0, `${output} tokens`)
  t.equal(await status(), 0)
})

t.test('a provider that gives up a caller who reads slowly has not failed: the caller pays', async (t) => {
  for (const [seconds, reason, listedAs] of [
    [30, 'caller/content/estimated', 0],
    [1, 'provider/content/nothing', -2],
  ] as const) {
    const { clock, client, upstream, charged, status } = await pausedReader(t, (seen) => sseAnswer(seenFrames(seen)))
    await clock.advance(seconds * 1000)
    await upstream.close()
    await client.resume().until(/data: \{"error":\{[^\n]*\n\n/)
    await clock.advance(READING_TIME)
    const text = parseReply(await client.closed()).body
    t.match(parseStream(text).at(-1), { error: { code: 502 } })
    const { cost, reason: found } = await charged()
    t.equal(found, reason, `after ${seconds} s`)
    t.equal(cost > 0, listedAs === 0)
    t.equal((await status()) === 0, listedAs === 0, 'health')
  }
})
