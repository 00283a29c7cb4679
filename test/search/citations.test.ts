/** Citations beside a stream: nothing of the reply changes, and every result is told once it is known that nothing follows. */
import fc from 'fast-check'
import t from 'tap'
import type { StreamEvent } from '../../src/dialects/canon/events.ts'
import { Citations, type SearchResult } from '../../src/services/search/index.ts'
import { fold } from '../support/fold-events.ts'
import { property } from '../support/seed.ts'

const page = (url: string): SearchResult => ({ url, title: url, content: '' })
const PAGES = [page('https://a.example/'), page('https://a.example/x'), page('https://b.example/y(z)')]

function run(events: readonly StreamEvent[], results: readonly SearchResult[]): StreamEvent[] {
  const citations = new Citations()
  citations.add(results)
  const out: StreamEvent[] = []
  for (const event of events) citations.push(event, (one) => out.push(one))
  return out
}

function utterance(text: string, end: 'stop' | 'tool_calls' = 'stop'): StreamEvent[] {
  return [
    { type: 'block-start', block: 0, kind: 'text' },
    { type: 'block-delta', block: 0, text },
    { type: 'block-end', block: 0 },
    { type: 'end', reason: end },
  ]
}

const places = (events: readonly StreamEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === 'block-note' ? [[event.data.url, event.data.start_index, event.data.end_index]] : []))

t.test('where links stand', async (t) => {
  const cases: [text: string, expected: unknown[]][] = [
    ['see [a.example](https://a.example/x).', [[PAGES[1].url, 4, 36]]],
    [
      'see https://a.example/x, or https://a.example/x',
      [
        [PAGES[1].url, 4, 23],
        [PAGES[1].url, 28, 47],
      ],
    ],
    ['see https://a.example/xyz', []],
    ['see https://a.example', [[PAGES[0].url, 4, 21]]],
    ['see https://a.example/ too', [[PAGES[0].url, 4, 22]]],
    [
      '[b](https://b.example/y(z)) 😀 https://a.example',
      [
        [PAGES[2].url, 0, 27],
        [PAGES[0].url, 31, 48],
      ],
    ],
    ['[two\nlines](https://a.example/x)', [[PAGES[1].url, 12, 31]]],
    ['nothing', []],
  ]
  for (const [text, expected] of cases) {
    const found = places(run(utterance(text, 'tool_calls'), PAGES))
    t.same(found, expected, text)
    const all = places(run(utterance(text), PAGES)) as [string, number, number][]
    t.same(all.slice(0, expected.length), expected)
    t.equal(new Set(all.map(([url]) => url)).size, PAGES.length, 'every page is told')
    t.ok(all.slice(expected.length).every(([, start, end]) => start === 0 && end === 0))
  }
  t.same(places(run(utterance(' \n'), PAGES)), [], 'no text, no citations')
  t.same(run(utterance('x'), []), utterance('x'))
})

t.test('property: the reply is the same without its annotations, in order, whatever is in it', async (t) => {
  const piece = fc.constantFrom('https://a.example/x', '[', '](', ')', 'https://a.example', ' ', 'é', '\n', 'text')
  const block = fc.record({
    kind: fc.constantFrom('text', 'reasoning', 'call'),
    texts: fc.array(piece, { maxLength: 8 }),
    ends: fc.boolean(),
  })
  const turns = fc.array(
    fc.record({ blocks: fc.array(block, { maxLength: 4 }), reason: fc.constantFrom('stop', 'tool_calls', 'length') }),
    {
      minLength: 1,
      maxLength: 3,
    },
  )
  fc.assert(
    fc.property(turns, (list) => {
      let next = 0
      const events: StreamEvent[] = []
      for (const { blocks, reason } of list) {
        for (const { kind, texts } of blocks) {
          const number = next++
          const call = kind === 'call' ? { call: { id: `c${number}`, name: 'mine' } } : {}
          events.push({ type: 'block-start', block: number, kind: kind as 'text', ...call })
          for (const text of texts) events.push({ type: 'block-delta', block: number, text })
          events.push({ type: 'block-end', block: number })
        }
        events.push({ type: 'end', reason: reason as 'stop' })
      }
      const out = run(events, PAGES)
      const plain = out.filter((event) => event.type !== 'block-note')
      if (JSON.stringify(plain) !== JSON.stringify(events)) return false
      return fold(out).blocks.every(({ text, notes, kind }) =>
        notes.every(({ data }) => {
          const [start, end] = [Number(data.start_index), Number(data.end_index)]
          const part = text.slice(start, end)
          return kind === 'text' && ((start === 0 && end === 0) || part.includes(String(data.url).replace(/\/$/, '')))
        }),
      )
    }),
    property(500, 50_000),
  )
  t.pass('no counterexample')
})
