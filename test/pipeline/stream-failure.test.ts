/** A tap that fails: what it held back is handed on, so that the caller misses nothing and reads nothing twice. */
import fc from 'fast-check'
import t from 'tap'
import { PendingEvents } from '../../src/pipeline/plugins/pending-events.ts'
import { GuardedTap } from '../../src/pipeline/plugins/stream-failure.ts'
import type { StreamEvent, Tap } from '../../src/plugin-api/index.ts'
import { property } from '../support/seed.ts'

const delta = (block: number, text: string): StreamEvent => ({ type: 'block-delta', block, text })

/** An answer of blocks one after the other, with usage somewhere. */
const answers = fc
  .array(fc.array(fc.string({ minLength: 1, maxLength: 6 }), { maxLength: 5 }), { minLength: 1, maxLength: 4 })
  .map((blocks): StreamEvent[] => [
    { type: 'start' },
    ...blocks.flatMap((texts, block): StreamEvent[] => [
      { type: 'block-start', block, kind: 'text' },
      ...texts.map((text) => delta(block, text)),
      { type: 'block-end', block },
    ]),
    { type: 'end', reason: 'stop' },
  ])

/** Holds the last `most` characters, and everything behind them; throws at event number `at`. */
function holdingTap(most: number, at: number): Tap {
  let held: StreamEvent[] = []
  let count = 0
  return {
    mode: 'mutate',
    push(event, emit) {
      if (count++ === at) throw new Error('broken')
      held.push(event)
      let spare = held.reduce((sum, one) => sum + (one.type === 'block-delta' ? one.text.length : 0), 0) - most
      while (held.length > 0 && (spare > 0 || held[0].type !== 'block-delta')) {
        const [first] = held
        if (first.type !== 'block-delta' || first.text.length <= spare) {
          if (first.type === 'block-delta') spare -= first.text.length
          held = held.slice(1)
          emit(first)
        } else {
          held[0] = { ...first, text: first.text.slice(spare) }
          emit({ ...first, text: first.text.slice(0, spare) })
          spare = 0
        }
      }
      if (event.type !== 'end') return
      for (const one of held) emit(one)
      held = []
    },
  }
}

function told(events: readonly StreamEvent[]): string {
  return events
    .map((event) => (event.type === 'block-delta' ? event.text : `<${event.type} ${'block' in event ? event.block : ''}>`))
    .join('')
}

t.test('property: a failing tap that may be skipped leaves the stream as it came, wherever it fails', async (t) => {
  fc.assert(
    fc.property(answers, fc.nat(9), fc.nat(30), (events, most, at) => {
      const failures: boolean[] = []
      const tap = new GuardedTap(holdingTap(most, at), { maySkip: true, tapFailed: (_thrown, skip) => void failures.push(skip) })
      const out: StreamEvent[] = []
      for (const event of events) tap.push(event, (one) => void out.push(one))
      const failed = at < events.length
      return told(out) === told(events) && failures.length === (failed ? 1 : 0) && failures.every((skip) => skip)
    }),
    property(500, 5_000),
  )
  t.pass()
})

t.test('a tap that has changed an event cannot be skipped', async (t) => {
  const changes: [name: string, out: StreamEvent][] = [
    ['another text', delta(0, 'x')],
    ['more text', delta(0, 'abcd')],
    ['text of another block', delta(1, 'a')],
    ['a new event', { type: 'block-end', block: 0 }],
  ]
  for (const [name, out] of changes) {
    const pending = new PendingEvents()
    pending.received(delta(0, 'abc'))
    pending.emitted(out)
    t.equal(pending.changed, true, name)
    t.same(pending.take(), [])
  }
  const usage: StreamEvent = { type: 'usage', usage: { input: 1, output: 1, cached: 0, cacheWrite: 0, reasoning: 0 } as never }
  const pending = new PendingEvents()
  pending.received(delta(0, 'abc'))
  pending.received(usage)
  pending.emitted(usage)
  pending.emitted(delta(0, 'a'))
  t.equal(pending.changed, false, 'usage may overtake text')
  t.same(pending.take(), [delta(0, 'bc')])
})

t.test('ignores events that a tap emits late, and does not blame the tap for errors behind it', async (t) => {
  let late: (() => void) | undefined
  const failures: unknown[] = []
  const owner = { maySkip: true, tapFailed: (thrown: unknown) => void failures.push(thrown) }
  const tap = new GuardedTap(
    {
      mode: 'mutate',
      push(event, emit) {
        late = () => emit(event)
        try {
          emit(event)
        } catch {
          // A plugin that swallows everything.
        }
      },
    },
    owner,
  )
  const out: StreamEvent[] = []
  tap.push(delta(0, 'a'), (event) => void out.push(event))
  late?.()
  t.same(out, [delta(0, 'a')])
  t.throws(
    () =>
      tap.push(delta(0, 'b'), () => {
        throw new Error('the encoder broke')
      }),
    /the encoder broke/,
  )
  t.same(failures, [])
})
