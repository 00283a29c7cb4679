/** Faults of providers, with real sockets, on every way and in every lane. */
import t, { type Test } from 'tap'
import { bodyText } from '../../support/body-text.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { countLane } from '../../support/lanes.ts'
import { heardLeave, READ_ON } from '../../support/leaving.ts'
import { allWays, type Bench, expectFault, foldReply, passPause, TIMEOUTS, type Way, wayName, withBench } from '../../support/pair-bench.ts'
import { type Answer, Gate, JSON_TYPE, jsonAnswer, REFUSING_URL, type Seen, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, framesFor, replyFor, type Utterance, upstreamError } from '../../support/wire.ts'

const root = t
const ways = allWays()
/** Longer than the silence after which the head goes out. */
const SLOW = '{ first_byte: 60s, idle: 60s }'
const UTTERANCES: Utterance = { text: ['one ', 'two ', 'thrée'] }
const streams = (seen: Seen): boolean => seen.json.stream === true

interface Failure {
  name: string
  answer: (seen: Seen) => Answer
  /** Error for the caller where there is no backup. */
  status: number
  type: string
  /** Milliseconds to wait on the gateway's clock. */
  wait?: number
  only?: 'stream' | 'whole'
}

const unavailable = { status: 502, type: 'provider_unavailable' }

/** A 200 whose stream begins with an error, or whose body is one. */
function errorInside(seen: Seen): Answer {
  const error = { message: 'boom', type: 'server_error', code: 'server_error', param: null }
  if (!streams(seen)) return jsonAnswer({ error })
  if (seen.path.endsWith('/responses'))
    return sseAnswer([
      `event: error\ndata: ${JSON.stringify({ type: 'error', sequence_number: 0, code: 'server_error', message: 'boom', param: null })}\n\n`,
    ])
  return sseAnswer([`data: ${JSON.stringify({ error })}\n\n`, 'data: [DONE]\n\n'])
}

/** Failures before the first content: never seen by the caller while another endpoint is left. */
const BEFORE_CONTENT: readonly Failure[] = [
  { name: 'reset before headers', answer: () => ({ before: 'reset' }), ...unavailable },
  { name: 'closed before headers', answer: () => ({ before: 'close' }), ...unavailable },
  { name: '200, then closed', answer: () => sseAnswer([], { after: 'close' }), ...unavailable },
  { name: '200, then a clean end', answer: () => sseAnswer([]), ...unavailable },
  { name: '200 whose first event is an error', answer: errorInside, ...unavailable },
  {
    name: 'cut after the lifecycle events',
    answer: (seen) => sseAnswer(framesFor(seen.path, UTTERANCES).slice(0, 1), { after: 'reset' }),
    ...unavailable,
    only: 'stream',
  },
  { name: 'silent before headers', answer: () => ({ before: 'stall' }), status: 524, type: 'timeout', wait: TIMEOUTS.firstByte + 100 },
  {
    name: 'silent after headers',
    answer: (seen) => ({ ...(streams(seen) ? sseAnswer([]) : { headers: JSON_TYPE }), after: 'stall' }),
    status: 524,
    type: 'timeout',
    wait: TIMEOUTS.idle + 100,
  },
  { name: 'truncated JSON', answer: () => ({ headers: JSON_TYPE, body: ['{"id":"x","choi'] }), ...unavailable },
  {
    name: 'a body cut short',
    answer: () => ({ headers: { ...JSON_TYPE, 'content-length': '900' }, body: ['{"id"'], after: 'close' }),
    ...unavailable,
  },
  { name: 'a web page', answer: () => ({ headers: { 'content-type': 'text/html' }, body: ['<html>hello</html>'] }), ...unavailable },
  { name: 'an empty 200', answer: () => ({ headers: JSON_TYPE }), ...unavailable },
  { name: 'garbage events', answer: () => sseAnswer(['data: {"broken\n\n', 'data: \u0000\u0001\n\n']), ...unavailable, only: 'stream' },
  { name: 'a redirect', answer: (seen) => ({ status: 302, headers: { location: `http://127.0.0.1:1${seen.path}` } }), ...unavailable },
  { name: '204', answer: () => ({ status: 204 }), ...unavailable },
  { name: '500', answer: () => upstreamError(500), ...unavailable },
  { name: '503', answer: () => upstreamError(503), ...unavailable },
  { name: '529', answer: () => upstreamError(529), status: 529, type: 'provider_overloaded' },
  { name: 'our key refused', answer: () => upstreamError(401, 'bad key sk-first-secret'), ...unavailable },
  { name: 'our account empty', answer: () => upstreamError(402), ...unavailable },
  { name: 'no such model there', answer: () => upstreamError(404), status: 404, type: 'not_found' },
  { name: '429', answer: () => upstreamError(429, 'slow', { 'retry-after': '9' }), status: 429, type: 'rate_limit_exceeded' },
]

