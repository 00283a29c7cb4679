import fc from 'fast-check'
import t from 'tap'
import type { Fault } from '../../../src/core/faults.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import type { StreamEvent } from '../../../src/dialects/canon/events.ts'
import type { Folded } from '../../../src/dialects/canon/fold.ts'
import type { CanonicalRequest, Item, ToolSpec } from '../../../src/dialects/canon/request.ts'
import type { LocalRun } from '../../../src/dialects/local-run.ts'
import { simUpstream } from '../../../src/dialects/sim/index.ts'
import { countTokens, pieces } from '../../../src/dialects/sim/tokens.ts'
import type { Target } from '../../../src/dialects/types.ts'
import { FakeClock, turn } from '../../support/clock.ts'
import { EventOrder } from '../../support/event-order.ts'
import { every } from '../../support/every.ts'
import { fold } from '../../support/fold-events.ts'
import { property } from '../../support/seed.ts'

type Ask = Partial<CanonicalRequest>

const user = (text: string): Item => ({ kind: 'message', role: 'user', parts: [{ kind: 'text', text }] })
const ask = (text: string, more: Ask = {}): CanonicalRequest => ({
  items: [user(text)],
  tools: [],
  sampling: {},
  stream: true,
  used: new Set(),
  ...more,
})
const simTarget = (model: string, more: Partial<Target> = {}): Target => ({ model, stream: true, quirks: {}, user: 'pass', ...more })

interface Watched {
  run: LocalRun
  clock: FakeClock
  events: StreamEvent[]
  batches: number
  fault?: Fault
  ended: boolean
  /** Called after each batch. */
  onBatch?: () => void
}

/** Starts a run and watches what comes out of it; every event is checked for its order. */
function start(model: string, request: CanonicalRequest, more: Partial<Target> = {}, clock = new FakeClock()): Watched {
  const order = new EventOrder()
  const events: StreamEvent[] = []
  const over = (): void => {
    if (watched.ended || watched.fault) throw new Error('the sink is told twice that it is over')
  }
  const sink = {
    events(batch: readonly StreamEvent[]) {
      over()
      if (batch.length === 0) throw new Error('an empty batch')
      for (const event of batch) order.check(event)
      events.push(...batch)
      watched.batches++
      watched.onBatch?.()
    },
    fail(fault: Fault) {
      over()
      watched.fault = fault
    },
    end() {
      over()
      watched.ended = true
    },
  }
  if (!simUpstream.run) throw new Error('sim has no run')
  const run = simUpstream.run(request, simTarget(model, more), clock, sink)
  const watched: Watched = { run, clock, events, batches: 0, ended: false }
  return watched
}

async function answer(model: string, request: CanonicalRequest, more: Partial<Target> = {}): Promise<Folded> {
  const watched = start(model, request, more)
  await turn()
  if (!watched.ended) throw new Error(`${model} did not end: ${watched.fault?.code}`)
  return fold(watched.events)
}

const foldedText = (folded: Folded): string =>
  folded.blocks
    .filter((block) => block.kind === 'text')
    .map((block) => block.text)
    .join('')
const weather: ToolSpec = {
  kind: 'function',
  name: 'weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2 } },
    required: ['city', 'days'],
  },
}
const clockTool: ToolSpec = { kind: 'function', name: 'clock', parameters: { type: 'object', properties: {} } }
const toolResult = (callId: string, text: string): Item => ({ kind: 'result', callId, parts: [{ kind: 'text', text }] })

t.test('echo answers the last user text, with usage and one end', async (t) => {
  const items: Item[] = [
    user('first'),
    { kind: 'message', role: 'assistant', parts: [{ kind: 'text', text: 'ok' }] },
    user('  Grüße,\n 😀 and a veryveryverylongword '),
  ]
  const folded = await answer('echo', ask('', { items }))
  t.equal(foldedText(folded), '  Grüße,\n 😀 and a veryveryverylongword ')
  t.same(folded.end, { reason: 'stop', raw: 'stop' })
  t.equal(folded.model, 'echo')
  t.match(folded.usage, { output: countTokens('  Grüße,\n 😀 and a veryveryverylongword '), cached: 0, reasoning: 0 })
  t.ok((folded.usage?.input ?? 0) > countTokens('first'))
  t.ok(foldedText(await answer('echo', ask(''))).length > 0, 'an answer is never empty')
})

