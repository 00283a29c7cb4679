/** Three client formats times four provider formats, streamed and whole: what the provider saw, and what the client got. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { bodyText } from '../../support/body-text.ts'
import { every } from '../../support/every.ts'
import { object } from '../../support/fold.ts'
import { lanesBetween } from '../../support/lanes.ts'
import { type Asked, type AskedTool, expectedTurns, type SeenRequest } from '../../support/matrix/asked.ts'
import type { Client } from '../../support/matrix/clients.ts'
import { type Cell, PRICES, startField, type Told, tell, wireModel } from '../../support/matrix/field.ts'
import { generationDropped } from '../../support/matrix/observe.ts'
import { READERS } from '../../support/matrix/providers.ts'
import { jsonAnswer, sseAnswer } from '../../support/upstream.ts'
import { says, type Utterance, utteranceUsage, WIRES, type WireName } from '../../support/wire.ts'

const field = await startField(t)

const PNG = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const PDF = 'data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK'
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
const TOOLS: readonly AskedTool[] = [
  { name: 'weather', description: 'The weather of a city', schema: SCHEMA },
  { name: 'clock', description: 'The time in a city', schema: SCHEMA },
]
const CALLS = [
  { id: 'call_a', name: 'weather', args: ['{"ci', 'ty":"Oslo"}'] },
  { id: 'call_b', name: 'clock', args: ['{"city":"Rome"}'] },
]
const hello = { user: [{ text: 'Hello' }] }
const fine: Utterance = { text: ['Fi', 'ne, ', 'thänks 😀'] }

/** Requests for much reasoning at each wire where the output is capped at 4000 tokens. */
const REASONS: Readonly<Record<WireName, JsonObject>> = {
  'openai-chat': { effort: 'high' },
  'openai-responses': { effort: 'high' },
  anthropic: { type: 'enabled', budget_tokens: 3200 },
  gemini: { thinkingBudget: 3200, includeThoughts: true },
}

const NO = { refusal: 'I will not.', text: '' }

/** Wires that refuse in so many words, and those that only stop. */
const REFUSED: Readonly<Record<Client['id'], Record<WireName, JsonObject>>> = {
  chat: {
    'openai-chat': { ...NO, end: 'stop' },
    'openai-responses': { ...NO, end: 'stop' },
    anthropic: { text: '', end: 'content_filter' },
    gemini: { text: '', end: 'content_filter' },
  },
  responses: {
    'openai-chat': { ...NO, end: 'completed' },
    'openai-responses': { ...NO, end: 'completed' },
    anthropic: { text: '', end: 'incomplete: content_filter' },
    gemini: { text: '', end: 'incomplete: content_filter' },
  },
  messages: {
    'openai-chat': { end: 'refusal' },
    'openai-responses': { end: 'refusal' },
    anthropic: { ...NO, end: 'refusal' },
    gemini: { text: '', end: 'refusal' },
  },
}

/** The lane that a pair takes when nothing is asked of it. */
const firstLane = (client: string, wire: string): string => lanesBetween(client, wire)[0]

function eachCell(name: string, body: (t: Test, cell: Cell) => Promise<void>): void {
  t.test(name, async (t) => {
    for (const cell of field.cells) {
      // A failure of one pair must not hide the others.
      await every(t, cell.name, (t) => body(t, cell))
    }
  })
}

/** Asks whole and streamed; both must have been asked alike and answered alike. */
async function ask(t: Test, cell: Cell, asked: Asked, utterance: Utterance): Promise<{ told: Told; seen: SeenRequest }> {
  const told = await tell(cell, says(utterance), cell.client.write(asked))
  const [whole, stream] = told.seen.map(READERS[cell.wire])
  t.same(stream, whole, 'asked alike, streamed or not')
  t.same(told.stream, told.whole, 'answered alike, streamed or not')
  t.equal(told.whole.model, wireModel(cell.wire), 'the model is ours')
  return { told, seen: whole }
}

/** Part of the scripted reply that the client must get. */
function got(t: Test, cell: Cell, told: Told, utterance: Utterance): void {
  const { whole } = told
  t.equal(whole.text, utterance.text?.join('') ?? '', 'text')
  t.same(
    whole.calls.map((call) => ({ ...call, args: JSON.parse(call.args) })),
    (utterance.calls ?? []).map((call) => ({ name: call.name, callId: call.id, args: JSON.parse(call.args.join('')) })),
    'calls',
  )
  const end = utterance.end ?? (utterance.calls ? 'tool_calls' : 'stop')
  t.equal(whole.end, cell.client.ends[end], 'end')
  t.equal(whole.error, undefined)
}