/** Asks, and lets time pass where the failure is silence. */
async function ask(bench: Bench, failure: Failure, stream: boolean): Promise<Response> {
  const response = bench.ask(stream)
  if (failure.wait) {
    await bench.first.request(0)
    await eventually('the gateway waits for the provider', () => bench.clock.waiting.length > 0)
    await bench.clock.advance(failure.wait)
  }
  return response
}

async function spent(bench: Bench): Promise<number> {
  const body = (await (await bench.gateway.get('/v1/key')).json()) as { data: { usage: number } }
  return body.data.usage
}

async function kinds(failure: Failure, body: (stream: boolean) => Promise<void>): Promise<void> {
  if (failure.only !== 'stream') await body(false)
  if (failure.only !== 'whole') await body(true)
}

for (const failure of BEFORE_CONTENT)
  t.test(`before content: ${failure.name}`, async (t) => {
    await every(t, 'every way', async (t) => {
      for (const way of ways)
        await kinds(failure, async (stream) => {
          const name = `${wayName(way)}${stream ? ', streamed' : ''}`
          await withBench({ way, backup: true, script: failure.answer }, async (bench) => {
            const response = await ask(bench, failure, stream)
            t.equal(response.status, 200, name)
            const reply = await foldReply(way, response)
            t.match(reply, { text: 'from the backup', error: undefined }, name)
            t.same([bench.first.requests.length, bench.second.requests.length], [1, 1], `${name}: one call each`)
            t.equal(await spent(bench), 0.000025, `${name}: paid once`)
          })
          await withBench({ way, backup: false, script: failure.answer }, async (bench) => {
            const response = await ask(bench, failure, stream)
            const { error } = await expectFault(t, response, failure.status, failure.type)
            t.notMatch(JSON.stringify(error), /boom|secret|provider says|html|127\.0\.0\.1/, `${name}: nothing of the provider's own words`)
            if (failure.status === 429) t.equal(response.headers.get('retry-after'), '9')
            t.equal(await spent(bench), 0, `${name}: not paid`)
          })
          countLane(root, way.lane)
        })
    })
  })

t.test('before content: connection refused', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways)
      for (const stream of [false, true]) {
        await withBench({ way, backup: true, address: REFUSING_URL, script: () => ({}) }, async (bench) => {
          const [response] = await Promise.all([bench.ask(stream), passPause(bench.clock)])
          t.equal((await foldReply(way, response)).text, 'from the backup', wayName(way))
        })
        await withBench({ way, backup: false, address: REFUSING_URL, script: () => ({}) }, async (bench) => {
          const [response] = await Promise.all([bench.ask(stream), passPause(bench.clock)])
          const { error } = await expectFault(t, response, 502, 'provider_unavailable')
          t.notMatch(JSON.stringify(error), /127\.0\.0\.1|ECONN/, 'no address')
        })
        countLane(root, way.lane)
      }
  })
})

t.test('does not try a wrong request again on the same model', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways) {
      await withBench({ way, backup: true, script: () => upstreamError(400, 'bad value') }, async (bench) => {
        await expectFault(t, await bench.ask(false), 400, 'invalid_request')
        t.equal(bench.second.requests.length, 0, `${wayName(way)}: no other endpoint of the model is called`)
      })
      await withBench({ way, backup: true, script: () => upstreamError(400, 'bad value') }, async (bench) => {
        const reply = await foldReply(way, await bench.ask(false, { models: ['acme/two'] }))
        t.match(reply, { text: 'from the backup', model: 'acme/two' }, 'another model may take it')
      })
    }
  })
})

