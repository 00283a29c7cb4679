/** Events of an answer on their way past guardrails: what is joined, what waits, what is left out, and in which order. */

import t from 'tap'
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import { AnswerPolicy, compileRules } from '../../src/guardrails/index.ts'
import type { Guarded } from '../../src/pipeline/exchange.ts'
import { AnswerGuard } from '../../src/pipeline/guard/answer-guard.ts'
import { guardAdditions } from '../../src/pipeline/guard/guard.ts'
import type { GuardrailSetting } from '../../src/pipeline/guard/guardrail-setting.ts'
import type { Reply } from '../../src/pipeline/layer.ts'
import type { Stage } from '../../src/plugin-api/index.ts'
import { FakeClock } from '../support/clock.ts'
import { EventOrder } from '../support/event-order.ts'
import { fold } from '../support/fold-events.ts'

const actionPolicy = (action: 'redact' | 'block' | 'flag'): AnswerPolicy =>
  new AnswerPolicy(
    compileRules(
      { id: 'g1', name: 'first', scope: 'account' },
      { builtins: [{ slug: 'email', action }], contentFilters: [], phrases: [], allowedPhrases: [], action },
      'guardrails[0]',
    ),
  )

function open(action: 'redact' | 'block' | 'flag' = 'redact') {
  const clock = new FakeClock(5)
  const stages: Stage[] = []
  const exchange = { head: { wantsMetadata: true, clock }, request: { stream: true }, history: { stages } } as unknown as Guarded
  const guard = new AnswerGuard(exchange, actionPolicy(action))
  const out: StreamEvent[] = []
  const order = new EventOrder()
  const emit = (event: StreamEvent): void => {
    order.check(event)
    out.push(event)
  }
  const push = (...events: StreamEvent[]): void => {
    for (const event of events) guard.push(event, emit)
  }
  return { clock, stages, guard, out, emit, push }
}

const start = (block: number, kind: 'text' | 'reasoning' | 'summary' | 'refusal' = 'text'): StreamEvent => ({
  type: 'block-start',
  block,
  kind,
})
const call = (block: number): StreamEvent => ({ type: 'block-start', block, kind: 'call', call: { id: `c${block}`, name: 'f' } })
const say = (block: number, text: string): StreamEvent => ({ type: 'block-delta', block, text })
const end = (block: number): StreamEvent => ({ type: 'block-end', block })
const END: StreamEvent = { type: 'end', reason: 'stop' }
const eventTexts = (events: readonly StreamEvent[]): string[] => fold(events).blocks.map(({ text }) => text)

t.test('parts that follow each other are one text', async (t) => {
  const { push, out } = open()
  push(start(0), say(0, 'to anna@exam'), end(0), start(1), say(1, 'ple.com now'), end(1), END)
  t.same(eventTexts(out), ['to [EMAIL]', ' now'])
  const refusal = open()
  refusal.push(start(0), say(0, 'anna@'), end(0), start(1, 'refusal'), say(1, 'example.com, no'), end(1), END)
  t.same(eventTexts(refusal.out), ['[EMAIL]', ', no'], 'a refusal stands in the same message')
  const parted = open()
  parted.push(start(0), say(0, 'to anna@exam'), end(0), call(1), say(1, '{}'), end(1), start(2), say(2, 'ple.com'), end(2), END)
  t.same(eventTexts(parted.out), ['to anna@exam', '{}', 'ple.com'], 'a call parts them')
})

t.test('calls at the same time do not wait for each other', async (t) => {
  const { push, out } = open()
  push(call(0), call(1), say(0, '{"to":"anna@exam'), say(1, '{"n":1}'))
  t.same(eventTexts(out), ['{"to":"', '{"n":1}'])
  push(end(1), say(0, 'ple.com"}'), end(0), END)
  t.same(eventTexts(out), ['{"to":"[EMAIL]"}', '{"n":1}'])
})

t.test('signatures of what was altered go, others stay', async (t) => {
  const { push, out } = open()
  const signed = (block: number): StreamEvent => ({ type: 'block-note', block, note: 'signature', data: { signature: 's' } })
  push(
    start(0, 'reasoning'),
    say(0, 'it is anna@example.com'),
    signed(0),
    end(0),
    start(1, 'summary'),
    say(1, 'fine'),
    signed(1),
    end(1),
    END,
  )
  t.same(
    out.filter(({ type }) => type === 'block-note'),
    [signed(1)],
  )
  t.same(eventTexts(out), ['it is [EMAIL]', 'fine'])
})

t.test('sources are read, and log probabilities left out', async (t) => {
  const { push, out } = open()
  const note = (kind: 'annotation' | 'logprobs', data: object): StreamEvent =>
    ({ type: 'block-note', block: 0, note: kind, data }) as StreamEvent
  push(
    start(0),
    say(0, 'see '),
    note('logprobs', { content: [] }),
    note('annotation', { title: 'anna@example.com', url: 'https://x.example' }),
    end(0),
    END,
  )
  t.match(out[2], { note: 'annotation', data: { title: '[EMAIL]', url: 'https://x.example' } })
  t.notOk(out.some((event) => event.type === 'block-note' && event.note === 'logprobs'))
})

