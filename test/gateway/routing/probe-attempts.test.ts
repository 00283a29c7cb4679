/** From one provider to the next, before and after the head has gone out, and what is told of it. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { bodyText } from '../../support/body-text.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { allWays, expectFault, foldReply, TIMEOUTS, type Way, wayName, withBench } from '../../support/pair-bench.ts'
import { type Answer, jsonAnswer, type Seen, sseAnswer } from '../../support/upstream.ts'
import { answerFor, framesFor, type Utterance, upstreamError } from '../../support/wire.ts'

const ways = allWays()
/** One lane of each pair, for what happens below the lanes. */
const pairs = ways.filter(
  (way, index) => ways.findIndex(({ client, dialect }) => client === way.client && dialect === way.dialect) === index,
)
const SLOW = '{ first_byte: 60s, idle: 60s }'
const UTTERANCES: Utterance = { text: ['one ', 'two ', 'thrée'] }

/** The frames of a stream up to and with its first word. */
function upToFirstWord(path: string): string[] {
  const frames = framesFor(path, UTTERANCES)
  return frames.slice(0, frames.findIndex((frame) => frame.includes('one ')) + 1)
}

const sse = (text: string): Response => new Response(text, { headers: { 'content-type': 'text/event-stream' } })
const dataLines = (text: string): string[] => [...text.matchAll(/^data: (.*)$/gm)].map((match) => match[1])
const parseEvents = (text: string): Record<string, unknown>[] =>
  dataLines(text)
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as Record<string, unknown>)

/** A stream that any strict reader would take: gapless numbers, one beginning, one end. */
function wellFormed(t: Test, way: Way, text: string, name: string): void {
  const data = dataLines(text)
  const hasFailed = way.client === 'chat' && data.at(-1)?.startsWith('{"error":')
  t.equal(data.filter((one) => one === '[DONE]').length, hasFailed ? 0 : 1, `${name}: one [DONE], unless it has failed`)
  if (!hasFailed) t.equal(data.at(-1), '[DONE]', `${name}: the last line`)
  const events = parseEvents(text)
  if (way.client === 'responses') {
    t.same(
      events.map((event) => event.sequence_number),
      events.map((_, index) => index),
      `${name}: numbers without gaps`,
    )
    t.equal(events.filter((event) => event.type === 'response.created').length, 1, `${name}: one beginning`)
    t.equal(events.filter((event) => /^response\.(completed|failed|incomplete)$/.test(String(event.type))).length, 1, `${name}: one end`)
    t.match(events.at(-1)?.type, /^response\.(completed|failed|incomplete)$/, `${name}: at the end`)
  } else {
    t.equal(new Set(events.map((event) => event.id)).size, 1, `${name}: one id`)
  }
}

t.test('after a long silence the next provider answers in the same stream', async (t) => {
  await every(t, 'every debug', async (t) => {
    for (const debug of [false, true])
      for (const way of ways)
        await withBench({ way, backup: true, script: () => ({ before: 'stall' }), timeouts: SLOW }, async (bench) => {
          const name = `${wayName(way)}${debug ? ', with debug' : ''}`
          const asked = bench.ask(true, debug ? { debug: { echo_upstream_body: true } } : {})
          await bench.first.request(0)
          await bench.clock.advance(10_000)
          const response = await asked
          t.equal(response.status, 200, name)
          await bench.clock.advance(50_000)
          const text = await bodyText(response)
          wellFormed(t, way, text, name)
          t.match(await foldReply(way, sse(text)), { text: 'from the backup', error: undefined }, name)
          if (debug) t.equal(text.match(/echo_upstream_body/g)?.length, 2, `${name}: one debug event for each attempt`)
        })
  })
})

t.test('after a long silence a final failure is one well-formed end', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways)
      await withBench({ way, backup: true, script: () => ({ before: 'stall' }), timeouts: SLOW }, async (bench) => {
        bench.second.script = () => upstreamError(500)
        const asked = bench.ask(true)
        await bench.first.request(0)
        await bench.clock.advance(10_000)
        const response = await asked
        await bench.clock.advance(50_000)
        const text = await bodyText(response)
        wellFormed(t, way, text, wayName(way))
        t.match(await foldReply(way, sse(text)), { text: '', error: { type: 'provider_unavailable' } }, wayName(way))
      })
  })
})