t.test('returns the failure where fallbacks are off', async (t) => {
  const [way] = ways
  await withBench({ way, backup: true, script: () => upstreamError(500) }, async (bench) => {
    await expectFault(t, await bench.ask(true, { provider: { order: ['first'], allow_fallbacks: false } }), 502, 'provider_unavailable')
    t.equal(bench.second.requests.length, 0)
  })
})

t.test('all limited: 429 with the smallest hint', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways)
      await withBench({ way, backup: true, script: () => upstreamError(429, 'slow', { 'retry-after': '20' }) }, async (bench) => {
        bench.second.script = () => upstreamError(429, 'slow', { 'retry-after': '4' })
        const response = await bench.ask(true)
        await expectFault(t, response, 429, 'rate_limit_exceeded')
        t.equal(response.headers.get('retry-after'), '4', wayName(way))
      })
  })
})

interface Break {
  name: string
  /** After two of the three words. */
  answer: (frames: string[]) => Answer
  type: string
  wait?: number
}

const AFTER_CONTENT: readonly Break[] = [
  { name: 'closed', answer: (frames) => sseAnswer(frames, { after: 'close' }), type: 'provider_unavailable' },
  { name: 'reset', answer: (frames) => sseAnswer(frames, { after: 'reset' }), type: 'provider_unavailable' },
  { name: 'a clean end without the last event', answer: (frames) => sseAnswer(frames), type: 'provider_unavailable' },
  { name: 'silence', answer: (frames) => sseAnswer(frames, { after: 'stall' }), type: 'timeout', wait: TIMEOUTS.idle },
  {
    name: 'comments only, for ever',
    answer: (frames) => sseAnswer([...frames, ': still here\n\n'], { after: 'stall' }),
    type: 'timeout',
    wait: TIMEOUTS.idle,
  },
  { name: 'garbage', answer: (frames) => sseAnswer([...frames, 'data: {"broken\n\n']), type: 'provider_unavailable' },
]

/** The frames of a stream up to and with its second word. */
function upToSecondWord(path: string): string[] {
  const frames = framesFor(path, UTTERANCES)
  return frames.slice(0, frames.findIndex((frame) => frame.includes('two ')) + 1)
}

/** Reads a stream to its end, letting time pass once the second word has come. */
async function readBroken(bench: Bench, wait: number | undefined): Promise<string> {
  let waited = false
  return await bodyText(await bench.ask(true), (text) => {
    if (!wait || waited || !text.includes('two ')) return
    waited = true
    void bench.clock.advance(wait)
  })
}

for (const one of AFTER_CONTENT)
  t.test(`ends the reply with one error, and calls no backup, after content: ${one.name}`, async (t) => {
    await every(t, 'every way', async (t) => {
      for (const way of ways)
        await withBench({ way, backup: true, script: (seen) => one.answer(upToSecondWord(seen.path)) }, async (bench) => {
          const name = wayName(way)
          const text = await readBroken(bench, one.wait)
          const reply = await foldReply(way, new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
          t.equal(reply.text, 'one two ', `${name}: the text so far, once`)
          t.equal(reply.error?.type, one.type, name)
          t.match(reply.end, /^(error|failed)$/, name)
          t.equal(text.match(/response\.failed"|"finish_reason":"error"/g)?.length, 1, `${name}: one terminal error`)
          t.equal(text.includes('[DONE]'), way.client === 'responses', `${name}: no mark of a good end`)
          t.equal(bench.second.requests.length, 0, `${name}: the backup is not called`)
          t.equal(await spent(bench), 0, `${name}: not paid`)
          countLane(root, way.lane)
        })
    })
  })

/** Line ends, bytes per write, compression: seven and one cut every character of more than one byte somewhere. */
const CUTS: readonly Pick<Answer, 'lineEnd' | 'split' | 'gzip'>[] = [
  { lineEnd: '\n', split: 1 },
  { lineEnd: '\r\n', split: 7 },
  { lineEnd: '\r', split: 7 },
  { lineEnd: '\n', split: 7, gzip: true },
]

t.test('reads the same reply whatever the cut of its bytes and its line ends', async (t) => {
  const utterance: Utterance = { text: ['thrée ', '日本'] }
  await every(t, 'every way', async (t) => {
    for (const way of ways) {
      const script = (seen: Seen): Answer => answerFor(seen, utterance)
      await withBench({ way, backup: false, script }, async (bench) => {
        const expected = await foldReply(way, await bench.ask(true))
        t.equal(expected.text, 'thrée 日本')
        for (const cut of CUTS) {
          bench.first.script = (seen) => sseAnswer(framesFor(seen.path, utterance), cut)
          t.same(await foldReply(way, await bench.ask(true)), expected, `${wayName(way)} ${JSON.stringify(cut)}`)
          countLane(root, way.lane)
        }
      })
    }
  })
})

t.test('a compressed whole reply arrives plain', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways)
      await withBench(
        { way, backup: false, script: (seen) => ({ ...jsonAnswer(replyFor(seen.path, UTTERANCES)), gzip: true }) },
        async (bench) => {
          const response = await bench.ask(false)
          t.equal(response.headers.get('content-encoding'), null)
          t.equal((await foldReply(way, response)).text, 'one two thrée', wayName(way))
        },
      )
  })
})

