/** Compaction on every wire: one encrypted item, which the next model reads as text and no client can read. */
import OpenAI from 'openai'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import {
  COMPACTING,
  compacting,
  compactionItem,
  compactionScene,
  goingOn,
  HISTORY,
  madeItem,
  OTHER,
  OWNER,
  send,
  TOOL,
  TRIGGER,
  WORD,
} from '../../support/compaction.ts'
import { every } from '../../support/every.ts'
import { list, object } from '../../support/fold.ts'
import { answerFor } from '../../support/wire.ts'

t.test('returns one item for a trigger in a streamed request, on every wire', async (t) => {
  const { gateway, seen } = await compactionScene(t)
  for (const wire of COMPACTING) {
    const { status, events, text } = await send(gateway, compacting(wire, { stream: true }))
    t.equal(status, 200, wire)
    const done = events.filter(({ type }) => type === 'response.output_item.done')
    const item = compactionItem(done.map((event) => object(event.item)))
    t.match(item, { id: /^cmp_/, encrypted_content: /^hgc1\.1\.[\w-]{40,}$/ }, wire)
    const last = object(events.at(-1)?.response)
    t.match(last, { status: 'completed', output: [item], usage: { input_tokens: 11, output_tokens: 7 } }, wire)
    t.equal(list(last.output).length, 1, wire)
    t.same(
      events.map(({ type }) => type),
      [
        'response.created',
        'response.in_progress',
        'response.output_item.added',
        'response.compaction.compacting',
        'response.output_item.done',
        'response.completed',
      ],
      wire,
    )
    t.match(events[3], { item_id: item.id, output_index: 0, sequence_number: 3 }, wire)
    t.notMatch(text, WORD, 'no word of the summary')
    const sent = seen.at(-1)?.body ?? ''
    t.notMatch(sent, 'compaction_trigger', `${wire}: the provider gets a request for a summary`)
    t.match(sent, 'Write a summary of the whole conversation above', wire)
    t.match(sent, 'one coat done', wire)
    t.match(
      sent,
      /"(?:tool_choice|toolConfig)":(?:"none"|\{"type":"none"\}|\{"functionCallingConfig":\{"mode":"NONE"\}\})/,
      `${wire}: no tool may be called`,
    )
  }
})

t.test('a compaction by one model is used by every other', async (t) => {
  const { gateway, seen, says } = await compactionScene(t)
  const items = new Map<string, JsonObject>()
  for (const wire of COMPACTING) items.set(wire, await madeItem(gateway, wire))
  says({ text: ['Mauve.'] })
  await every(t, 'every pair, whole and streamed', async (t) => {
    for (const [made, item] of items)
      for (const wire of COMPACTING)
        for (const stream of [false, true]) {
          const { status } = await send(gateway, goingOn(wire, item, { stream }))
          t.equal(status, 200, `${made} to ${wire}`)
          const sent = seen.at(-1)?.body ?? ''
          t.match(sent, WORD, `${made} to ${wire}: the summary in words`)
          t.notMatch(sent, 'hgc1.', `${made} to ${wire}`)
          t.match(sent, 'What colour?', `${made} to ${wire}`)
        }
  })
  t.notMatch(gateway.logs.join('\n'), WORD, 'no prompt in a log')
})

t.test('a compacted conversation is compacted again', async (t) => {
  const { gateway, seen } = await compactionScene(t)
  const first = await madeItem(gateway)
  const { reply } = await send(gateway, { model: 'acme/anthropic', input: [first, ...HISTORY, TRIGGER] })
  t.match(seen.at(-1)?.body, WORD)
  t.not(compactionItem(list(reply.output)).encrypted_content, first.encrypted_content)
})