eachCell('text in one turn', async (t, cell) => {
  const { told, seen } = await ask(t, cell, { turns: [hello], temperature: 0.5, cap: 2000 }, fine)
  t.same(seen.turns, [{ role: 'user', parts: [{ text: 'Hello' }] }])
  t.match(seen, { system: '', tools: [], temperature: 0.5, cap: 2000, schema: undefined })
  got(t, cell, told, fine)
})

eachCell('many turns with a system message', async (t, cell) => {
  const asked: Asked = {
    system: 'Be brief.',
    turns: [
      hello,
      { assistant: 'Hi.' },
      { user: [{ text: 'How' }, { text: 'are you?' }] },
      { assistant: 'Well.' },
      { user: [{ text: 'Good.' }] },
    ],
  }
  const { told, seen } = await ask(t, cell, asked, fine)
  t.equal(seen.system, 'Be brief.')
  t.same(seen.turns, expectedTurns(asked))
  got(t, cell, told, fine)
})

eachCell('images and a PDF file', async (t, cell) => {
  const parts = [{ text: 'Look' }, { image: PNG }, { image: 'https://a.example/b.png' }, { file: PDF, name: 'c.pdf' }]
  const { told, seen } = await ask(t, cell, { turns: [{ user: parts }] }, fine)
  t.same(seen.turns, [{ role: 'user', parts: [{ text: 'Look' }, { image: PNG }, { image: 'https://a.example/b.png' }, { file: PDF }] }])
  got(t, cell, told, fine)
})

eachCell('one function call', async (t, cell) => {
  const utterance: Utterance = { text: ['I look.'], calls: CALLS.slice(0, 1) }
  const { told, seen } = await ask(t, cell, { turns: [hello], tools: TOOLS }, utterance)
  t.same(seen.tools, TOOLS)
  got(t, cell, told, utterance)
})

eachCell('parallel calls, and calls without arguments', async (t, cell) => {
  const utterance: Utterance = { calls: [...CALLS, { id: 'call_c', name: 'clock', args: ['{}'] }] }
  const { told } = await ask(t, cell, { turns: [hello], tools: TOOLS }, utterance)
  got(t, cell, told, utterance)
})

eachCell('results of tools', async (t, cell) => {
  const asked: Asked = {
    turns: [
      hello,
      {
        calls: [
          { id: 'call_a', name: 'weather', args: { city: 'Oslo' } },
          { id: 'call_b', name: 'weather', args: { city: 'Rome' } },
        ],
      },
      {
        results: [
          { id: 'call_a', parts: [{ text: 'rain' }] },
          { id: 'call_b', parts: [{ text: 'sun' }] },
        ],
      },
      { assistant: 'Rain and sun.' },
      { calls: [{ id: 'call_c', name: 'clock', args: {} }] },
      { results: [{ id: 'call_c', parts: [{ text: 'noon' }] }] },
      { user: [{ text: 'Go on.' }] },
    ],
    tools: TOOLS,
  }
  const { told, seen } = await ask(t, cell, asked, fine)
  t.same(seen.turns, expectedTurns(asked))
  got(t, cell, told, fine)
})

eachCell('forced and forbidden tools', async (t, cell) => {
  await every(t, 'every choice', async (t) => {
    for (const choice of ['auto', 'none', 'required', { name: 'clock' }] as const) {
      const { seen } = await ask(t, cell, { turns: [hello], tools: TOOLS, choice }, fine)
      t.same(seen.choice, choice)
      t.same(seen.tools, TOOLS)
    }
  })
  const { seen } = await ask(t, cell, { turns: [hello], tools: TOOLS, serial: true }, fine)
  t.equal(seen.serial, cell.wire !== 'gemini', 'one call at a time, where the wire can say it')
})

eachCell('an answer that keeps to a schema', async (t, cell) => {
  const utterance: Utterance = { text: ['{"city":', '"Oslo"}'] }
  const { told, seen } = await ask(t, cell, { turns: [hello], schema: { name: 'place', schema: SCHEMA } }, utterance)
  t.same(seen.schema, SCHEMA)
  got(t, cell, told, utterance)
})