/** A caller that leaves after the first word, or before the reply. */
async function abort(t: Test, way: Way, stream: boolean): Promise<void> {
  const script = (seen: Seen): Answer => {
    const frames = framesFor(seen.path, UTTERANCES)
    const cut = frames.findIndex((frame) => frame.includes('two '))
    return stream ? sseAnswer([...frames.slice(0, cut), new Gate().step]) : { before: 'stall' }
  }
  await withBench({ way, backup: true, script, timeouts: SLOW }, async (bench) => {
    const aborter = new AbortController()
    const asked = bench.ask(stream, {}, aborter.signal)
    const seen = await bench.first.request(0)
    let id: string | null = null
    if (stream) {
      const response = await asked
      id = response.headers.get('x-generation-id')
      const reader = response.body?.getReader()
      let text = ''
      while (!text.includes('one ')) text += Buffer.from((await reader?.read())?.value ?? []).toString()
    }
    aborter.abort()
    await asked.catch(() => undefined)
    await heardLeave(bench.clock)
    await bench.clock.advance(READ_ON - 1)
    t.equal(await spent(bench), 0, `${wayName(way)}: read on for the final usage`)
    await bench.clock.advance(1)
    t.equal((await seen.closed).aborted, true, `${wayName(way)}: the upstream is closed`)
    await eventually('the key is charged', async () => (await spent(bench)) > 0)
    t.equal(bench.second.requests.length, 0, 'the backup is not called')
    if (id) {
      const record = object(((await (await bench.gateway.get(`/v1/generation?id=${id}`)).json()) as { data: never }).data)
      t.match(record, { id, cancelled: true, estimated: true, total_cost: Number }, 'one settled row')
    }
  })
}

t.test('closes the call of the provider when the client leaves', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways)
      for (const stream of [true, false]) {
        await abort(t, way, stream)
        countLane(root, way.lane)
      }
  })
})

t.test('sends a comment after every ten seconds of silence', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways) {
      const gate = new Gate()
      const upstream = await startUpstream((seen) => sseAnswer([gate.step, ...framesFor(seen.path, UTTERANCES)]))
      await withBench({ way, backup: false, address: upstream.url, script: () => ({}), timeouts: SLOW }, async (bench) => {
        const asked = bench.ask(true)
        await upstream.request(0)
        await bench.clock.advance(10_000)
        const response = await asked
        t.equal(response.status, 200, `${wayName(way)}: the head goes out`)
        await bench.clock.advance(10_000)
        gate.open()
        const text = await bodyText(response)
        t.equal(text.match(/^: ROUTER PROCESSING$/gm)?.length, 2, wayName(way))
        const reply = await foldReply(way, new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
        t.equal(reply.text, 'one two thrée')
      })
      await upstream.close()
    }
  })
})

t.test('a final failure after the head went out is told in-band', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways)
      await withBench({ way, backup: false, script: () => ({ before: 'stall' }), timeouts: SLOW }, async (bench) => {
        const asked = bench.ask(true)
        await bench.first.request(0)
        await bench.clock.advance(10_000)
        const response = await asked
        await bench.clock.advance(50_000)
        const reply = await foldReply(way, response)
        t.match(reply, { text: '', error: { type: 'timeout' } }, wayName(way))
      })
  })
})
