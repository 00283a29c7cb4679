/** Reasoning that a provider signed or encrypted comes back as it was, through clients that replay only what their API documents. */
import t from 'tap'
import { isObject, type JsonObject } from '../../src/core/json.ts'
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import type { Item } from '../../src/dialects/canon/request.ts'
import { noUsage } from '../../src/dialects/canon/usage.ts'
import { chatClient, openaiChat } from '../../src/dialects/chat/index.ts'
import { openaiResponses, responsesClient } from '../../src/dialects/responses/index.ts'
import type { ClientDialect, Final, ReplyContext, Target } from '../../src/dialects/types.ts'
import { every } from '../support/every.ts'
import { fold } from '../support/fold-events.ts'

type Block = {
  kind: 'reasoning' | 'summary'
  item?: string
  text?: string[]
  notes: [note: 'format' | 'signature' | 'encrypted', data: JsonObject][]
}

const CLAUDE = 'anthropic-claude-v1'
const GEMINI = 'google-gemini-v1'
const OPENAI = 'openai-responses-v1'

const format = (name: string): ['format', JsonObject] => ['format', { format: name }]
const thinking = (text: string, signature: string): Block => ({
  kind: 'reasoning',
  text: [text.slice(0, 3), text.slice(3)],
  notes: [format(CLAUDE), ['signature', { signature, format: CLAUDE }]],
})
const redacted = (data: string): Block => ({ kind: 'reasoning', notes: [format(CLAUDE), ['encrypted', { data, format: CLAUDE }]] })
const signedCall = (data: string, id: string): Block => ({
  kind: 'reasoning',
  notes: [format(GEMINI), ['encrypted', { data, id, format: GEMINI }]],
})

interface Case {
  blocks: Block[]
  items: Item[]
  /** Through the responses client, where it differs. */
  responses?: Item[]
}

const CASES: Readonly<Record<string, Case>> = {
  'signed thinking': {
    blocks: [thinking('Let “me” think…', 'c2ln+/=')],
    items: [{ kind: 'reasoning', text: 'Let “me” think…', signature: 'c2ln+/=', format: CLAUDE }],
  },
  'thinking that is not shown': {
    blocks: [{ kind: 'reasoning', notes: [format(CLAUDE), ['signature', { signature: 'S', format: CLAUDE }]] }],
    items: [{ kind: 'reasoning', signature: 'S', format: CLAUDE }],
  },
  'redacted thinking between two signed ones': {
    blocks: [thinking('one thought', 'S1'), redacted('R1'), redacted('R2'), thinking('two thoughts', 'S2')],
    items: [
      { kind: 'reasoning', text: 'one thought', signature: 'S1', format: CLAUDE },
      { kind: 'reasoning', encrypted: 'R1', format: CLAUDE },
      { kind: 'reasoning', encrypted: 'R2', format: CLAUDE },
      { kind: 'reasoning', text: 'two thoughts', signature: 'S2', format: CLAUDE },
    ],
  },
  'encrypted reasoning that belongs to a call': {
    blocks: [signedCall('G1', 'call_1')],
    items: [{ kind: 'reasoning', id: 'call_1', encrypted: 'G1', format: GEMINI }],
  },
  'a thought summary before the signature of a text': {
    blocks: [
      { kind: 'summary', text: ['Sum', 'mary'], notes: [format(GEMINI)] },
      { kind: 'reasoning', notes: [format(GEMINI), ['encrypted', { data: 'G2', format: GEMINI }]] },
    ],
    items: [
      { kind: 'reasoning', summary: ['Summary'], format: GEMINI },
      { kind: 'reasoning', encrypted: 'G2', format: GEMINI },
    ],
    responses: [{ kind: 'reasoning', summary: ['Summary'], encrypted: 'G2', format: GEMINI }],
  },
  'encrypted reasoning with summaries': {
    blocks: [
      { kind: 'summary', item: 'rs_1', text: ['First'], notes: [] },
      {
        kind: 'summary',
        item: 'rs_1',
        text: ['Second'],
        notes: [format(OPENAI), ['encrypted', { data: 'O1', id: 'rs_1', format: OPENAI }]],
      },
    ],
    items: [{ kind: 'reasoning', id: 'rs_1', summary: ['First', 'Second'], encrypted: 'O1', format: OPENAI }],
    responses: [{ kind: 'reasoning', id: 'rs_1', summary: ['First', 'Second'], encrypted: 'O1' }],
  },
  'a gateway that signs in a form of its own': {
    blocks: [
      { kind: 'reasoning', item: 'r-7', text: ['Hm'], notes: [format('acme-v1'), ['signature', { signature: 'A', format: 'acme-v1' }]] },
    ],
    items: [{ kind: 'reasoning', id: 'r-7', text: 'Hm', signature: 'A', format: 'acme-v1' }],
  },
  'encrypted reasoning of an unknown family': {
    blocks: [{ kind: 'reasoning', notes: [['encrypted', { data: 'X' }]] }],
    items: [{ kind: 'reasoning', encrypted: 'X' }],
    responses: [{ kind: 'reasoning', encrypted: 'X', format: 'unknown' }],
  },
}