eachCell('reasoning is asked for', async (t, cell) => {
  const { told, seen } = await ask(
    t,
    cell,
    { turns: [hello], effort: 'high', cap: 4000 },
    { reasoning: ['Let me ', 'see.'], text: ['So.'] },
  )
  const sameWire = cell.client.id === 'messages' && cell.wire === 'anthropic'
  t.match(seen.reasoning, sameWire ? { type: 'adaptive', effort: 'high' } : REASONS[cell.wire])
  t.equal(told.whole.reasoning, 'Let me see.')
  got(t, cell, told, { text: ['So.'] })
})

/** Encrypted texts are compared byte for byte, so this one has every character that base64 has, and its padding. */
const ENCRYPTED_TEXT = 'c2VhbGVkIHJlYXNvbmluZyBvZiB0aGUgcHJvdmlkZXI+Pz8vKys='

eachCell('reasoning goes back to who encrypted it, and to nobody else', async (t, cell) => {
  await every(t, 'every case', async (t) => {
    for (const utterance of [
      { reasoning: ['Let me ', 'see.'], signature: ENCRYPTED_TEXT, text: ['So.'], calls: CALLS },
      { reasoning: ['Let me ', 'see.'], signature: ENCRYPTED_TEXT, text: ['So.'] },
    ] satisfies Utterance[]) {
      const { told } = await ask(t, cell, { turns: [hello], tools: TOOLS, effort: 'high' }, utterance)
      t.equal(told.whole.reasoning, 'Let me see.')
      // Where a dialect has one field for the encrypted reasoning of every provider, ours names whose it is.
      const { encrypted } = told.whole
      t.ok(
        encrypted.some((signed) => /^(?:hg:[\w-]{8}:)?$/.test(signed.replace(ENCRYPTED_TEXT, '')) || signed.startsWith('hg.')),
        'the caller gets the encrypted reasoning',
      )
      const results =
        'calls' in utterance ? { results: CALLS.map(({ id }) => ({ id, parts: [{ text: 'done' }] })) } : { user: [{ text: 'And?' }] }
      const asked: Asked = { turns: [hello, { replayed: told.reply }, results], tools: TOOLS, effort: 'high' }
      const { seen } = await ask(t, cell, asked, fine)
      const turn = seen.turns[1]
      t.equal(turn.role, 'assistant')
      const signed = turn.parts.filter((part) => 'signed' in part && part.signed !== '')
      // Providers of chat take it by the quirk `reasoning_replay` alone: test/dialects/reasoning-replay.test.ts.
      // Gemini signs the text where there is no call, and Messages callers get no block behind the last text.
      const isLeftOut = cell.wire === 'openai-chat' || (cell.wire === 'gemini' && cell.client.id === 'messages' && !('calls' in utterance))
      const back = isLeftOut ? [] : [{ signed: ENCRYPTED_TEXT }]
      t.match(signed, back, 'its provider gets it back')
      const others = field.cells.filter(
        ({ client, wire, lane }) => client === cell.client && wire !== cell.wire && lane === firstLane(client.id, wire),
      )
      for (const other of others) {
        const { told, seen } = await ask(t, other, asked, fine)
        for (const request of told.seen)
          t.notOk(
            [ENCRYPTED_TEXT, ...encrypted].some((signed) => request.body.includes(signed)),
            `${other.wire} never sees it`,
          )
        t.match(
          seen.turns.flatMap((turn) => turn.parts.filter((part) => 'text' in part || 'call' in part)),
          [{ text: 'Hello' }, { text: 'So.' }, ...CALLS.slice('calls' in utterance ? 0 : 2).map(({ name }) => ({ call: { name } }))],
          `${other.wire} sees the rest`,
        )
      }
    }
  })
})

eachCell('a refusal', async (t, cell) => {
  const utterance: Utterance = { refusal: ['I will ', 'not.'] }
  const { told } = await ask(t, cell, { turns: [hello] }, utterance)
  t.match(told.whole, REFUSED[cell.client.id][cell.wire])
})

