import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { DocumentMender } from '../../plugins/response-healing/document-mender.ts'
import { WholeHealer } from '../../plugins/response-healing/healers.ts'
import { HealingTap } from '../../plugins/response-healing/healing-tap.ts'
import { responseHealing } from '../../plugins/response-healing/plugin.ts'
import { Fault } from '../../src/core/faults.ts'
import type { JsonObject, Stage, StreamEvent } from '../../src/plugin-api/index.ts'
import { EventOrder } from '../support/event-order.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'
import { breakages, COUNT, type Kind, SEED } from './healing/breakages.ts'
import { junk, mend, soundDocument } from './healing/mending.ts'

function whole(text: string): string {
  const healer = new WholeHealer()
  return healer.push(text) + healer.finish()
}

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

t.test('of a thousand broken answers of every kind at least 95 % come out as they were meant', async (t) => {
  const all = breakages()
  t.equal(all.length, COUNT)
  t.same(breakages(), all, 'the same seed gives the same list')
  t.notOk(
    all.some(({ text }) => parses(text)),
    'each is broken',
  )
  await every(t, 'every seed', async (t) => {
    for (const seed of [SEED, 1, 2]) {
      const mended = new Map<Kind, { right: number; of: number }>()
      let right = 0
      for (const { kind, text, meant } of breakages(seed)) {
        const counts = mended.get(kind) ?? { right: 0, of: 0 }
        mended.set(kind, counts)
        counts.of++
        const healed = whole(text)
        if (!parses(healed)) t.fail(`${kind}: no JSON came out of ${text}`)
        else if (isDeepStrictEqual(JSON.parse(healed), meant)) {
          counts.right++
          right++
        }
      }
      t.ok(mended.size >= 17)
      for (const [kind, counts] of mended) {
        t.ok(counts.right / counts.of >= 0.95, `${kind}: ${counts.right} of ${counts.of}`)
        if (seed === SEED) t.comment(`${kind}: ${counts.right} of ${counts.of} mended`)
      }
      t.comment(`seed ${seed}: ${right} of ${COUNT} mended`)
      t.ok(right / COUNT >= 0.98)
    }
  })
})

t.test('a stream gives what the whole text gives, however it is cut', async (t) => {
  let differ = 0
  for (const { text } of breakages()) for (const size of [1, 3, 7]) if (mend(text, size) !== whole(text)) differ++
  t.equal(differ, 0)
  fc.assert(
    fc.property(junk, fc.integer({ min: 1, max: 10 }), (text, size) => mend(text, size) === mend(text)),
    property(3000, 200_000),
  )
  t.pass('and so does junk')
})

t.test('no sound document is ever changed, not even its white space', async (t) => {
  fc.assert(
    fc.property(soundDocument, fc.integer({ min: 1, max: 20 }), (text, size) => {
      JSON.parse(text)
      return mend(text, size) === text && mend(text) === text && whole(text) === text
    }),
    property(3000, 200_000),
  )
  await every(t, 'every text', async (t) => {
    for (const text of ['"a text {"', '42', 'null', ' true\n', '""']) {
      t.equal(mend(text, 1), text)
      t.equal(whole(text), text)
    }
  })
  const far = ' '.repeat(600)
  await every(t, 'every text', async (t) => {
    for (const text of [`{"a:b"${far}:1${far},${far}"c, "${far}:["d]"${far},"e"${far}]}${far}`, `["${'x, '.repeat(200)}"]`]) {
      t.equal(mend(text, 1), text, 'nor where the next character is far away')
    }
  })
})

t.test('whatever comes in: what leaves is JSON, or the text as it came', async (t) => {
  t.ok(parses(mend("{''{}-:", 2)), 'a minus begins no key')
  let documents = 0
  fc.assert(
    fc.property(junk, (text) => {
      const mended = mend(text, 2)
      if (mended === text) return true
      documents++
      return parses(mended)
    }),
    property(3000, 200_000),
  )
  t.ok(documents > 500, `${documents} documents were mended`)
})

