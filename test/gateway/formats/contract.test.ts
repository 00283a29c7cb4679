/** Rules of the wire by their numbers: money, reasoning, citations, debug, metadata, back-pressure. */
import t from 'tap'
import type { Json } from '../../../src/core/json.ts'
import { steady } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { foldChat, list, object, parseStream } from '../../support/fold.ts'
import { CHAT, json, KEY, POOR, RESPONSES, startTwoProviders } from '../../support/two-providers.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'
import { answerFor, framesFor, responsesReplyWith, says, upstreamError } from '../../support/wire.ts'

const { first, second, gateway, ask, refused } = await startTwoProviders(t)

t.test('every completion has its own id, and titles change nothing', async (t) => {
  const seen = new Set<string | null>()
  for (const path of [RESPONSES, CHAT])
    for (const stream of [false, true]) {
      const response = await ask(path, { stream }, { 'HTTP-Referer': 'https://app.example', 'X-Router-Title': 'App' })
      t.equal(response.status, 200)
      seen.add(response.headers.get('x-generation-id'))
      await response.text()
    }
  t.equal(seen.size, 4)
  t.ok([...seen].every((id) => id?.startsWith('gen-')))
})

t.test('returns 402 without credit, and a key shows what it has used', async (t) => {
  const poor = { authorization: `Bearer ${POOR}` }
  for (const path of [RESPONSES, CHAT]) {
    const error = await refused(t, 'no credit', ask(path, { stream: true }, poor), 402)
    t.match(error.message, /\$/, 'it says what was needed and what is left')
  }
  const before = object((await json(await gateway.get('/v1/key'))).data)
  t.match(before, { limit: null, usage: Number, label: String })
  t.notMatch(JSON.stringify(before), KEY)
  const response = await ask(CHAT)
  const id = response.headers.get('x-generation-id')
  const { cost } = object((await json(response)).usage)
  t.equal(cost, 0.000025)
  const after = object((await json(await gateway.get('/v1/key'))).data)
  t.equal(Math.round((Number(after.usage) - Number(before.usage)) * 1e9), 25000, 'it rises by what the reply says')
  const generation = object((await json(await gateway.get(`/v1/generation?id=${id}`))).data)
  t.match(generation, {
    id,
    model: 'acme/one',
    provider_name: 'First',
    total_cost: cost,
    tokens_prompt: 11,
    tokens_completion: 7,
    streamed: false,
    finish_reason: 'stop',
  })
  t.equal((await gateway.get(`/v1/generation?id=${id}`, poor)).status, 404, 'not for another key')
  t.equal((await gateway.get('/v1/generation')).status, 400)
  t.equal((await gateway.get('/v1/generation?id=gen-unknown')).status, 404)
  const limits = object((await json(await gateway.get('/v1/key', poor))).data)
  t.match(limits, { limit: 0.000001, limit_remaining: 0.000001, usage: 0 })
})

t.test('adds encrypted reasoning on request, and sends it back unchanged', async (t) => {
  const encrypted = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'c2VhbGVk' }
  first.script = () => jsonAnswer(responsesReplyWith({ text: ['so'] }, [encrypted]))
  const output = list((await json(await ask(RESPONSES, { include: ['reasoning.encrypted_content'] }))).output)
  t.match(output[0], { type: 'reasoning', encrypted_content: 'c2VhbGVk' })
  t.match(first.requests.at(-1)?.json, { include: ['reasoning.encrypted_content'] })
  first.script = says({ text: ['fine'] })
  const input: Json = [
    { role: 'user', content: 'Hi' },
    { ...encrypted, signature: 'sig' },
    // OpenAI refuses reasoning without the item that followed it.
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'so', annotations: [] }] },
    { role: 'user', content: 'Go on' },
  ]
  t.equal((await ask(RESPONSES, { input })).status, 200)
  t.match(first.requests.at(-1)?.body, /c2VhbGVk/, 'sent back unchanged')
})

t.test('citations are flat in Responses and nested in chat', async (t) => {
  const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 2 }
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 }
  first.script = (seen) => {
    if (seen.json.stream !== true) {
      const reply = responsesReplyWith({ text: ['so'] }, [])
      list(list(reply.output)[0].content)[0].annotations = [annotation]
      return jsonAnswer(reply)
    }
    const frames = framesFor(seen.path, { text: ['so'] })
    const done = frames.findIndex((frame) => frame.includes('"type":"response.output_text.done"'))
    const added = { type: 'response.output_text.annotation.added', sequence_number: done, ...place, annotation_index: 0, annotation }
    const later = frames
      .slice(done)
      .map((frame) =>
        frame
          .replace(/"sequence_number":(\d+)/, (_, n) => `"sequence_number":${Number(n) + 1}`)
          .replaceAll('"annotations":[]', `"annotations":[${JSON.stringify(annotation)}]`),
      )
    return sseAnswer([...frames.slice(0, done), `event: ${added.type}\ndata: ${JSON.stringify(added)}\n\n`, ...later])
  }
  const events = parseStream(await (await ask(RESPONSES, { stream: true })).text())
  t.match(
    events.find((event) => event.type === 'response.output_text.annotation.added'),
    { annotation_index: 0, annotation },
  )
  const whole = await json(await ask(RESPONSES))
  t.match(list(list(whole.output)[0].content)[0].annotations, [annotation])
  const chat = foldChat(await json(await ask(CHAT)))
  t.match(chat.annotations, [{ type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }], 'nested')
  first.script = says({ text: ['fine'] })
})

