/** Cost of a compaction, its texts for guardrails, and its bounds. */
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch, freshVerdict } from '../../support/admin.ts'
import {
  compacting,
  compactionScene,
  goingOn,
  HISTORY,
  madeItem,
  OTHER,
  OWNER,
  POOR,
  send,
  TRIGGER,
  WATCHED,
  WORD,
} from '../../support/compaction.ts'
import { eventually } from '../../support/eventually.ts'
import { object } from '../../support/fold.ts'
import { Gate, sseAnswer } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

const PATH = '/v1/responses/compact'

t.test('the call for the summary is held and charged like every answer', async (t) => {
  const { gateway, seen, says } = await compactionScene(t)
  says({ text: [WORD], usage: { input: 1000, output: 500 } })
  const bodies: [string, JsonObject][] = [
    ['/v1/responses', compacting('openai-chat')],
    ['/v1/responses', compacting('anthropic', { stream: true })],
    [PATH, { model: 'acme/gemini', input: HISTORY as JsonObject[] }],
  ]
  for (const [path, body] of bodies) {
    const { status, id } = await send(gateway, body, { path })
    t.equal(status, 200)
    const { data } = object((await (await gateway.get(`/v1/generation?id=${id}`)).json()) as JsonObject)
    t.match(data, { total_cost: 0.002, tokens_prompt: 1000, tokens_completion: 500, model: body.model }, `${path}: one row with its cost`)
  }
  t.match(await freshVerdict(gateway.admin), { ok: true, open: 0, charged: 6_000_000 })
  const before = seen.length
  for (const [path, body] of bodies)
    t.match(await send(gateway, { ...body, max_output_tokens: 4000 }, { path, key: POOR }), { status: 402 }, 'more than the key has')
  t.equal(seen.length, before, 'nothing was sent')
})

t.test('an opened item counts with all that it says', async (t) => {
  const { gateway, seen, says } = await compactionScene(t)
  says({ text: ['long '.repeat(250_000)] })
  const item = await madeItem(gateway)
  const before = seen.length
  const overlong = await send(gateway, { model: 'acme/openai-chat', input: [item, item], max_output_tokens: 10 })
  t.match(overlong, { status: 400, text: /context/ }, 'beyond the context of the model')
  t.match(await send(gateway, goingOn('openai-chat', item, { max_output_tokens: 16 }), { key: POOR }), { status: 400 }, 'of another key')
  t.equal(seen.length, before)
})

t.test('an item that grows beyond what a body may have is too large', async (t) => {
  const { gateway, seen, says } = await compactionScene(t, { more: 'server: { host: 127.0.0.1, port: 0, max_body: 100KB }\n' })
  // Each of these is six bytes in JSON, and one and a third in the item.
  says({ text: ['\u0001'.repeat(30_000)] })
  const item = await madeItem(gateway)
  const before = seen.length
  t.match(await send(gateway, goingOn('openai-chat', item)), { status: 413, text: /with its compaction items opened/ })
  t.equal(seen.length, before)
})

t.test('a caller that leaves while its conversation is compacted pays for what was written', async (t) => {
  const { gateway, seen, says } = await compactionScene(t)
  const gate = new Gate()
  says((request) => {
    const [first, second, ...rest] = framesFor(request.path, { text: ['The user wants ', 'paint.'], usage: { input: 1000, output: 500 } })
    return sseAnswer([first ?? '', second ?? '', gate.step, ...rest])
  })
  const controller = new AbortController()
  const sending = fetch(`${gateway.url}/v1/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${OWNER}`, 'content-type': 'application/json' },
    body: JSON.stringify(compacting('openai-chat', { stream: true })),
    signal: controller.signal,
  })
  const response = await sending
  t.equal(response.status, 200)
  controller.abort()
  await eventually('the end at the provider', async () => (await seen.at(-1)?.closed)?.aborted || undefined)
  gate.open()
  const id = response.headers.get('x-generation-id') ?? ''
  const row = await eventually('its row', async () => {
    const lines = (await (await adminFetch(`${gateway.admin}/ledger/export`)).text()).trim().split('\n')
    return lines.map((line) => object(JSON.parse(line || '{}'))).find((each) => each.id === id)
  })
  t.match(row, { status: 'aborted', estimated: true })
  t.ok(Number(row.cost_nano) > 0, 'charged')
})

t.test('guardrails read what an item says, and what a summary says', async (t) => {
  const { gateway, seen, says } = await compactionScene(t, {
    more: `guardrails:
  - { name: in, scope: { keys: [owner] }, direction: input, content_filters: [ { pattern: "mauve-[0-9]+", action: block } ] }
  - { name: hide, scope: { keys: [other] }, direction: input, content_filters: [ { pattern: "secret-[0-9]+", action: redact } ] }
  - { name: out, scope: { keys: [watched] }, direction: output, content_filters: [ { pattern: "mauve-[0-9]+", action: block } ] }
`,
  })
  const item = await madeItem(gateway)
  const before = seen.length
  const blocked = await send(gateway, goingOn('openai-chat', item))
  t.match(blocked, { status: 403 })
  t.equal(seen.length, before, 'the words of the item are blocked wherever they come from')
  says({ text: ['Remember secret-42.'] })
  const hidden = await madeItem(gateway, 'anthropic', OTHER)
  t.equal((await send(gateway, goingOn('anthropic', hidden), { key: OTHER })).status, 200)
  t.notMatch(seen.at(-1)?.body, 'secret-42')
  t.match(seen.at(-1)?.body, 'Remember')
  says({ text: [WORD] })
  for (const stream of [false, true]) {
    const watched = await send(gateway, compacting('openai-chat', { stream }), { key: WATCHED })
    t.notMatch(watched.text, '"type":"compaction"')
    t.notMatch(watched.text, WORD)
    t.match(watched.text, /blocked by content filter/)
  }
})

t.test('a plan holds for the summary, and calls nothing', async (t) => {
  const { gateway, seen } = await compactionScene(t)
  const reply = await gateway.post('/v1/plan', compacting('openai-chat'), { authorization: `Bearer ${OWNER}` })
  t.equal(reply.status, 200)
  t.equal(seen.length, 0)
  const wrong = await gateway.post(
    '/v1/plan',
    { model: 'acme/openai-chat', input: [TRIGGER, ...HISTORY] },
    { authorization: `Bearer ${OWNER}` },
  )
  t.equal(wrong.status, 400)
})