t.test('POST /v1/responses/compact returns the messages of the user and one item', async (t) => {
  const { gateway, seen } = await compactionScene(t)
  const first = await madeItem(gateway)
  const path = '/v1/responses/compact'
  for (const wire of COMPACTING) {
    const input = [{ role: 'developer', content: 'Be brief.' }, first, ...HISTORY]
    const { status, reply } = await send(gateway, { model: `acme/${wire}`, instructions: 'You paint.', input }, { path })
    t.equal(status, 200, wire)
    t.match(reply, { id: /^gen-/, object: 'response.compaction', usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 } }, wire)
    const output = list(reply.output)
    t.match(
      output,
      [
        { type: 'message', role: 'user', id: /^msg_/, status: 'completed', content: [{ type: 'input_text', text: 'Paint the bridge.' }] },
        { type: 'message', role: 'user', id: /^msg_/, content: [{ type: 'input_text', text: 'Go on.' }] },
        { type: 'compaction', id: /^cmp_/, encrypted_content: /^hgc1\./ },
      ],
      wire,
    )
    t.equal(output.length, 3, `${wire}: neither the developer's message nor the opened item`)
    t.notMatch(JSON.stringify(reply), WORD, wire)
    t.match(seen.at(-1)?.body, WORD, `${wire}: the summary before is part of the next`)
    const next = await send(gateway, { model: 'acme/gemini', input: [...output, { role: 'user', content: 'And?' }] })
    t.equal(next.status, 200)
    t.match(seen.at(-1)?.body, WORD, 'the output is an input')
  }
  await every(t, 'every refusal', async (t) => {
    const of = async (body: JsonObject) => (await send(gateway, { model: 'acme/openai-chat', ...body }, { path })).text
    t.match(await of({ input: HISTORY as JsonObject[], stream: true }), /stream: must not be true/)
    t.match(await of({}), /input: is required/)
    t.match(await of({ input: null }), /input: is required/)
    t.match(await of({ input: 'Hi', previous_response_id: 'resp_1' }), /previous_response_id: must be null/)
    t.match(await of({ input: [TRIGGER] }), /input\[0\]: compaction_trigger must be the last item/)
  })
  const text = await send(gateway, { model: 'acme/openai-chat', input: 'Paint it.' }, { path })
  t.match(list(text.reply.output), [{ role: 'user', content: [{ text: 'Paint it.' }] }, { type: 'compaction' }], 'a text is a message')
  const long = [
    { role: 'user', content: 'x'.repeat(200_000) },
    { role: 'user', content: 'y'.repeat(100_000) },
  ]
  const cut = await send(gateway, { model: 'acme/openai-chat', input: long }, { path })
  t.match(list(cut.reply.output), [{ content: [{ text: /^y/ }] }, { type: 'compaction' }], 'the newest 64,000 tokens')
  const get = await gateway.get(path)
  t.equal(get.status, 405)
})