t.test('nothing happens before the caller holds the run', async (t) => {
  const watched = start('echo', ask('hello'))
  t.same(watched.events, [])
  await turn()
  t.ok(watched.ended)
  t.same(watched.clock.waiting, [], 'an unpaced answer needs no timer')
  t.equal(watched.batches, 1)
})

t.test('story has the length that was asked for, and is the same every time', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [text, expected] of [
      ['tell me', 120],
      ['words=200 please', 200],
      ['Words: 7', 7],
      ['words=0', 1],
      ['words=many', 120],
      ['words=999999999', 20_000],
    ] as [string, number][]) {
      const watched = start('story', ask(text))
      await turn()
      await watched.clock.advance(0)
      const folded = fold(watched.events)
      t.equal(foldedText(folded).split(' ').length, expected, text)
      t.equal(folded.usage?.output, expected, 'one word is one token')
      t.match(foldedText(folded), /\.$/)
    }
  })
  t.same(await answer('story', ask('x')), await answer('story', ask('x')))
})

t.test('a long answer gives way to other work', async (t) => {
  const watched = start('story', ask('words=20000'))
  await turn()
  t.notOk(watched.ended)
  t.same(watched.clock.waiting, [0])
  await watched.clock.advance(0)
  t.ok(watched.ended)
})

t.test('pace waits before each piece, on the clock only', async (t) => {
  const watched = start('story', ask('words=3 pace=20ms'))
  await turn()
  const deltas = (): number => watched.events.filter((event) => event.type === 'block-delta').length
  t.equal(deltas(), 0)
  for (let i = 1; i <= 3; i++) {
    await watched.clock.advance(19)
    t.equal(deltas(), i - 1)
    await watched.clock.advance(1)
    t.equal(deltas(), i)
  }
  t.ok(watched.ended)
  t.same(watched.clock.waiting, [])
  const slow = start('echo', ask('a pace=2s'))
  await turn()
  t.same(slow.clock.waiting, [2000])
  slow.run.abort()
  t.same(slow.clock.waiting, [])
})

t.test('the output cap ends an answer with length', async (t) => {
  const capped = await answer('story', ask('x', { sampling: { maxOutput: 5 } }))
  t.equal(foldedText(capped).split(' ').length, 5)
  t.match(capped, { end: { reason: 'length' }, usage: { output: 5 } })
  t.match(
    await answer('story', ask('x', { sampling: { maxOutput: 9 } }), { outputCap: 4 }),
    { usage: { output: 4 } },
    "the hold's cap counts as well",
  )
  t.match(
    await answer('story', ask('words=5', { sampling: { maxOutput: 5 } })),
    { end: { reason: 'stop' }, usage: { output: 5 } },
    'exactly enough',
  )
  t.match(await answer('think', ask('x', { sampling: { maxOutput: 3 } })), {
    end: { reason: 'length' },
    usage: { output: 3, reasoning: 3 },
  })
  t.match(await answer('tools', ask('x', { tools: [weather], sampling: { maxOutput: 1 } })), {
    end: { reason: 'length' },
    blocks: [{ kind: 'call' }],
  })
})

t.test('stop sequences cut a text before they appear', async (t) => {
  const folded = await answer('echo', ask('one two END three STOP', { sampling: { stop: ['STOP', 'END', ''] } }))
  t.equal(foldedText(folded), 'one two ')
  t.match(folded.end, { reason: 'stop' })
})