t.test('what is held goes out when the answer is over, once', async (t) => {
  const { guard, push, out, emit, stages, clock } = open('flag')
  push(start(0), say(0, 'to anna@exam'))
  t.same(eventTexts(out), ['to '])
  await clock.advance(250)
  push(say(0, 'ple'))
  guard.finish(emit)
  guard.finish(emit)
  t.same(eventTexts(out), ['to anna@example'])
  t.match(stages, [{ data: { action: 'passed', direction: 'output', held_bytes: 12, held_ms: 250 } }])
  t.equal(stages.length, 1)
})

t.test('once refused, nothing goes on', async (t) => {
  const { guard, push, out, emit, stages } = open('block')
  push(start(0), say(0, 'to '))
  t.throws(() => push(say(0, 'and anna@example.com and')), { code: 'guardrail_blocked' })
  t.throws(() => push(say(0, ' more')), { code: 'guardrail_blocked' })
  guard.finish(emit)
  t.match(guard.refusal, { code: 'guardrail_blocked', status: 403 })
  t.same(eventTexts(out), ['to '])
  t.match(stages, [{ guardrail_id: 'g1', data: { action: 'blocked', direction: 'output', matched_entity_types: ['EMAIL'] } }])
  t.notMatch(JSON.stringify(stages), 'anna@')
})

t.test('a picture within the result of a tool is not read, and comes out whole', async (t) => {
  const { push, out } = open()
  const picture = `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAA'.repeat(8)}`
  const data = { call: { result: JSON.stringify({ status: 'ok', imageUrl: picture, by: 'anna@example.com', more: [picture] }) } }
  push({ type: 'block-start', block: 0, kind: 'server', of: { dialect: 'gateway', type: 'router:x', data } }, end(0), END)
  t.match(out[0], {
    of: { data: { call: { result: JSON.stringify({ status: 'ok', imageUrl: picture, by: '[EMAIL]', more: [picture] }) } } },
  })
})

t.test('what only begins like a picture is read', async (t) => {
  const { push, out } = open()
  const picture = `data:image/png;base64,${'iVBORw0KGgoAAAANSUhEUgAA'.repeat(200)}`
  const code = 'A'.repeat(3000)
  const data = {
    a: 'data:image/svg+xml,anna@example.com',
    b: `${code} anna@example.com`,
    c: `${picture} anna@example.com`,
    d: picture,
    e: `${code}==`,
  }
  push({ type: 'block-start', block: 0, kind: 'server', of: { dialect: 'gateway', type: 'router:x', data } }, end(0), END)
  const left = { a: 'data:image/svg+xml,[EMAIL]', b: `${code} [EMAIL]`, c: `${picture} [EMAIL]`, d: picture, e: `${code}==` }
  t.match(out[0], { of: { data: left } })
})

t.test('what tools and plugins have added is read in turns, however short the body was', async (t) => {
  const clock = new FakeClock(5)
  // Every look at the clock finds the turn over.
  let now = 0
  clock.monotonic = () => {
    now += 10
    return now
  }
  const who = { id: 'g1', name: 'first', scope: 'account' as const, full: false }
  const filters = {
    builtins: [],
    contentFilters: [{ pattern: 'secret', action: 'redact' as const }],
    phrases: [],
    allowedPhrases: [],
    action: 'redact' as const,
  }
  const setting = {
    ...who,
    keys: undefined,
    settings: { direction: 'input', restore: false },
    rules: compileRules(who, filters, 'guardrails[0]'),
    engine: undefined,
    bounds: false,
    budget: undefined,
  } as unknown as GuardrailSetting
  const result = { kind: 'result', callId: 'c', parts: [{ kind: 'text', text: `${'no more. '.repeat(20_000)}secret` }] }
  const request = { items: [result], tools: [], sampling: {}, used: new Set() }
  const exchange = {
    head: { clock, cancel: { aborted: false } },
    auth: { key: { name: 'app', identity: 'app' } },
    request: {
      client: {},
      bytes: 10,
      edits: ['server-tools'],
      edited: true,
      canonical: () => request,
      edit: (_: string, change: (draft: unknown) => void) => change(request),
    },
    guard: { read: { edits: 0, items: new WeakSet() } },
    history: { stages: [] },
  } as unknown as Guarded
  let over = false
  const reply = guardAdditions([setting])(async () => {
    over = true
    return {} as Reply
  })(exchange)
  for (let turns = 0; turns < 100; turns++) await Promise.resolve()
  t.notOk(over, 'others have their turn')
  await reply
  t.ok(over)
  t.match(result.parts[0].text, /\[REDACTED\]$|\[[A-Z]+\]$/)
})