const ENCODERS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: (text) => gzipSync(text),
  deflate: (text) => deflateSync(text),
  br: (text) => brotliCompressSync(text),
  zstd: (text) => zstdCompressSync(text),
}

t.test('encoded replies of every kind arrive plain', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of pairs)
      for (const [coding, encode] of Object.entries(ENCODERS)) {
        const name = `${wayName(way)}, ${coding}`
        const script = (seen: Seen): Answer => {
          const answer = answerFor(seen, UTTERANCES)
          return { ...answer, headers: { ...answer.headers, 'content-encoding': coding }, body: [encode((answer.body ?? []).join(''))] }
        }
        await withBench({ way, backup: false, script }, async (bench) => {
          for (const stream of [false, true]) {
            const response = await bench.ask(stream)
            t.equal(response.headers.get('content-encoding'), null)
            t.equal((await foldReply(way, response)).text, 'one two thrée', `${name}, ${stream}`)
            bench.first.script = script
          }
          const limited = { ...upstreamError(429, 'slow', { 'retry-after': '9', 'content-encoding': coding }) }
          bench.first.script = () => ({ ...limited, body: [encode(String(limited.body?.[0]))] })
          const response = await bench.ask(false)
          await expectFault(t, response, 429, 'rate_limit_exceeded')
          t.equal(response.headers.get('retry-after'), '9', name)
        })
      }
  })
})

t.test('reads a plain reply that is labelled gzip or zstd, and goes on to the backup with other wrong labels', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of pairs)
      for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'x-unheard']) {
        const name = `${wayName(way)}, ${coding}`
        const lying = (answer: Answer): Answer => ({ ...answer, headers: { ...answer.headers, 'content-encoding': coding } })
        await withBench({ way, backup: true, script: (seen) => lying(answerFor(seen, UTTERANCES)) }, async (bench) => {
          for (const stream of [false, true])
            t.equal(
              (await foldReply(way, await bench.ask(stream))).text,
              /^(gzip|zstd)$/.test(coding) ? 'one two thrée' : 'from the backup',
              name,
            )
        })
        await withBench({ way, backup: false, script: () => lying(upstreamError(429, 'slow', { 'retry-after': '9' })) }, async (bench) => {
          for (const stream of [false, true]) {
            const response = await bench.ask(stream)
            await expectFault(t, response, 429, 'rate_limit_exceeded')
            t.equal(response.headers.get('retry-after'), '9', `${name}: the status says what the body cannot`)
          }
        })
      }
  })
})

t.test('an error whose body never comes is still that error', async (t) => {
  const head = { status: 429, headers: { 'content-type': 'application/json', 'retry-after': '9', 'content-length': '500' } }
  await every(t, 'every way', async (t) => {
    for (const way of pairs)
      for (const after of ['close', 'reset', 'stall'] as const)
        for (const stream of [false, true])
          await withBench({ way, backup: false, script: () => ({ ...head, body: ['{"error"'], after }) }, async (bench) => {
            const asked = bench.ask(stream)
            await bench.first.request(0)
            let answered = false
            void asked.then(() => {
              answered = true
            })
            const elapsed = async (): Promise<boolean> => {
              if (after === 'stall') await bench.clock.advance(1000)
              return answered
            }
            await eventually('the time has elapsed', elapsed)
            const response = await asked
            await expectFault(t, response, 429, 'rate_limit_exceeded')
            t.equal(response.headers.get('retry-after'), '9', `${wayName(way)}, ${after}`)
          })
  })
})

t.test('the type of a stream is read whatever its letters', async (t) => {
  for (const way of pairs)
    await withBench(
      {
        way,
        backup: false,
        script: (seen) => ({ ...sseAnswer(framesFor(seen.path, UTTERANCES)), headers: { 'content-type': 'Text/Event-Stream' } }),
      },
      async (bench) => t.equal((await foldReply(way, await bench.ask(true))).text, 'one two thrée', wayName(way)),
    )
})