t.test('think reasons, then answers', async (t) => {
  const shown = await answer('think', ask('why'))
  t.same(
    shown.blocks.map((block) => block.kind),
    ['reasoning', 'text'],
  )
  t.equal(shown.usage?.reasoning, countTokens(shown.blocks[0].text))
  t.equal(foldedText(shown), 'You said: why')
  const summarised = await answer('think', ask('why', { reasoning: { summary: 'auto' } }))
  t.same(
    summarised.blocks.map((block) => block.kind),
    ['reasoning', 'summary', 'text'],
  )
  t.equal(summarised.blocks[0].item, summarised.blocks[1].item, 'one item')
  const excluded = await answer('think', ask('why', { reasoning: { exclude: true, summary: 'auto' } }))
  t.same(
    excluded.blocks.map((block) => block.kind),
    ['text'],
  )
  t.equal(excluded.usage?.reasoning, shown.usage?.reasoning, 'its tokens still count')
  for (const reasoning of [{ enabled: false }, { effort: 'none' }]) {
    const off = await answer('think', ask('why', { reasoning }))
    t.same([off.blocks.map((block) => block.kind), off.usage?.reasoning], [['text'], 0])
  }
  t.match(await answer('think', ask('why', { reasoning: { maxTokens: 4 } })), { usage: { reasoning: 4 } })
})

t.test('tools calls the first tool, or the named one, with arguments of its schema', async (t) => {
  const first = await answer('tools', ask('go', { tools: [weather, clockTool] }))
  t.match(first, { end: { reason: 'tool_calls' }, blocks: [{ kind: 'call', call: { name: 'weather', id: 'call_sim_1' } }] })
  t.same(JSON.parse(first.blocks[0].text), { city: 'text', days: 2 })
  const named = await answer('tools', ask('go', { tools: [weather, clockTool], toolChoice: { mode: 'named', name: 'clock' } }))
  t.same(
    named.blocks.map((block) => block.call?.name),
    ['clock'],
  )
  t.same(JSON.parse(named.blocks[0].text), {})
  for (const more of [
    { tools: [] },
    { tools: [weather], toolChoice: { mode: 'none' } },
    { tools: [weather], toolChoice: { mode: 'named', name: 'no' } },
  ] as Ask[]) {
    const folded = await answer('tools', ask('go', more))
    t.same([folded.blocks.map((block) => block.kind), folded.end?.reason], [['text'], 'stop'])
  }
})

t.test('tools calls several at once where it is asked and allowed', async (t) => {
  const names = async (text: string, more: Ask = {}): Promise<(string | undefined)[]> => {
    const folded = await answer('tools', ask(text, { tools: [weather, clockTool], ...more }))
    const ids = folded.blocks.map((block) => block.call?.id)
    if (new Set(ids).size !== ids.length) throw new Error('a call id came twice')
    return folded.blocks.map((block) => block.call?.name)
  }
  t.same(await names('go'), ['weather'])
  t.same(await names('both in parallel'), ['weather', 'clock'])
  t.same(await names('parallel=3'), ['weather', 'clock', 'weather'])
  t.same(await names('parallel', { sampling: { parallelToolCalls: false } }), ['weather'])
  t.equal((await names('parallel=999')).length, 16)
})

t.test('tools quotes the results of this turn, and calls again in the next', async (t) => {
  const call: Item = { kind: 'call', callId: 'call_sim_1', name: 'weather', args: '{}' }
  const answered = [user('go'), call, toolResult('call_sim_1', 'sunny, 20°')]
  const folded = await answer('tools', ask('', { items: answered, tools: [weather] }))
  t.equal(foldedText(folded), 'The tool weather answered: sunny, 20°')
  t.match(folded.end, { reason: 'stop' })
  t.match(await answer('tools', ask('', { items: answered, tools: [] })), { end: { reason: 'stop' } }, 'with the tools taken away as well')
  const next = await answer('tools', ask('', { items: [...answered, user('again')], tools: [weather] }))
  t.match(next.blocks, [{ kind: 'call', call: { id: 'call_sim_2' } }])
  const rounds = [user('calls=2'), call, toolResult('call_sim_1', 'a')]
  t.match(await answer('tools', ask('', { items: rounds, tools: [weather] })), { end: { reason: 'tool_calls' } })
  const more: Item[] = [...rounds, { kind: 'call', callId: 'call_sim_2', name: 'weather', args: '{}' }, toolResult('call_sim_2', 'b')]
  t.equal(
    foldedText(await answer('tools', ask('', { items: more, tools: [weather] }))),
    'The tool weather answered: a\nThe tool weather answered: b',
  )
  t.match(
    await answer('tools', ask('', { items: rounds, tools: [] })),
    { blocks: [{ kind: 'text', text: 'The tool weather answered: a' }] },
    'no tools left',
  )
})