t.test('a stream holds back no character whose correction is certain', async (t) => {
  const endings = [
    '',
    'note] {"a": 1}',
    "'",
    '"x"]}',
    '"',
    'x',
    'x"',
    ',',
    ',"k":1}',
    '}',
    ']',
    '":1}',
    '1',
    ' "k":1}',
    '"k": 1}',
    'x":1}',
    'x ["a"]',
    ' x["a"]',
    'k:1}',
    ': 2, "b"',
    '\n',
  ]
  const documents = [
    { name: 'Alice', tags: ['a', 'b, c', 'it is {so}'], note: 'He said: "no", then left.\nEnd', n: [1, 2.5, -3], ok: true, no: null },
    [{ a: 1 }, { b: [[], {}] }, 'x'],
  ]
  let held = 0
  let longest = 0
  let characters = 0
  await every(t, 'every text', async (t) => {
    for (const text of documents.flatMap((one) => [JSON.stringify(one), JSON.stringify(one, null, 2)])) {
      for (let length = 1; length <= text.length; length++) {
        const mender = new DocumentMender()
        const out = mender.push(text.slice(0, length))
        characters++
        if (mender.held === '') continue
        held++
        longest = Math.max(longest, mender.held.length)
        // Two ways to go on, and the very next character differs: nothing more could have left.
        const next = new Set([...endings, text.slice(length)].map((ending) => mend(text.slice(0, length) + ending)[out.length]))
        t.ok(next.size > 1, `${JSON.stringify(mender.held)} is open after ${JSON.stringify(out.slice(-20))}`)
      }
    }
  })
  t.ok(held > 20 && held < (characters * 2) / 3, `something is held after ${held} of ${characters} characters`)
  t.ok(longest < 20, `never more than ${longest} characters`)
  const long = new DocumentMender()
  long.push('{"story":"')
  await every(t, 'every round', async (t) => {
    for (let i = 0; i < 1000; i++) t.equal(long.push('word and '), 'word and ', 'a text runs through')
  })
})

t.test('the cost of unclosed texts, numbers and comments is linear in their length', async (t) => {
  const waits: Record<string, string> = {
    prose: 'word '.repeat(20_000),
    thoughts: `<think>${'{ '.repeat(30_000)}`,
    text: `"${'a{'.repeat(30_000)}`,
    digits: `[1${'1'.repeat(100_000)}`,
    comment: `[1 /*${'x'.repeat(100_000)}`,
    brackets: `{"a":"${'}'.repeat(100_000)}`,
    space: `{"a":"b"${' '.repeat(100_000)}`,
  }
  await every(t, 'every case', async (t) => {
    for (const [name, text] of Object.entries(waits)) {
      const mended = mend(text)
      t.equal(mend(text, 5), mended, `${name}: the same in a stream`)
      t.ok(mended === text || parses(mended), name)
    }
  })
  const late = `${'prose '.repeat(20_000)}{"a": 1,}`
  t.equal(mend(late, 7), late, 'a document that begins too late is left as it is')
  const long = `[${'1,'.repeat(200_000)}]`
  t.equal(whole(long), long, 'and so is one that is too long to be mended at once')
  t.ok(parses(mend(long, 1000)), 'a stream may be of any length')
})

t.test('mends each form of broken JSON in the list', async (t) => {
  const cases: [text: string, mended: string][] = [
    ['{"a":1}\n{"b":2}', '{"a":1}\n'],
    ['callback({"a":1});', '{"a":1}'],
    ['{\\"a\\": 1}', '{"a": 1}'],
    ["{'a': True, 'b': None,}", '{"a": true, "b": null}'],
    ['{"a": 1 // one\n, "b": 2 /* two */}', '{"a": 1 \n, "b": 2 }'],
    ['{“a”: “b”}', '{"a": "b"}'],
    ['{"a": "he said "hi", then left", "b": 1}', '{"a": "he said \\"hi\\", then left", "b": 1}'],
    ['{"code": "if (x) { return "a"; }"}', '{"code": "if (x) { return \\"a\\"; }"}'],
    ['{"a": "line\nline"}', '{"a": "line\\nline"}'],
    ['{"a": "C:\\dir", "b": "\\u12"}', '{"a": "C:\\\\dir", "b": "\\\\u12"}'],
    ['{"a":.5,"b":5.,"c":+3,"d":007}', '{"a":0.5,"b":5,"c":3,"d":"007"}'],
    ['{"a": 12 Main Street, "b": x}', '{"a": "12 Main Street", "b": "x"}'],
    ['<think>{"a":0} hmm</think>\n{"a":1}', '{"a":1}'],
    ['{"a": 1,\n\nNote: this is it.', '{"a": 1\n\n}'],
    ['{"a" "b", "c"; 1, "d":}', '{"a" :"b", "c": 1}'],
    ['{{"a": 1}}', '{"a": 1}'],
    ['No JSON {here} at all [1].', 'No JSON {here} at all [1].'],
    ['', ''],
  ]
  await every(t, 'every case', async (t) => {
    for (const [text, mended] of cases) {
      t.equal(whole(text), mended, JSON.stringify(text))
      if (!text.startsWith('{\\')) t.equal(mend(text, 1), mended, `${JSON.stringify(text)} in a stream`)
    }
  })
})