function blockEvents(blocks: readonly Block[]): StreamEvent[] {
  const events: StreamEvent[] = [{ type: 'start' }]
  for (const [block, { kind, item, text, notes }] of blocks.entries()) {
    events.push(item === undefined ? { type: 'block-start', block, kind } : { type: 'block-start', block, kind, item })
    const [first, ...rest] = notes
    // The format is sent as soon as it is known, the encrypted content last.
    if (first?.[0] === 'format') events.push({ type: 'block-note', block, note: 'format', data: first[1] })
    for (const each of text ?? []) events.push({ type: 'block-delta', block, text: each })
    for (const [note, data] of first?.[0] === 'format' ? rest : notes) events.push({ type: 'block-note', block, note, data })
    events.push({ type: 'block-end', block })
  }
  const block = blocks.length
  events.push({ type: 'block-start', block, kind: 'text' }, { type: 'block-delta', block, text: 'So.' }, { type: 'block-end', block })
  return [...events, { type: 'end', reason: 'stop' }]
}

function context(body: JsonObject): ReplyContext {
  return { id: 'gen-1-x', created: 1, model: 'a/b', provider: 'P', body, brand: 'router', sequence: 0, opened: true }
}

const FINAL: Final = { usage: noUsage(), cost: 0, inputCost: 0, outputCost: 0, end: { reason: 'stop' }, completedAt: 2 }

function whole(client: ClientDialect, events: readonly StreamEvent[], body: JsonObject): JsonObject {
  return JSON.parse(client.encodeResult(fold(events), context(body), FINAL)) as JsonObject
}

function streamed(client: ClientDialect, events: readonly StreamEvent[], body: JsonObject): JsonObject[] {
  const encoder = client.streamEncoder(context(body))
  let text = ''
  for (const event of events) text += encoder.push([event])
  text += encoder.finish(FINAL)
  return text
    .split('\n\n')
    .map((frame) => frame.replace(/^event: .*\n/, ''))
    .filter((frame) => frame.startsWith('data: {'))
    .map((frame) => JSON.parse(frame.slice(6)) as JsonObject)
}

const objects = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])

/** @param texts members whose texts are joined; null: all but the type, as OpenAI's SDK for Python does (`accumulate_delta` of openai 3.57.0). */
function joined(details: readonly JsonObject[], texts: readonly string[] | null = ['text', 'summary']): JsonObject[] {
  const byIndex = new Map<unknown, JsonObject>()
  for (const detail of details) {
    const before = byIndex.get(detail.index)
    const grown: JsonObject = { ...before, ...detail }
    for (const key of texts ?? Object.keys(grown).filter((key) => key !== 'type' && key !== 'index'))
      if (before?.[key] !== undefined) grown[key] = `${before[key]}${detail[key] ?? ''}`
    byIndex.set(detail.index, grown)
  }
  return [...byIndex.values()]
}

const user = { role: 'user', content: 'Hi' }