t.test('json answers with an instance of the schema', async (t) => {
  const schema: JsonObject = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] }
  t.same(JSON.parse(foldedText(await answer('json', ask('x', { format: { type: 'json_schema', name: 'n', schema } })))), { ok: true })
  t.same(JSON.parse(foldedText(await answer('json', ask('say "hi"', { format: { type: 'json_object' } })))), { answer: 'say "hi"' })
})

t.test('an unknown model is missing', async (t) => {
  const watched = start('nope', ask('x'))
  await turn()
  t.match([watched.events, watched.fault?.code], [[], 'upstream_missing'])
})

t.test('back-pressure: a pause holds everything, a resume goes on without loss', async (t) => {
  const whole = start('story', ask('words=300'))
  await turn()
  const watched = start('story', ask('words=300'))
  watched.onBatch = () => watched.run.pause()
  await every(t, 'every round', async (t) => {
    for (let round = 1; round < 100 && !watched.ended; round++) {
      await turn()
      await watched.clock.advance(1000)
      t.equal(watched.batches, round, 'one batch, then silence')
      t.notOk(watched.ended, 'the end waits as well')
      watched.run.resume()
    }
  })
  t.ok(watched.ended)
  t.same(watched.events, whole.events)
  t.ok(watched.batches > 3)

  const paced = start('story', ask('words=2 pace=5ms'))
  await turn()
  paced.run.pause()
  const before = paced.events.length
  await paced.clock.advance(100)
  t.equal(paced.events.length, before, 'a timer does not get past a pause')
  paced.run.resume()
  await paced.clock.advance(5)
  t.ok(paced.ended)
  t.equal(foldedText(fold(paced.events)).split(' ').length, 2)
})

t.test('a resume from inside a batch neither repeats nor reorders', async (t) => {
  const watched = start('story', ask('words=300'))
  watched.onBatch = () => {
    watched.run.pause()
    watched.run.resume()
  }
  await turn()
  t.ok(watched.ended)
  t.equal(fold(watched.events).usage?.output, 300)
})

t.test('an abort is the end of it', async (t) => {
  for (const when of ['at once', 'in a batch', 'in a wait']) {
    const watched = start('story', ask(when === 'in a wait' ? 'words=300 pace=5ms' : 'words=300'))
    if (when === 'at once') watched.run.abort()
    if (when === 'in a batch') watched.onBatch = () => watched.run.abort()
    await turn()
    if (when === 'in a wait') watched.run.abort()
    const { length } = watched.events
    watched.run.resume()
    watched.run.abort()
    await watched.clock.advance(10_000)
    t.same([watched.events.length, watched.ended, watched.fault, watched.clock.waiting], [length, false, undefined, []], when)
    t.equal(length > 0, when !== 'at once', when)
  }
})