interface Run {
  events: StreamEvent[]
  text: string
  stages: Stage[]
}

function tapped(events: readonly StreamEvent[], more: { stream?: boolean; schema?: JsonObject } = {}): Run {
  const stages: Stage[] = []
  const { stream = true, schema } = more
  const tap = new HealingTap({ mode: schema ? 'json_schema' : 'json_object', schema, stream, stages })
  const out: StreamEvent[] = []
  const order = new EventOrder()
  for (const event of events)
    tap.push(event, (one) => {
      order.check(one)
      out.push(one)
    })
  return { events: out, text: out.map((event) => (event.type === 'block-delta' ? event.text : '')).join(''), stages }
}

const text = (block: number, pieces: readonly string[], item?: string): StreamEvent[] => [
  { type: 'block-start', block, kind: 'text', ...(item ? { item } : {}) },
  ...pieces.map((piece): StreamEvent => ({ type: 'block-delta', block, text: piece })),
  { type: 'block-end', block },
]
const END: StreamEvent = { type: 'end', reason: 'stop' }

t.test('a constant that the answer breaks off in is that constant, and no text', async (t) => {
  await every(t, 'each', async (t) => {
    for (const [text, expected] of [
      ['{"ok": tru', { ok: true }],
      ['{"ok": fals', { ok: false }],
      ['{"a": 1, "ok": nu', { a: 1, ok: null }],
      ['[true, fa', [true, false]],
      ['{"ok": truth', { ok: 'truth' }],
      ['{"ok": tru, "b": 1}', { ok: 'tru', b: 1 }],
    ] as const) {
      t.same(JSON.parse(whole(text)), expected, text)
      const mender = new DocumentMender()
      t.same(JSON.parse([...text].map((unit) => mender.push(unit)).join('') + mender.finish()), expected, `${text}, in pieces`)
    }
  })
})

t.test('a member without a value is left out, and so is half a name', async (t) => {
  await every(t, 'each', async (t) => {
    for (const [text, expected] of [
      ['{"a":1,"b":', '{"a":1}'],
      ['{"a":1,"b": ', '{"a":1}'],
      ['{"a":1,"b"', '{"a":1}'],
      ['{"a":1,"b', '{"a":1}'],
      ['{"a":', '{}'],
      ['{"a": , "b": 2}', '{ "b": 2}'],
      ['{"a":1,"b":,"c":2}', '{"a":1,"c":2}'],
      ['{"a":1,"b"}', '{"a":1}'],
      ['{"x":[{"a":1,"b":', '{"x":[{"a":1}]}'],
      ['{a: 1, b:}', '{"a": 1}'],
      ['{"a":1,"b":"', '{"a":1,"b":""}'],
      ['{"a":1,"b":nu', '{"a":1,"b":null}'],
      [`{"a":1,"${'b'.repeat(300)}":`, `{"a":1,"${'b'.repeat(300)}":null}`],
    ] as const) {
      t.equal(whole(text), expected, text)
      const mender = new DocumentMender()
      t.equal([...text].map((unit) => mender.push(unit)).join('') + mender.finish(), expected, `${text}, in pieces`)
    }
  })
  const mender = new DocumentMender()
  t.equal(mender.push('{"a":1,"b":'), '{"a":1')
  t.equal(mender.held, ',"b":', 'an answer that was cut off ends as it came')
})

