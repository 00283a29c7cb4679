/** One deadline from end to end: the configured one, or a shorter one of the caller's. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { turns } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { list, object, parseStream } from '../../support/fold.ts'
import { messageEvents } from '../../support/fold-messages.ts'
import { CLIENTS, type Client, type Providers, type ProvidersOptions, startProviders } from '../../support/providers.ts'
import { type Seen, sseAnswer } from '../../support/upstream.ts'
import { answerFor, framesFor, says } from '../../support/wire.ts'

const HEADER = 'X-Router-Deadline'
/** The providers' own limits are out of the way. */
const PATIENT = 'timeouts: { connect: 900s, first_byte: 900s, idle: 900s, total: 900s }'

async function silentScene(t: Test, options: Partial<ProvidersOptions> = {}): Promise<Providers> {
  const scene = await startProviders(t, { providers: ['aye'], provider: () => PATIENT, ...options })
  scene.script(() => ({ before: 'stall' }))
  return scene
}

/** Asks, and checks that the answer comes when so many milliseconds are over, and not before. */
async function answeredAt(t: Test, scene: Providers, ms: number, ask: () => Promise<Response>): Promise<Response> {
  const calls = scene.upstreams.aye.requests.length
  let answered = false
  const asked = ask().finally(() => {
    answered = true
  })
  await scene.upstreams.aye.request(calls)
  await scene.clock.advance(ms - 1)
  await turns(20)
  t.equal(answered, false, `not before ${ms} ms`)
  await scene.clock.advance(1)
  return asked
}

async function timedOut(t: Test, client: Client, response: Response, name: string): Promise<JsonObject> {
  t.equal(response.status, 408, name)
  const body = (await response.json()) as JsonObject
  const error = object(body.error)
  t.equal(client === 'messages' ? error.error_type : object(error.metadata).error_type, 'timeout', name)
  return body
}

t.test('the header is seconds, or a duration as the configuration writes them', async (t) => {
  const scene = await silentScene(t)
  const forms: [value: string, ms: number][] = [
    ['2', 2000],
    ['2.5', 2500],
    ['0.25', 250],
    ['1500ms', 1500],
    ['3s', 3000],
    ['2m', 120_000],
    [' 4 ', 4000],
  ]
  for (const [value, ms] of forms)
    for (const client of CLIENTS) {
      const response = await answeredAt(t, scene, ms, () => scene.ask(client, {}, { [HEADER]: value }))
      await timedOut(t, client, response, `${client}: ${value}`)
    }
  await timedOut(t, 'chat', await answeredAt(t, scene, 1000, () => scene.ask('chat', { stream: true }, { [HEADER]: '1' })), 'streamed')
})

t.test('it can only shorten the configured one', async (t) => {
  const scene = await silentScene(t, { top: 'server: { host: 127.0.0.1, port: 0, deadline: 5s }' })
  for (const value of [undefined, '60', '1h', '999999999'])
    await timedOut(
      t,
      'chat',
      await answeredAt(t, scene, 5000, () => scene.ask('chat', {}, value === undefined ? {} : { [HEADER]: value })),
      `${value}`,
    )
  await timedOut(t, 'chat', await answeredAt(t, scene, 4000, () => scene.ask('chat', {}, { [HEADER]: '4' })), 'shorter')
})

t.test('anything else is a 400 that names the header', async (t) => {
  const scene = await silentScene(t)
  await every(t, 'every value', async (t) => {
    for (const value of ['', '0', '0.0', '0ms', '-1', 'soon', '1e3', '5 s', '1.5s', 'Infinity', 'NaN', '1d', '0x10', '2, 3', '30S'])
      for (const client of CLIENTS) {
        const response = await scene.ask(client, {}, { [HEADER]: value, 'X-Router-Metadata': 'enabled' })
        t.equal(response.status, 400, `${client}: ${JSON.stringify(value)}`)
        const body = (await response.json()) as JsonObject
        t.match(object(body.error).message, /^x-router-deadline: expected/)
        t.notOk('router_metadata' in body, 'a check at the edge')
      }
  })
  t.same(scene.calls(), [0], 'nobody is called')
})

t.test('the header has the brand word', async (t) => {
  const scene = await silentScene(t, { top: 'brand: { word: acme }' })
  await timedOut(
    t,
    'chat',
    await answeredAt(t, scene, 1000, () => scene.ask('chat', {}, { 'X-Acme-Deadline': '1', [HEADER]: 'x' })),
    'acme',
  )
})

/** The frames of a stream up to and with its first word. */
function beginning(seen: Seen): string[] {
  const frames = framesFor(seen.path, { text: ['one ', 'two'] })
  return frames.slice(0, frames.findIndex((frame) => frame.includes('one ')) + 1)
}