t.test('the official client compacts, goes on, and reads the stream', async (t) => {
  const { gateway, seen } = await compactionScene(t)
  const client = new OpenAI({ apiKey: OWNER, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const compacted = await client.responses.compact({
    model: 'acme/anthropic',
    input: HISTORY as unknown as OpenAI.Responses.ResponseInputItem[],
  })
  t.equal(compacted.object, 'response.compaction')
  t.equal(compacted.usage.total_tokens, 18)
  t.equal(compacted.output.at(-1)?.type, 'compaction')
  const next = await client.responses.create({
    model: 'acme/openai-chat',
    input: [...(compacted.output as OpenAI.Responses.ResponseInputItem[]), { role: 'user', content: 'And?' }],
  })
  t.equal(next.status, 'completed')
  t.match(seen.at(-1)?.body, WORD)
  const stream = client.responses.stream({
    model: 'acme/gemini',
    input: [...(HISTORY as unknown as OpenAI.Responses.ResponseInputItem[]), { type: 'compaction_trigger' }],
  })
  const final = await stream.finalResponse()
  t.match(final.output, [{ type: 'compaction', encrypted_content: /^hgc1\./ }])
})

t.test('requests the summary without server tools and without a format for the answer', async (t) => {
  const { gateway, seen } = await compactionScene(t)
  const more: JsonObject = {
    tools: [TOOL, { type: 'router:datetime' }],
    text: { format: { type: 'json_schema', name: 'x', schema: { type: 'object' } }, verbosity: 'low' },
    tool_choice: { type: 'function', name: 'paint' },
  }
  const { status, reply } = await send(gateway, compacting('openai-chat', more))
  t.equal(status, 200)
  compactionItem(list(reply.output))
  const sent = object(seen.at(-1)?.json)
  t.match(sent, { tool_choice: 'none', tools: [{ function: { name: 'paint' } }] })
  t.equal(list(sent.tools).length, 1)
  t.equal(sent.response_format, undefined)
})

t.test('returns an error, and no item, where the model writes no summary', async (t) => {
  const { gateway, says } = await compactionScene(t)
  const path = '/v1/responses/compact'
  const whole = { model: 'acme/openai-chat', input: HISTORY as JsonObject[] }
  says({ calls: [{ id: 'c', name: 'paint', args: ['{}'] }] })
  const called = await send(gateway, compacting('openai-chat'))
  t.match(called, { status: 502, text: /wrote no summary/ }, 'a call in its place')
  t.match(await send(gateway, whole, { path }), { status: 502 })
  const streamed = await send(gateway, compacting('openai-chat', { stream: true }))
  t.match(streamed.events.at(-1) ?? streamed, { type: 'response.failed' })
  t.notMatch(streamed.text, /"type":"compaction"/)
  says({ text: ['The user wants'], end: 'length' })
  const cut = await send(gateway, compacting('openai-chat'))
  t.match(
    cut.reply,
    { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] },
    'half a summary loses the rest',
  )
  t.match(await send(gateway, whole, { path }), { status: 400, text: /max_output_tokens: the model reached its output cap/ })
  says({ text: ['Called and wrote.'], calls: [{ id: 'c', name: 'paint', args: ['{}'] }] })
  compactionItem(list((await send(gateway, compacting('openai-chat'))).reply.output))
  says((request) => answerFor(request, { reasoning: ['Hm.'], text: [' \n'] }))
  t.match(await send(gateway, compacting('anthropic')), { status: 502 })
})

t.test('an item opens only for its key, and only unchanged', async (t) => {
  const { gateway, seen } = await compactionScene(t)
  const item = await madeItem(gateway)
  const original = String(item.encrypted_content)
  const before = seen.length
  const refused = async (encrypted: string, key?: string) =>
    send(gateway, goingOn('openai-responses', { ...item, encrypted_content: encrypted }), key === undefined ? {} : { key })
  t.match(await refused(original, OTHER), { status: 400, text: /input\[1\]\.encrypted_content: this compaction item cannot be opened/ })
  await every(t, 'every change', async (t) => {
    for (let at = 0; at < original.length; at += 7) {
      const changed = original.slice(0, at) + (original[at] === 'A' ? 'B' : 'A') + original.slice(at + 1)
      // The mark itself is gone: then it is an item of some provider's.
      if (changed.startsWith('hgc1.')) t.equal((await refused(changed)).status, 400, `changed at ${at}`)
    }
    for (const end of [6, 8, 20, 40, original.length - 1]) t.equal((await refused(original.slice(0, end))).status, 400, `cut at ${end}`)
    t.equal((await refused(`${original}AAAA`)).status, 400, 'longer')
    t.match(await refused(original.replace('hgc1.', 'hgc2.')), { status: 400, text: /another version/ })
    t.match(await refused(`hgc1.1.${'A'.repeat(2_000_000)}`), { status: 400 }, 'a huge one')
  })
  t.equal(seen.length, before, 'nothing has reached a provider')
  t.equal((await refused(original)).status, 200, 'the same item twice and more')
  const many = Array.from({ length: 65 }, () => item)
  t.match(await send(gateway, { model: 'acme/openai-chat', input: many }), { status: 400, text: /expected at most 64 compaction items/ })
  const list64 = await send(gateway, { model: 'acme/openai-chat', input: many.slice(1) })
  t.equal(list64.status, 200, '64 of them are read 64 times')
  t.equal(seen.at(-1)?.body.split(WORD).length, 65)
  t.notMatch(gateway.logs.join('\n'), WORD)
})