t.test('faults by configuration', async (t) => {
  const faulty = (faults: JsonObject, seed = 1): Watched => start('story', ask('x'), { quirks: { faults } }, new FakeClock(seed))
  const statuses: [number, string][] = [
    [400, 'upstream_rejected'],
    [401, 'upstream_auth'],
    [402, 'upstream_credit'],
    [403, 'upstream_rights'],
    [404, 'upstream_missing'],
    [413, 'upstream_too_large'],
    [429, 'upstream_limited'],
    [500, 'upstream_error'],
    [503, 'upstream_error'],
    [524, 'upstream_silent'],
    [529, 'upstream_overloaded'],
  ]
  for (const [status, code] of statuses) {
    const watched = faulty({ status })
    await turn()
    t.same([watched.fault?.code, watched.events.length], [code, 0], String(status))
    t.equal(simUpstream.decodeFault(status, undefined).code, code)
  }
  for (const count of [0, 1, 7, 64, 100]) {
    const cut = faulty({ cutAfter: count })
    await turn()
    t.same([cut.fault?.code, cut.events.length], ['upstream_cut', count], `cut after ${count}`)
    const stalled = faulty({ stallAfter: count })
    await turn()
    await stalled.clock.advance(1e7)
    t.same(
      [stalled.fault, stalled.ended, stalled.events.length, stalled.clock.waiting],
      [undefined, false, count, []],
      `stall after ${count}`,
    )
  }
  const long = faulty({ cutAfter: 1e6 })
  await turn()
  t.ok(long.ended, 'an answer that is shorter than the cut ends')
  const late = faulty({ delay: 500, status: 429 })
  await late.clock.advance(499)
  t.equal(late.fault, undefined)
  await late.clock.advance(1)
  t.equal(late.fault?.code, 'upstream_limited')
  const slow = faulty({ delay: 500 })
  await slow.clock.advance(499)
  t.equal(slow.events.length, 0)
  await slow.clock.advance(1)
  t.ok(slow.ended)
  let hit = 0
  for (let seed = 0; seed < 400; seed++) {
    const watched = faulty({ status: 500, rate: 0.25 }, seed)
    await Promise.resolve()
    if (watched.fault) hit++
  }
  t.ok(hit > 60 && hit < 140, `${hit} of 400 at a rate of a quarter`)
  const nonsense = faulty({ status: 'x', delay: -1, cutAfter: null, rate: 'often' })
  await turn()
  t.ok(nonsense.ended, 'settings of the wrong type are no faults')
})

t.test('what has no wire decodes nothing, and does not throw', async (t) => {
  const out: StreamEvent[] = []
  const decoder = simUpstream.streamDecoder()
  decoder.feed('{"x":', 'y', out)
  t.same(out, [])
  decoder.end(out)
  simUpstream.decodeResult({ any: 'thing' }, out)
  t.match(out, [
    { type: 'fault', fault: { code: 'upstream_garbled' } },
    { type: 'fault', fault: { code: 'upstream_garbled' } },
  ])
  t.equal(simUpstream.auth('secret').includes('secret'), false)
  t.equal(simUpstream.pass, undefined)
})

t.test('the debug echo is plain JSON that shows what was understood', async (t) => {
  const opaque: Item = { kind: 'opaque', of: { dialect: 'other', type: 'odd_item', data: {} } }
  const request = ask('hi', {
    tools: [weather],
    sampling: { temperature: 0.5, maxOutput: 9 },
    used: new Set(['temperature']),
    items: [user('hi'), opaque],
  })
  const encoded = simUpstream.encodeRequest(request, simTarget('echo', { outputCap: 7 }))
  t.same(JSON.parse(JSON.stringify(encoded.body)), encoded.body)
  t.match(encoded.body, {
    model: 'echo',
    stream: true,
    max_output: 7,
    sampling: { temperature: 0.5 },
    items: [{ kind: 'message', role: 'user' }, {}],
  })
  t.notOk('used' in encoded.body)
  t.same(encoded.dropped, ['odd_item'])
})

t.test('pieces join to the text again and never split a character', async (t) => {
  let seen = 0
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc.string({ unit: fc.constantFrom('a', ' ', '😀', '\n', 'é', '\t'), maxLength: 80 }),
  )
  fc.assert(
    fc.property(text, (whole) => {
      seen++
      const list = [...pieces(whole)]
      return (
        list.join('') === whole &&
        list.length === countTokens(whole) &&
        (!whole.isWellFormed() || list.every((piece) => piece.isWellFormed()))
      )
    }),
    property(500, 5_000),
  )
  t.equal(seen, 500)
})