eachCell('the output cap is met', async (t, cell) => {
  const utterance: Utterance = { text: ['cut ', 'of'], end: 'length' }
  const { told, seen } = await ask(t, cell, { turns: [hello], cap: 17 }, utterance)
  t.equal(seen.cap, 17)
  got(t, cell, told, utterance)
  t.match(told.generations, [{ finish_reason: 'length' }, { finish_reason: 'length' }])
})

eachCell('the provider filters the answer', async (t, cell) => {
  const utterance: Utterance = { text: ['Well, '], end: 'content_filter' }
  const { told } = await ask(t, cell, { turns: [hello] }, utterance)
  got(t, cell, told, utterance)
})

eachCell('a stop sequence', async (t, cell) => {
  const utterance: Utterance = { text: ['one '], sequence: 'END' }
  const { told, seen } = await ask(t, cell, { turns: [hello], stop: ['END', 'FIN'] }, utterance)
  // The Responses wire has no field for it: its callers cannot ask, its providers cannot be asked.
  const unsaid = cell.client.id === 'responses' || cell.wire === 'openai-responses'
  t.same(seen.stop, unsaid ? [] : ['END', 'FIN'])
  if (cell.client.id !== 'responses' && unsaid)
    for (const generation of told.generations)
      t.notOk(generationDropped(generation).includes('stop'), 'no loss: test/gateway/streams/stop-sequences.test.ts shows the cut')
  const tells = cell.client.id === 'messages' && cell.wire === 'anthropic'
  t.match(told.whole, { text: 'one ', ...(tells ? { end: 'stop_sequence', sequence: 'END' } : { end: cell.client.ends.stop }) })
})

eachCell('usage and what it costs', async (t, cell) => {
  const utterance: Utterance = {
    text: ['ok'],
    usage: { input: 1000, output: 200, cached: 300, written: 150, writtenLong: 50, reasoning: 80 },
  }
  const { told } = await ask(t, cell, { turns: [hello] }, utterance)
  const { input, output, cached, reasoning } = utteranceUsage(utterance)
  const written = cell.wire === 'gemini' ? 0 : 150
  const long = cell.wire === 'anthropic' ? 50 : 0
  const cost =
    ((input - cached - written) * PRICES.prompt +
      cached * PRICES.cached +
      (written - long) * PRICES.cache_write +
      long * PRICES.cache_write_1h +
      output * PRICES.completion) /
    1e6
  const usage = { input, output, cached, reasoning, cost: Number(cost.toFixed(9)), ...(written > 0 ? { written } : {}) }
  t.same(told.whole.usage, usage)
  t.same(told.stream.usage, usage)
  await every(t, 'every generation', async (t) => {
    for (const generation of told.generations)
      t.match(
        generation,
        { total_cost: usage.cost, native_tokens_prompt: input, native_tokens_completion: output },
        'the ledger says the same',
      )
  })
})

eachCell('citations', async (t, cell) => {
  const citations = [
    { url: 'https://a.example/1', title: 'One' },
    { url: 'https://a.example/2', title: 'Two' },
  ]
  const utterance: Utterance = { text: ['Fjørds ', 'are deep.'], citations }
  const { told } = await ask(t, cell, { turns: [hello] }, utterance)
  got(t, cell, told, utterance)
  await every(t, 'every case', async (t) => {
    for (const { annotations } of [told.whole, told.stream]) {
      const flat = annotations.map((each) => ({ ...object(each), ...object(object(each).url_citation) }))
      t.match(flat, citations)
      const [start, end] = [0, utterance.text?.join('').length]
      if (cell.client.id !== 'messages')
        t.match(flat, [{ type: 'url_citation', start_index: start, end_index: end }, { start_index: start }])
    }
  })
})

t.test('provider errors keep their status and show neither a key nor an address', async (t) => {
  await every(t, 'every cell', async (t) => {
    for (const cell of field.cells)
      for (const stream of [false, true]) {
        for (const [status, ours] of [
          [400, 400],
          [429, 429],
          [500, 502],
          [529, 529],
        ] as const) {
          field.upstream.script = () => jsonAnswer(WIRES[cell.wire].error(status, 'host 10.1.2.3 with sk-provider-secret'), status)
          const response = await cell.ask({ ...cell.client.write({ turns: [hello] }), stream })
          const text = await bodyText(response)
          t.equal(response.status, ours, `${cell.name}: ${status}`)
          t.notMatch(text, /10\.1\.2\.3|sk-provider-secret/)
          t.match(
            JSON.parse(text),
            cell.client.id === 'messages' ? { type: 'error', error: { type: String, message: String } } : { error: { code: ours } },
          )
        }
      }
  })
})