t.test('the deadline, before the head, after it, and in the middle', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways) {
      for (const stream of [false, true])
        await withBench(
          { way, backup: true, script: () => ({ before: 'stall' }), timeouts: '{ first_byte: 2000s, idle: 2000s, total: 2000s }' },
          async (bench) => {
            const asked = bench.ask(stream)
            const seen = await bench.first.request(0)
            await bench.clock.advance(900_000)
            const response = await asked
            if (!stream) await expectFault(t, response, 408, 'timeout')
            else {
              const text = await bodyText(response)
              wellFormed(t, way, text, wayName(way))
              t.match(await foldReply(way, sse(text)), { text: '', error: { type: 'timeout' } }, wayName(way))
            }
            t.equal((await seen.closed).aborted, true, 'the upstream is closed')
            t.equal(bench.second.requests.length, 0, 'nobody else is asked')
            const rows = [...bench.gateway.running.store.journal.export()]
            t.match(rows, [{ settled: { status: 'failed', estimated: true, output: 0 } }], 'one row')
            const { input = 0, cost } = rows[0].settled ?? {}
            t.ok(input > 0 && cost === input * 1000, "the input is charged: the deadline is the caller's")
          },
        )
      await withBench(
        {
          way,
          backup: true,
          script: (seen) => sseAnswer(upToFirstWord(seen.path), { after: 'stall' }),
          timeouts: '{ first_byte: 2000s, idle: 2000s, total: 2000s }',
        },
        async (bench) => {
          const response = await bench.ask(true)
          await bench.clock.advance(900_000)
          const text = await bodyText(response)
          wellFormed(t, way, text, wayName(way))
          t.match(await foldReply(way, sse(text)), { text: 'one ', error: { type: 'timeout' } }, `${wayName(way)}: in the middle`)
        },
      )
    }
  })
})

t.test('a key in the code of an error goes no further', async (t) => {
  const leak = { error: { message: 'sk-first-secret', type: 'sk-first-secret', code: 'sk-first-secret', param: 'sk-first-secret' } }
  const inside = (seen: Seen): string =>
    seen.path.endsWith('/responses')
      ? `event: error\ndata: ${JSON.stringify({ ...leak.error, type: 'error' })}\n\n`
      : `data: ${JSON.stringify(leak)}\n\n`
  await every(t, 'every way', async (t) => {
    for (const way of pairs)
      for (const status of [400, 401, 403, 404, 429, 500])
        await withBench({ way, backup: false, script: () => jsonAnswer(leak, status) }, async (bench) => {
          for (const stream of [false, true]) t.notMatch(await bodyText(await bench.ask(stream)), /secret/, `${wayName(way)}, ${status}`)
        })
  })
  await every(t, 'every way', async (t) => {
    for (const way of pairs)
      await withBench({ way, backup: false, script: (seen) => sseAnswer([...upToFirstWord(seen.path), inside(seen)]) }, async (bench) => {
        const text = await bodyText(await bench.ask(true))
        t.match(text, /"one "/)
        t.notMatch(text, /secret/, `${wayName(way)}, in the middle`)
      })
  })
})

t.test('a provider that keeps the connection open after its last event keeps nobody waiting', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways) {
      const script = (seen: Seen): Answer => sseAnswer(framesFor(seen.path, UTTERANCES), { after: 'stall' })
      await withBench({ way, backup: true, script, timeouts: SLOW }, async (bench) => {
        const response = await bench.ask(true)
        await bench.clock.armed(1000)
        await bench.clock.advance(1000)
        const text = await bodyText(response)
        wellFormed(t, way, text, wayName(way))
        t.match(await foldReply(way, sse(text)), { text: 'one two thrée', error: undefined }, wayName(way))
        t.match([...bench.gateway.running.store.journal.export()], [{ settled: { status: 'completed', input: 11, output: 7 } }])
        t.equal((await (await bench.first.request(0)).closed).aborted, true, 'the upstream is closed')
      })
    }
  })
})

t.test('a whole answer without usage, and then silence, is an answer all the same', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways.filter(({ dialect }) => dialect === 'openai-chat')) {
      const script = (seen: Seen): Answer =>
        sseAnswer(
          framesFor(seen.path, UTTERANCES).filter((frame) => !frame.includes('"usage":{')),
          { after: 'stall' },
        )
      await withBench({ way, backup: true, script }, async (bench) => {
        const response = await bench.ask(true)
        await bench.clock.advance(TIMEOUTS.firstByte + TIMEOUTS.idle)
        const text = await bodyText(response)
        wellFormed(t, way, text, wayName(way))
        t.match(await foldReply(way, sse(text)), { text: 'one two thrée', error: undefined }, wayName(way))
        t.match([...bench.gateway.running.store.journal.export()], [{ settled: { status: 'completed', estimated: true } }])
      })
    }
  })
})