t.test('in a stream it is the one terminal error of the dialect', async (t) => {
  const scene = await silentScene(t)
  scene.script((seen) => sseAnswer(beginning(seen), { after: 'stall' }))
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const response = await scene.ask(client, { stream: true }, { [HEADER]: '3', 'X-Router-Metadata': 'enabled' })
      t.equal(response.status, 200, client)
      await scene.clock.advance(3000)
      const text = await bodyText(response)
      t.match(text, /one /, 'what had come')
      const events = client === 'messages' ? messageEvents(text) : parseStream(text)
      const last = events.at(-1) ?? {}
      if (client === 'chat') {
        t.match(last, { error: { code: 408, metadata: { error_type: 'timeout' } }, choices: [{ finish_reason: 'error' }] })
        t.equal(events.filter((event) => 'error' in event).length, 1)
      } else if (client === 'responses') {
        t.match(last, { type: 'response.failed', response: { status: 'failed', error_type: 'timeout' } })
        t.equal(events.filter((event) => /^response\.(failed|completed|incomplete)$/.test(String(event.type))).length, 1)
      } else {
        t.match(last, { type: 'error', error: { type: 'timeout_error', error_type: 'timeout' } })
        t.equal(events.filter((event) => /^(error|message_stop)$/.test(String(event.type))).length, 1)
      }
      const metadata = object(last.router_metadata ?? object(last.response).router_metadata)
      t.match(metadata, { attempt: 1, attempts: [{ provider: 'aye', status: 200, code: 'deadline' }] }, `${client}: and says so`)
      t.notOk(list(object(metadata.endpoints).available).some((endpoint) => endpoint.selected))
    }
  })
  const key = (await (await scene.gateway.get('/v1/key')).json()) as { data: { usage: number } }
  t.ok(key.data.usage > 0, "what came is charged: the deadline is the caller's")
})

t.test('every attempt spends from the same deadline', async (t) => {
  const options = { providers: ['aye', 'bee'], provider: (name: string) => (name === 'aye' ? 'timeouts: { first_byte: 3s }' : PATIENT) }
  await every(t, 'every client', async (t) => {
    for (const client of CLIENTS) {
      const scene = await silentScene(t, options)
      const order = { provider: { order: ['aye', 'bee'] } }
      const asked = scene.ask(client, { ...order, stream: true }, { [HEADER]: '5', 'X-Router-Metadata': 'enabled' })
      await scene.upstreams.aye.request(0)
      await scene.clock.advance(3000)
      const second = await scene.upstreams.bee.request(0)
      await scene.clock.advance(2000)
      const body = await timedOut(t, client, await asked, client)
      const told = client === 'messages' ? object(body.metadata ?? object(body.error).metadata) : object(object(body.error).metadata)
      t.match(told.previous_errors, [{ provider: 'aye', code: 'upstream_silent', status: null }], `${client}: what had failed before`)
      t.match(body.router_metadata, { attempt: 2, attempts: [{ status: null }, { status: null, code: 'deadline' }] })
      t.equal((await second.closed).aborted, true, 'the upstream is closed')
    }
  })
})

t.test('only the attempt that it ends is charged', async (t) => {
  const price = (name: string): string => `price: { prompt: "${name === 'aye' ? '9.00' : '1.00'}", completion: "1.00" }`
  const scene = await silentScene(t, {
    providers: ['aye', 'bee'],
    endpoint: price,
    provider: (name) => (name === 'aye' ? 'timeouts: { first_byte: 3s }' : PATIENT),
  })
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [false, true]) {
      const asked = scene.ask('chat', { provider: { order: ['aye', 'bee'] }, stream }, { [HEADER]: '5' })
      const calls = scene.upstreams.bee.requests.length
      await scene.upstreams.aye.request(calls)
      await scene.clock.advance(3000)
      await scene.upstreams.bee.request(calls)
      await scene.clock.advance(2000)
      t.equal((await asked).status, 408)
      const row = [...scene.gateway.running.store.journal.export()].at(-1)
      const { input = 0, cost } = row?.settled ?? {}
      t.ok(input > 0, 'the input that the second provider was sent')
      t.equal(cost, input * 1000, 'at its price')
      const { data } = (await (await scene.gateway.get(`/v1/generation?id=${row?.id}`)).json()) as { data: JsonObject }
      t.match(data, { provider_name: 'bee', charge_reason: 'caller/sent/estimated' })
    }
  })
})

t.test('turns of a tool loop spend from it too', async (t) => {
  const scene = await silentScene(t)
  const call = { id: 'call_1', name: 'router_datetime', args: ['{}'] }
  for (const stream of [false, true]) {
    const before = scene.upstreams.aye.requests.length
    scene.script((seen, index) => (index === before ? answerFor(seen, { calls: [call] }) : { before: 'stall' }))
    const asked = scene.ask('chat', { stream, tools: [{ type: 'router:datetime' }] }, { [HEADER]: '2' })
    await scene.upstreams.aye.request(before + 1)
    await scene.clock.advance(2000)
    const response = await asked
    if (response.status === 200) {
      const last = parseStream(await bodyText(response)).at(-1) ?? {}
      t.match(last, { error: { code: 408, metadata: { error_type: 'timeout' } } }, 'in-band, once the first turn has been shown')
    } else await timedOut(t, 'chat', response, `stream ${stream}`)
  }
})

t.test('a deadline says nothing of the endpoint', async (t) => {
  const scene = await silentScene(t, {
    providers: ['aye', 'bee'],
    endpoint: (name) => `price: { prompt: "${name === 'aye' ? '0.01' : '100'}", completion: "0" }`,
  })
  for (let i = 0; i < 7; i++)
    await timedOut(t, 'chat', await answeredAt(t, scene, 1000, () => scene.ask('chat', {}, { [HEADER]: '1' })), `${i}`)
  scene.heal()
  t.equal(await scene.server('chat'), 'aye', 'it is not demoted, nor ejected')
  t.same(scene.calls(), [8, 0])
})

t.test('the deadline is taken back when the reply has ended', async (t) => {
  const scene = await startProviders(t, { providers: ['aye'] })
  scene.script(says({ text: ['fine'] }))
  for (const client of CLIENTS) t.equal((await scene.ask(client, {}, { [HEADER]: '7' })).status, 200)
  await eventually('the deadline is cancelled', () => !scene.clock.waiting.includes(7000))
})