t.test('heals streamed and whole events, and reports the stage', async (t) => {
  await every(t, 'streamed or not', async (t) => {
    for (const stream of [true, false]) {
      const { events, text: healed, stages } = tapped([{ type: 'start' }, ...text(0, ['```json\n{"a"', ': 1,}', '\n```']), END], { stream })
      t.equal(healed.trim(), '{"a": 1}')
      t.same([events[0].type, events.at(-2)?.type, events.at(-1)?.type], ['start', 'block-end', 'end'])
      t.match(stages, [
        {
          type: 'response_healing',
          name: 'response-healing',
          data: { mode: 'json_object', improved: true, valid: true, original_length: 21, healed_length: healed.length },
        },
      ])
      t.equal(stages[0].data?.held_bytes, stream ? 3 : undefined)
    }
  })

  const cut = tapped([...text(0, ['{"a": [1, ']), { type: 'end', reason: 'length' }])
  t.equal(cut.text, '{"a": [1, ', 'what was cut off stays cut off')
  t.match(cut.stages, [{ data: { improved: false, valid: false, truncated: true } }])
  t.equal(tapped([...text(0, ['Here: {"a', '": 1,}']), { type: 'end', reason: 'length' }], { stream: false }).text, 'Here: {"a": 1,}')

  const fault = tapped([
    { type: 'block-start', block: 0, kind: 'text' },
    { type: 'block-delta', block: 0, text: '{"a": "b"' },
    { type: 'fault', fault: new Fault('upstream_cut') },
  ])
  t.equal(fault.text, '{"a": "b"', 'held text leaves before a fault')
  t.equal(fault.events.at(-1)?.type, 'fault')

  t.equal(tapped([...text(0, ['{"a": ']), ...text(1, ['1']), END]).text, '{"a": 1}', 'two blocks of one answer')
  t.equal(tapped([...text(0, ['Let me see.']), ...text(1, ['{"a": 1}']), END]).text, '{"a": 1}')
  const two = tapped([...text(0, ['Let me see.'], 'm1'), ...text(1, ['{a: 1'], 'm2'), END])
  t.equal(two.text, 'Let me see.{"a": 1}', 'two messages are two answers')
  t.match(two.stages, [{ data: { improved: true, valid: true, original_length: 5 } }], 'one stage for both')
  t.equal(two.stages.length, 1)

  const call: StreamEvent[] = [
    { type: 'block-start', block: 1, kind: 'call', call: { id: 'c', name: 'f' } },
    { type: 'block-delta', block: 1, text: '{"not": ours,' },
    { type: 'block-end', block: 1 },
  ]
  const tools = tapped([...text(0, ['I call.']), ...call, { type: 'end', reason: 'tool_calls' }])
  t.equal(tools.text, 'I call.{"not": ours,', 'arguments of calls are left alone')

  const quiet = tapped([...text(0, []), END])
  t.same(quiet.stages, [], 'an answer without text is none')
})

t.test('nothing but the text changes, and order is kept, whatever the events', async (t) => {
  const pieces = fc.array(fc.oneof(fc.constantFrom('{', '}', '"a"', ':', ',', '1', 'x', '"', '\n'), fc.string({ maxLength: 3 })), {
    maxLength: 8,
  })
  const kind = fc.constantFrom<'text' | 'reasoning' | 'call' | 'refusal'>('text', 'text', 'text', 'reasoning', 'call', 'refusal')
  fc.assert(
    fc.property(
      fc.array(fc.tuple(kind, pieces, fc.option(fc.constantFrom('m1', 'm2'), { nil: undefined })), { maxLength: 5 }),
      fc.boolean(),
      (blocks, stream) => {
        const events = blocks.flatMap(([one, parts, item], block): StreamEvent[] => {
          const [start, ...rest] = text(block, parts, item)
          return [{ ...start, kind: one, ...(one === 'call' ? { call: { id: `c${block}`, name: 'f' } } : {}) } as StreamEvent, ...rest]
        })
        const run = tapped([...events, { type: 'usage', usage: {} as never }, END], { stream })
        const shape = (list: readonly StreamEvent[]): string[] =>
          list
            .filter(({ type }) => type === 'block-start' || type === 'block-end')
            .map((event) => `${event.type} ${'block' in event ? event.block : ''}`)
        const others = (list: readonly StreamEvent[]): string =>
          list.map((event) => (event.type === 'block-delta' && blocks[event.block][0] !== 'text' ? event.text : '')).join('')
        return (
          isDeepStrictEqual(shape(run.events), shape(events)) && others(run.events) === others(events) && run.events.at(-1)?.type === 'end'
        )
      },
    ),
    property(2000, 50_000),
  )
  t.pass()
})

t.test('settings', async (t) => {
  t.same(responseHealing.parse({ id: 'response-healing' }, 'plugins[0]'), { enabled: true })
  t.throws(() => responseHealing.parse({ enabled: 'yes' }, 'plugins[2]'), /^plugins\[2\]\.enabled: expected true or false$/)
})

t.test("the caller's schema", async (t) => {
  const schema: JsonObject = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
  const { stages } = tapped([...text(0, ["{'name': 7,}"]), END], { schema })
  t.match(stages, [{ data: { mode: 'json_schema', improved: true, schema_valid: false, schema_path: '$.name' } }])
})