t.test('debug echoes the body of each attempt, before all else', async (t) => {
  const debug = { echo_upstream_body: true }
  first.script = () => upstreamError(500)
  await every(t, 'every path', async (t) => {
    for (const path of [RESPONSES, CHAT]) {
      const text = await (await ask(path, { stream: true, debug })).text()
      const events = parseStream(text)
      const echoes = events.filter((event) => 'debug' in event)
      t.equal(echoes.length, 2, `${path}: one per attempt`)
      t.same(events.slice(0, 2), echoes, 'they come first')
      t.match(echoes[1], { debug: { echo_upstream_body: { model: 'upstream-model' } } }, 'the translated body')
      t.notMatch(text, /secret/)
      if (path === CHAT) t.same(echoes[0].choices, [], 'without choices')
      else
        t.same(
          events.map((event) => event.sequence_number),
          [...events.keys()],
        )
    }
  })
  first.script = says({ text: ['fine'] })
})

t.test('router_metadata shows the choice, where the header is on', async (t) => {
  const on = { 'X-Router-Metadata': 'enabled' }
  const whole = object((await json(await ask(RESPONSES, {}, on))).router_metadata)
  t.match(whole, {
    requested: 'acme/one',
    strategy: 'direct',
    region: null,
    attempt: 1,
    is_byok: false,
    summary: 'available=2, selected=First',
  })
  t.match(whole.endpoints, {
    total: 2,
    available: [
      { provider: 'First', model: 'acme/one', selected: true },
      { provider: 'Second', selected: false },
    ],
  })
  for (const headers of [{ 'X-Router-Metadata': 'ENABLED' }, { 'X-Router-Experimental-Metadata': 'enabled' }] as Record<string, string>[])
    t.ok('router_metadata' in (await json(await ask(CHAT, {}, headers))), `on with ${JSON.stringify(headers)}`)
  t.notOk('router_metadata' in (await json(await ask(CHAT, {}, { 'X-Router-Metadata': 'yes' }))), 'off with any other word')
  first.script = () => upstreamError(500)
  const fallen = object((await json(await ask(RESPONSES, {}, on))).router_metadata)
  t.match(
    fallen,
    {
      attempt: 2,
      attempts: [
        { provider: 'First', status: 500 },
        { provider: 'Second', status: 200 },
      ],
    },
    'both attempts',
  )
  second.script = () => upstreamError(503)
  const failed = await json(await ask(RESPONSES, { stream: true }, on))
  t.match(failed, { error: { code: 502 }, router_metadata: { attempt: 2, endpoints: { total: 2 } } })
  t.notOk(
    list(object(object(failed.router_metadata).endpoints).available).some((endpoint) => endpoint.selected),
    'none is selected',
  )
  first.script = says({ text: ['fine'] })
  second.script = says({ text: ['second'] })
  for (const path of [RESPONSES, CHAT]) {
    const events = parseStream(await (await ask(path, { stream: true }, on)).text())
    const holders = events.filter((event) => 'router_metadata' in event || 'router_metadata' in object(event.response))
    t.same(holders, events.slice(-1), `${path}: only in the last`)
  }
  const none = await json(await ask(RESPONSES, { provider: { only: ['nobody'] } }, on))
  t.match(none, { router_metadata: { attempt: 0 } }, 'none was called')
  const stranger = await json(await ask(RESPONSES, {}, { ...on, authorization: 'Bearer wrong' }))
  t.notOk('router_metadata' in stranger, 'not on 401')
})

t.test('a slow reader holds the provider back', async (t) => {
  const piece = 'x'.repeat(64 * 1024)
  const words = 1500
  first.script = (seen) => {
    const frames = framesFor(seen.path, { text: ['marker'] })
    const at = frames.findIndex((frame) => frame.includes('"delta":"marker"'))
    const many = Array.from({ length: words }, () => frames[at].replace('marker', piece))
    return sseAnswer([...frames.slice(0, at), ...many, ...frames.slice(at + 1)])
  }
  const response = await ask(RESPONSES, { stream: true })
  const reader = response.body?.getReader()
  await reader?.read()
  const seen = first.requests.at(-1)
  await steady(() => seen?.sentBytes)
  const last = seen?.sentBytes ?? 0
  t.ok(
    last < (words * piece.length) / 3,
    `the provider waits after ${Math.round(last / 1e6)} MB of ${Math.round((words * piece.length) / 1e6)} MB`,
  )
  let received = 0
  for (;;) {
    const chunk = await reader?.read()
    if (!chunk || chunk.done) break
    received += chunk.value.length
  }
  t.ok(received > words * piece.length, 'and everything arrives once it is read')
  first.script = says({ text: ['fine'] })
})

t.test('shows callers no keys and no error text of a provider', async (t) => {
  const leak = 'internal host 10.1.2.3, key sk-first-secret, stack at line 5'
  first.script = () => upstreamError(500, leak)
  second.script = () => upstreamError(401, leak)
  for (const path of [RESPONSES, CHAT]) t.notMatch(await (await ask(path)).text(), /10\.1\.2\.3|secret|stack/)
  t.notMatch(gateway.logs.join('\n'), /sk-first-secret|sk-router-v1-0123/)
  first.script = (seen) => answerFor(seen, { text: ['fine'] })
  second.script = says({ text: ['second'] })
})