/** The reasoning that the next request of a chat caller brings back. */
function chatReturns(details: readonly JsonObject[]): Item[] {
  const body: JsonObject = { messages: [user, { role: 'assistant', content: 'So.', reasoning_details: [...details] }, user] }
  chatClient.check(body)
  return chatClient.decodeRequest(body).items.filter((item) => item.kind === 'reasoning')
}

/** A caller that keeps nothing but the documented members of a reasoning item. */
function plainItem(item: JsonObject): JsonObject {
  if (item.type !== 'reasoning') return item
  const { id, type, summary, content, encrypted_content } = item
  return JSON.parse(JSON.stringify({ id, type, summary, content, encrypted_content })) as JsonObject
}

function responsesInput(output: readonly JsonObject[]): JsonObject {
  return { input: [user, ...output.map(plainItem), user] }
}

function responsesReturns(output: readonly JsonObject[]): Item[] {
  const body = responsesInput(output)
  responsesClient.check(body)
  return responsesClient.decodeRequest(body).items.filter((item) => item.kind === 'reasoning')
}

for (const [name, { blocks, items, responses }] of Object.entries(CASES)) {
  t.test(name, async (t) => {
    const events = blockEvents(blocks)
    const message = objects(whole(chatClient, events, {}).choices)[0].message as JsonObject
    t.same(chatReturns(objects(message.reasoning_details)), items, 'chat')
    const pieces = streamed(chatClient, events, {}).flatMap((chunk) =>
      objects(chunk.choices).flatMap((choice) => objects((choice.delta as JsonObject).reasoning_details)),
    )
    t.same(chatReturns(joined(pieces)), items, 'chat, streamed')
    t.same(chatReturns(joined(pieces, null)), items, 'chat, streamed, every text joined')

    const asked = { include: ['reasoning.encrypted_content'] }
    const output = objects(whole(responsesClient, events, asked).output)
    t.same(responsesReturns(output), responses ?? items, 'responses')
    const done = streamed(responsesClient, events, asked)
    t.same((done[done.length - 1].response as JsonObject).output, output, 'a stream ends with the same items')
    const told = done.filter((event) => event.type === 'response.output_item.done').map((event) => event.item as JsonObject)
    t.same(told, output, 'and has told them before')
  })
}

t.test('a caller that sends pieces of a stream back as they came', async (t) => {
  const pieces = streamed(chatClient, blockEvents(CASES['redacted thinking between two signed ones'].blocks), {}).flatMap((chunk) =>
    objects(chunk.choices).flatMap((choice) => objects((choice.delta as JsonObject).reasoning_details)),
  )
  t.ok(pieces.length > 6, 'there are more pieces than details')
  t.same(chatReturns(pieces), CASES['redacted thinking between two signed ones'].items)
})

t.test('shows encrypted reasoning of its own wire on request, and that of another family always', async (t) => {
  const readSignature = (name: string, body: JsonObject): unknown =>
    objects(whole(responsesClient, blockEvents(CASES[name].blocks), body).output)[0].encrypted_content
  t.equal(readSignature('encrypted reasoning with summaries', {}), undefined, 'this wire’s own only where it was asked for')
  t.equal(readSignature('encrypted reasoning with summaries', { include: ['reasoning.encrypted_content'] }), 'O1')
  t.match(readSignature('signed thinking', {}), /^hg\.[\w-]+$/, 'another family’s always: without it the next turn fails')
  const [item] = objects(whole(responsesClient, blockEvents(CASES['signed thinking'].blocks), {}).output)
  t.match(item, { signature: 'c2ln+/=', format: CLAUDE, content: [{ text: 'Let “me” think…' }] }, 'beside the members of its own')
})

const TARGET: Target = { model: 'up', stream: false, quirks: {}, user: 'pass' }
const NAMES = Object.keys(CASES)
const FOREIGN = NAMES.filter((name) => !name.startsWith('encrypted reasoning'))

