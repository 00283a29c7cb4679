/** Caps, budgets and clocks of the request path, seen from outside. */
import t from 'tap'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { type Gateway, KEY, oneModel } from '../../support/gateway.ts'
import { allWays, expectFault, foldReply, wayName, withBench } from '../../support/pair-bench.ts'
import { parseReply, RawClient } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { type Answer, Gate, JSON_TYPE, type Seen, sseAnswer } from '../../support/upstream.ts'
import { framesFor, says, type Utterance, upstreamError } from '../../support/wire.ts'

const ways = allWays()
const UTTERANCES: Utterance = { text: ['one ', 'two ', 'thrée'] }
const PATIENT = '{ first_byte: 2000s, idle: 2000s, total: 2000s }'

function upToWord(path: string, word: string): string[] {
  const frames = framesFor(path, UTTERANCES)
  return frames.slice(0, frames.findIndex((frame) => frame.includes(word)) + 1)
}

const rows = (gateway: Gateway) => [...gateway.running.store.journal.export()].map(({ settled }) => settled)

t.test('counts bytes in flight whether their number was announced or not', async (t) => {
  const gate = new Gate()
  const { gateway, upstream } = await startScene(t, {
    answer: async (seen, index) => {
      await gate.opened
      return says(UTTERANCES)(seen, index)
    },
    yaml: `auth: { keys: [ { name: test, key: "${KEY}", limits: { bytes: 1KB } } ] }\n`,
  })
  const body = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x'.repeat(600) }] })
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'Host: x',
    `Authorization: Bearer ${KEY}`,
    'Content-Type: application/json',
    'Connection: close',
  ]
  const chunked = `${[...head, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  const first = await RawClient.open(gateway.url)
  first.send(chunked)
  await upstream.request(0)
  const second = parseReply(await (await RawClient.open(gateway.url)).send(chunked).closed())
  t.equal(second.status, 429)
  t.equal((await gateway.post('/v1/chat/completions', body)).status, 429)
  gate.open()
  t.equal(parseReply(await first.closed()).status, 200)
  t.equal((await gateway.post('/v1/chat/completions', body)).status, 200, 'given back')
})

t.test('the request rate holds from the first moment of the clock', async (t) => {
  const { gateway } = await startScene(t, {
    answer: says(UTTERANCES),
    yaml: `auth: { keys: [ { name: test, key: "${KEY}", limits: { requests: 2 } } ] }\n`,
  })
  const ask = () => gateway.post('/v1/chat/completions', { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await ask()).status)
  t.same(statuses, [200, 200, 429])
})

t.test('cuts off an event and a body past 16 MB', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways) {
      const endless = (seen: Seen): Answer => {
        const piece = 'x'.repeat(64 * 1024)
        const pieces = Array.from({ length: 300 }, () => piece)
        return seen.json.stream
          ? sseAnswer([...upToWord(seen.path, 'one '), 'data: {"x":"', ...pieces], { after: 'stall' })
          : { headers: JSON_TYPE, body: ['{"x":"', ...pieces], after: 'stall' }
      }
      await withBench({ way, backup: false, script: endless }, async (bench) => {
        const text = await (await bench.ask(true)).text()
        const reply = await foldReply(way, new Response(text, { headers: { 'content-type': 'text/event-stream' } }))
        t.match(reply, { text: 'one ', error: { type: 'provider_unavailable' } }, wayName(way))
        await expectFault(t, await bench.ask(false), 502, 'provider_unavailable')
        for (const seen of bench.first.requests) t.equal((await seen.closed).aborted, true)
      })
    }
  })
})

t.test('sends a comment after every ten seconds without an event, also in the middle of a reply', async (t) => {
  await every(t, 'every way', async (t) => {
    for (const way of ways) {
      const gate = new Gate()
      const script = (seen: Seen): Answer => {
        const begun = upToWord(seen.path, 'one ')
        return sseAnswer([...begun, gate.step, ...framesFor(seen.path, UTTERANCES).slice(begun.length)])
      }
      await withBench({ way, backup: false, script, timeouts: PATIENT }, async (bench) => {
        const response = await bench.ask(true)
        const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
        let text = ''
        const read = async (pattern: RegExp): Promise<void> => {
          while (!pattern.test(text)) {
            const piece = await reader?.read()
            if (piece?.done !== false) throw new Error(`ended before ${pattern}`)
            text += piece.value
          }
        }
        await read(/one /)
        await bench.clock.advance(9_999)
        t.notMatch(text, /^: /m, `${wayName(way)}: not before`)
        await bench.clock.advance(1)
        await read(/^: ROUTER PROCESSING\n\n/m)
        await bench.clock.advance(10_000)
        await read(/(: ROUTER PROCESSING\n\n){2}/)
        gate.open()
        await read(/\[DONE\]/)
        t.equal(text.match(/^:/gm)?.length, 2, wayName(way))
      })
    }
  })
})

const DRAIN = (url: string, dialect: string): string => oneModel(url, dialect, { provider: `on_abort: drain, timeouts: ${PATIENT}` })

t.test('drain reads the provider to its end, for thirty seconds, before and after the first content', async (t) => {
  await every(t, 'every dialect', async (t) => {
    for (const dialect of ['openai-chat', 'openai-responses'])
      for (const begun of [false, true])
        for (const ends of [true, false]) {
          const name = `${dialect}, ${begun ? 'after' : 'before'} content, ${ends ? 'ends' : 'does not end'}`
          const gate = new Gate()
          const { clock, gateway, upstream } = await startScene(t, {
            answer: (seen) => {
              const head = begun ? upToWord(seen.path, 'one ') : []
              return sseAnswer([...head, gate.step, ...framesFor(seen.path, UTTERANCES).slice(head.length)])
            },
            config: (url) => DRAIN(url, dialect),
          })
          const aborter = new AbortController()
          const asked = fetch(`${gateway.url}/v1/chat/completions`, {
            method: 'POST',
            headers: { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'x' }] }),
            signal: aborter.signal,
          })
          asked.catch(() => undefined)
          const seen = await upstream.request(0)
          if (begun) {
            const reader = (await asked).body?.getReader()
            await reader?.read()
          }
          aborter.abort()
          await eventually('the end of the attempt', async () => {
            // A caller that has closed its side is asked whether it still listens.
            await clock.advance(10)
            return clock.waiting.includes(30_000)
          })
          await clock.advance(10_000)
          t.same(rows(gateway), [undefined], `${name}: open`)
          if (ends) gate.open()
          else await clock.advance(20_000)
          await eventually('the first row', () => rows(gateway)[0] !== undefined)
          const [row] = rows(gateway)
          if (ends) t.match(row, { status: 'aborted', input: 11, output: 7, estimated: false }, name)
          else t.match(row, { status: 'aborted', estimated: true }, name)
          t.notOk(clock.waiting.includes(30_000), `${name}: no timer holds on to it`)
          t.equal((await seen.closed).aborted, !ends, name)
          gate.open()
        }
  })
})

t.test('drain reads sixty-four replies at once to their end', async (t) => {
  const gate = new Gate()
  const { clock, gateway } = await startScene(t, {
    answer: (seen) => {
      const head = upToWord(seen.path, 'one ')
      return sseAnswer([...head, gate.step, ...framesFor(seen.path, UTTERANCES).slice(head.length)])
    },
    config: (url) => DRAIN(url, 'openai-chat'),
  })
  const aborter = new AbortController()
  const body = JSON.stringify({ model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'x' }] })
  const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' }
  const ask = () => fetch(`${gateway.url}/v1/chat/completions`, { method: 'POST', headers, body, signal: aborter.signal })
  await Promise.all(Array.from({ length: 66 }, ask))
  aborter.abort()
  await eventually('the end of the attempt', async () => {
    await clock.advance(10)
    return rows(gateway).filter((row) => row !== undefined).length === 2
  })
  t.match(
    rows(gateway).filter((row) => row !== undefined),
    [{ estimated: true }, { estimated: true }],
    'the others are cancelled',
  )
  gate.open()
  await eventually('all rows', () => rows(gateway).every((row) => row !== undefined))
  t.equal(rows(gateway).filter((row) => row?.estimated === false && row.output === 7).length, 64)
})

t.test('metadata: where it is told and where it is not', async (t) => {
  const clock = new FakeClock()
  const { gateway, upstream } = await startScene(t, {
    answer: () => upstreamError(500),
    yaml: `
auth: { keys: [ { name: test, key: "${KEY}" }, { name: poor, key: "sk-router-v1-poorpoorpoor", limit: "0" }, { name: slow, key: "sk-router-v1-slowslowslow", limits: { requests: 1 } } ] }
guardrails: [ { name: no-secrets, content_filters: [ { pattern: "forbidden", action: block, label: FORBIDDEN } ] } ]
`,
    clock,
  })
  const on = { 'x-router-metadata': 'Enabled' }
  const ask = async (more: object = {}, headers: Record<string, string> = {}) => {
    const response = await gateway.post(
      '/v1/chat/completions',
      { model: 'acme/one', messages: [{ role: 'user', content: 'x' }], ...more },
      { ...on, ...headers },
    )
    return { status: response.status, body: (await response.json()) as { error: { code: number }; router_metadata?: object } }
  }
  const told = async (name: string, status: number, expected: object, more: object = {}, headers: Record<string, string> = {}) => {
    const { status: found, body } = await ask(more, headers)
    t.equal(found, status, name)
    t.match(
      body,
      {
        router_metadata: {
          requested: String,
          strategy: String,
          summary: String,
          endpoints: { total: Number, available: Array },
          ...expected,
        },
      },
      name,
    )
    t.notMatch(JSON.stringify(body.router_metadata), /"selected":true/, `${name}: none selected`)
  }
  const silent = async (name: string, status: number, more: object = {}, headers: Record<string, string> = {}) => {
    const { status: found, body } = await ask(more, headers)
    t.equal(found, status, name)
    t.notOk('router_metadata' in body, name)
  }
  await told('502', 502, { attempt: 1, attempts: [{ status: 500 }] })
  upstream.script = () => upstreamError(529)
  await told('529', 529, { attempt: 1, attempts: [{ status: 529 }] })
  upstream.script = () => upstreamError(429)
  await told('429 of a provider', 429, { attempt: 1 })
  upstream.script = () => upstreamError(400)
  await told('400 of a provider', 400, { attempt: 1 })
  await told('404 without a provider', 404, { attempt: 0 }, { provider: { only: ['nobody'] } })
  await told(
    '403 of a guardrail',
    403,
    { attempt: 0, pipeline: [{ type: 'guardrail' }], endpoints: { total: Number } },
    { messages: [{ role: 'user', content: 'forbidden' }] },
  )
  await silent('400 of ours', 400, { messages: [] })
  await silent('400 of ours, late', 400, { plugins: [{ id: 'nope' }] })
  await silent('401', 401, {}, { authorization: 'Bearer sk-wrong' })
  await ask({}, { authorization: 'Bearer sk-router-v1-slowslowslow' })
  await silent('429 of ours', 429, {}, { authorization: 'Bearer sk-router-v1-slowslowslow' })
  const off = await gateway.post(
    '/v1/chat/completions',
    { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] },
    { 'x-router-metadata': 'yes' },
  )
  t.notOk('router_metadata' in ((await off.json()) as object), 'any other word is off')
})