/** Frames up to and with the one that brings the last piece of what is said. */
function cutAfter(frames: readonly string[], piece: string): string[] {
  const at = frames.findIndex((frame) => frame.includes(piece))
  if (at < 0) throw new Error(`no frame holds ${piece}`)
  return frames.slice(0, at + 1)
}

eachCell('a stream that breaks is never shown as whole', async (t, cell) => {
  const utterance: Utterance = { text: ['Once ', 'upon '], calls: [{ id: 'call_a', name: 'weather', args: ['{"city":"Os', 'lo"}'] }] }
  const wire = WIRES[cell.wire]
  const frames = cutAfter(wire.frames(utterance), cell.wire === 'gemini' ? 'upon ' : '\\"Os')
  await every(t, 'every case', async (t) => {
    for (const [name, tail] of [
      ['it just ends', []],
      ['the provider says why', [wire.brokenFrame('host 10.1.2.3 with sk-provider-secret')]],
    ] as const) {
      cell.upstream.script = () => sseAnswer([...frames, ...tail])
      const response = await cell.ask({ ...cell.client.write({ turns: [hello], tools: TOOLS }), stream: true })
      t.equal(response.status, 200)
      const text = await bodyText(response)
      const folded = cell.client.foldStream(text)
      t.equal(folded.text, 'Once upon ', name)
      t.ok(folded.error, `${name}: the caller is told`)
      t.notMatch(folded.end, /^(stop|completed|end_turn|tool_calls|tool_use|length|max_tokens)$/, `${name}: and sees no good end`)
      t.notMatch(text, /10\.1\.2\.3|sk-provider-secret/)
      const generation = await cell.generation(response)
      t.match(generation, { total_cost: 0 }, `${name}: and pays nothing`)
    }
  })
})

/** An event of a kind that nobody has heard of, as each wire would write it. */
const UNHEARD: Readonly<Record<WireName, string>> = {
  'openai-chat': `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: { vendor_news: { mark: 'mk-event' } }, finish_reason: null }] })}\n\n`,
  'openai-responses': `event: response.vendor.news\ndata: ${JSON.stringify({ type: 'response.vendor.news', sequence_number: 77, mark: 'mk-event' })}\n\n`,
  anthropic: `event: vendor_news\ndata: ${JSON.stringify({ type: 'vendor_news', mark: 'mk-event' })}\n\n`,
  gemini: `data: ${JSON.stringify({ vendorNews: { mark: 'mk-event' }, responseId: 'response-upstream' })}\n\n`,
}

/** The frame with a member more in its event. */
function withMember(frame: string): string {
  return frame.includes('[DONE]') ? frame : frame.replace(/data: \{/, 'data: {"vendor_member":{"mark":"mk-member"},')
}

eachCell('events and members that nobody has heard of', async (t, cell) => {
  const utterance: Utterance = { reasoning: ['Hm.'], text: ['Well, ', 'yes.'], calls: CALLS }
  const body = { ...cell.client.write({ turns: [hello], tools: TOOLS }), stream: true }
  const ask = async (frames: readonly string[]): Promise<string> => {
    cell.upstream.script = () => sseAnswer(frames)
    return bodyText(await cell.ask(body))
  }
  const frames = WIRES[cell.wire].frames(utterance)
  const plain = cell.client.foldStream(await ask(frames))
  const [first, ...rest] = frames
  const more = await ask([first, UNHEARD[cell.wire], ...rest.slice(0, 2), UNHEARD[cell.wire], ...rest.slice(2)])
  // The fold of Messages streams knows its events by heart; what it does not know must be left out for it.
  const known = cell.client.id === 'messages' ? more.replace(/event: vendor_news\ndata: .*\n\n/g, '') : more
  t.same(cell.client.foldStream(known), plain, 'an unknown event changes nothing')
  const members = await ask(frames.map(withMember))
  t.same(cell.client.foldStream(members), plain, 'an unknown member changes nothing')
  if (cell.lane === 'pass' && lanesBetween(cell.client.id, cell.wire).length > 1) {
    t.match(more, /mk-event/, 'the same wire shows the event')
    t.match(members, /mk-member/, 'and the member')
  }
})