t.test('sends no encrypted reasoning of another family to OpenAI', async (t) => {
  await every(t, 'every name', async (t) => {
    for (const name of FOREIGN) {
      const { items, blocks } = CASES[name]
      const output = objects(whole(responsesClient, blockEvents(blocks), {}).output)
      const body = { model: 'a/b', ...responsesInput(output) }
      t.equal(openaiResponses.pass?.admits(body, TARGET), false, `${name}: no body for the pass lane`)
      const sent = openaiResponses.encodeRequest(responsesClient.decodeRequest(body), TARGET)
      t.notMatch(JSON.stringify(sent.body), /"hg\.|"encrypted_content":|signature|"type":"reasoning"/, name)
      t.ok(sent.dropped.includes('reasoning'), name)
      const crossed = openaiResponses.encodeRequest(
        { items, tools: [], sampling: {}, stream: false, extras: { dialect: 'chat', fields: {} }, used: new Set() },
        TARGET,
      )
      t.same([crossed.body.input, crossed.dropped], [[], ['reasoning']], `${name}, from chat`)
    }
  })
  const own = responsesInput([
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'O1' },
    { role: 'assistant', content: 'So.' },
  ])
  t.equal(openaiResponses.pass?.admits(own, TARGET), true)
  t.match(openaiResponses.encodeRequest(responsesClient.decodeRequest(own), TARGET).body.input, [{}, { encrypted_content: 'O1' }])
})

t.test(
  'chat providers get reasoning of earlier turns only where their quirks say so, and encrypted reasoning only where they are gateways',
  async (t) => {
    await every(t, 'every name', async (t) => {
      for (const name of NAMES) {
        const details = objects(
          (objects(whole(chatClient, blockEvents(CASES[name].blocks), {}).choices)[0].message as JsonObject).reasoning_details,
        )
        const replayed = { role: 'assistant', content: 'So.', reasoning: 'words', reasoning_details: details }
        const body: JsonObject = { model: 'a/b', messages: [user, replayed, user] }
        const lanes = (quirks: JsonObject) => [
          openaiChat.encodeRequest(chatClient.decodeRequest(body), { ...TARGET, quirks }),
          openaiChat.pass?.request(body, { ...TARGET, quirks }),
        ]
        for (const sent of lanes({})) {
          t.notMatch(JSON.stringify(sent?.body), /"reasoning/, name)
          t.same(sent?.dropped, ['reasoning'], name)
        }
        for (const quirks of [{ reasoning: 'object' }, { reasoning_replay: 'details' }]) {
          for (const sent of lanes(quirks)) {
            t.match(JSON.stringify(sent?.body), /"signature"|reasoning\.encrypted/, name)
            t.same(sent?.dropped, [], name)
          }
        }
        for (const sent of lanes({ reasoning_replay: 'reasoning_content' }))
          t.same(sent?.dropped, ['reasoning'], `${name}: encrypted reasoning has no place in a text`)
      }
    })
  },
)

t.test('ignores malformed envelopes of encrypted reasoning', async (t) => {
  const encode = (value: unknown): string => `hg.${Buffer.from(JSON.stringify(value)).toString('base64url')}`
  await every(t, 'every content', async (t) => {
    for (const content of ['hg.', 'hg.%%%', encode('text'), encode({ data: 'x' }), encode({ format: CLAUDE }), encode([])]) {
      const item = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'S' }], encrypted_content: content }
      const body: JsonObject = { model: 'a/b', input: [user, item] }
      t.same(responsesClient.decodeRequest(body).items[1], { kind: 'reasoning', id: 'rs_1', summary: ['S'] }, content)
      t.equal(openaiResponses.pass?.admits(body, TARGET), false)
      t.notMatch(JSON.stringify(openaiResponses.encodeRequest(responsesClient.decodeRequest(body), TARGET).body), /hg\./)
    }
  })
  const stray = {
    role: 'assistant',
    content: 'a',
    reasoning_details: [{ type: 'reasoning.encrypted', data: encode({ format: CLAUDE, data: 'x' }) }],
  }
  const chat: JsonObject = { model: 'a/b', messages: [user, stray, user] }
  for (const sent of [openaiChat.encodeRequest(chatClient.decodeRequest(chat), TARGET), openaiChat.pass?.request(chat, TARGET)])
    t.notMatch(JSON.stringify(sent?.body), /hg\./)
})
