/** Calls whose arguments stream (Vertex AI), and streams that break off or begin anew in the middle. */
import fc from 'fast-check'
import t from 'tap'
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { property } from '../../support/seed.ts'
import { decodeFrames, encode, type Told, told, user } from './rig.ts'

const frame = (part: JsonObject, more: JsonObject = {}): JsonObject => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [part] }, ...more }],
  modelVersion: 'gemini-3.8-flash',
  responseId: 'r1',
})
const call = (functionCall: JsonObject): JsonObject => frame({ functionCall })
const stop = frame({ text: '' }, { finishReason: 'STOP' })
const calls = ({ blocks }: Told): JsonObject[] => blocks.filter(({ kind }) => kind === 'call')

t.test('arguments that come value by value', async (t) => {
  // As the pull request that brought them to the AI SDK shows them (github.com/vercel/ai/pull/13929).
  const events = decodeFrames([
    frame({ functionCall: { name: 'light', id: 'c1', willContinue: true }, thoughtSignature: 'U2ln' }),
    call({ partialArgs: [{ jsonPath: '$.location', stringValue: 'Boston', willContinue: true }], willContinue: true }),
    call({ partialArgs: [{ jsonPath: '$.location', stringValue: ', "MA"' }], willContinue: true }),
    call({ partialArgs: [{ jsonPath: '$.brightness', numberValue: 50 }], willContinue: true }),
    call({}),
    frame({ functionCall: { name: 'now', args: {} } }),
    stop,
  ])
  const reply = told(events)
  t.same(calls(reply), [
    { kind: 'call', call: { id: 'c1', name: 'light' }, text: '{"location":"Boston, \\"MA\\"","brightness":50}' },
    { kind: 'call', call: { id: 'call_r1_1', name: 'now' }, text: '{}' },
  ])
  t.match(reply.end, { reason: 'tool_calls' })
  t.match(reply.blocks[0], { kind: 'reasoning', notes: [{}, { data: { data: 'U2ln', id: 'c1' } }] })
  const deltas = events.flatMap((event) => (event.type === 'block-delta' ? [event.text] : []))
  t.same(deltas.slice(0, 3), ['{"location":"Boston', ', \\"MA\\""', ',"brightness":50'], 'each value leaves as it comes')
})

t.test('lists, objects within them, and a last part that has no end of its own', async (t) => {
  // github.com/vercel/ai/issues/14358
  const reply = told(
    decodeFrames([
      call({ name: 'buy', willContinue: true }),
      call({ partialArgs: [{ jsonPath: '$.operations[0].itemid', stringValue: 'a' }], willContinue: true }),
      call({ partialArgs: [{ jsonPath: '$.operations[0].tags[0]', boolValue: true }], willContinue: true }),
      call({ partialArgs: [{ jsonPath: "$.operations[1]['item id']", stringValue: '' }], willContinue: true }),
      call({ partialArgs: [{ jsonPath: '$.operations[1].price', numberValue: 0.5 }] }),
      stop,
    ]),
  )
  t.same(calls(reply)[0].text, '{"operations":[{"itemid":"a","tags":[true]},{"item id":"","price":0.5}]}')
  t.equal(reply.fault, undefined)
  const none = told(decodeFrames([call({ name: 'now', willContinue: true }), call({}), stop]))
  t.same(calls(none)[0].text, '{}')
})

/** Values of an object, each with its path, in the order in which the object is written. */
function partialValues(value: Json, path: string): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((each, index) => partialValues(each, `${path}[${index}]`))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([name, each]) => partialValues(each as Json, `${path}['${name.replace(/[\\']/g, '\\$&')}']`))
  if (typeof value === 'string') return [...value].map((stringValue) => ({ jsonPath: path, stringValue, willContinue: true }))
  if (typeof value === 'number') return [{ jsonPath: path, numberValue: value }]
  return [typeof value === 'boolean' ? { jsonPath: path, boolValue: value } : { jsonPath: path, nullValue: 'NULL_VALUE' }]
}

t.test('whatever the arguments are, the text is their JSON', async (t) => {
  const word = fc.string({ minLength: 1, maxLength: 4, unit: 'grapheme' })
  const leaf = fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null))
  const { tree } = fc.letrec<{ tree: Json }>((tie) => ({
    tree: fc.oneof(
      { maxDepth: 3 },
      leaf,
      fc.array(tie('tree'), { minLength: 1, maxLength: 3 }),
      fc.dictionary(fc.stringMatching(/^[a-z ."[\]'\\]{1,5}$/), tie('tree'), { minKeys: 1, maxKeys: 3 }),
    ),
  }))
  const args = fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), tree, { minKeys: 1, maxKeys: 4 })
  const written = fc.property(args, (given) => {
    const frames = partialValues(given as Json, '$').map((each) => call({ partialArgs: [each], willContinue: true }))
    const reply = told(decodeFrames([call({ name: 'f', willContinue: true }), ...frames, call({}), stop]))
    return JSON.stringify(JSON.parse(String(calls(reply)[0]?.text))) === JSON.stringify(given)
  })
  t.doesNotThrow(() => fc.assert(written, property(200, 2_000)))
})

t.test('what is no whole call ends the answer with an error', async (t) => {
  const begun = call({ name: 'f', willContinue: true })
  const value = call({ partialArgs: [{ jsonPath: '$.a', stringValue: 'x', willContinue: true }], willContinue: true })
  const broken: Readonly<Record<string, JsonObject[]>> = {
    'the answer ends within it': [begun, value, stop],
    'another call begins within it': [begun, value, call({ name: 'g', args: {} }), stop],
    'text comes within it': [begun, value, frame({ text: 'Hello' }), stop],
    'a value comes twice': [begun, call({ partialArgs: [1, 2].map((numberValue) => ({ jsonPath: '$.a', numberValue })) }), stop],
    'a list has a gap': [begun, call({ partialArgs: [{ jsonPath: '$.a[1]', numberValue: 1 }] }), stop],
    'a list has names': [begun, call({ partialArgs: ['$.a[0]', '$.a.b'].map((jsonPath) => ({ jsonPath, numberValue: 1 })) }), stop],
    'a path that is none': [begun, call({ partialArgs: [{ jsonPath: '$..a', numberValue: 1 }] }), stop],
    'a value that is none': [begun, call({ partialArgs: [{ jsonPath: '$.a' }] }), stop],
    'values that are no list': [begun, call({ partialArgs: 'a' }), stop],
    'the provider begins anew': [begun, value, { ...frame({ text: 'Hello' }), responseId: 'r2' }, { ...stop, responseId: 'r2' }],
  }
  for (const [name, frames] of Object.entries(broken))
    await every(t, name, async (t) => {
      const { fault, end } = told(decodeFrames(frames))
      t.equal(fault?.code, 'upstream_garbled')
      t.equal(end, undefined)
    })
  const restarted = told(decodeFrames([frame({ text: 'One ' }), { ...frame({ text: 'One two' }), responseId: 'r2' }, stop]))
  t.match(restarted, { fault: { code: 'upstream_garbled' }, end: undefined, blocks: [{ text: 'One ' }] })
})

t.test('a call that the cap cuts is cut', async (t) => {
  const reply = told(
    decodeFrames([
      call({ name: 'f', willContinue: true }),
      call({ partialArgs: [{ jsonPath: '$.a', stringValue: 'x', willContinue: true }], willContinue: true }),
      frame({ text: '' }, { finishReason: 'MAX_TOKENS' }),
    ]),
  )
  t.same(calls(reply)[0].text, '{"a":"x')
  t.match(reply.end, { reason: 'length' })
})

t.test('parts of the provider’s own tools come back as they were', async (t) => {
  const own: JsonObject[] = [
    { toolCall: { toolType: 'FILE_SEARCH', id: 't1', args: { q: 'x' } }, thoughtSignature: 'QQ==' },
    { toolResponse: { toolType: 'FILE_SEARCH', id: 't1', response: { found: ['y'] } }, thoughtSignature: 'Qg==' },
  ]
  const reply = told(decodeFrames([...own.map((part) => frame(part)), frame({ text: 'Found', thoughtSignature: 'Qw==' }), stop]))
  t.equal(reply.fault, undefined)
  const items = reply.blocks.map(({ kind, notes, text }) => {
    if (kind === 'text')
      return { kind: 'message' as const, role: 'assistant' as const, parts: [{ kind: 'text' as const, text: String(text) }] }
    const data = (notes as JsonObject[]).find(({ note }) => note === 'encrypted')?.data as JsonObject
    return { kind: 'reasoning' as const, encrypted: String(data.data), format: String(data.format) }
  })
  t.same((encode({ items: [user('Hi'), ...items] }).body.contents as JsonObject[])[1].parts, [
    ...own,
    { text: 'Found', thoughtSignature: 'Qw==' },
  ])
  for (const encrypted of ['{"text":"no"}', '{"toolCall":', '{'])
    t.same(encode({ items: [user('Hi'), { kind: 'reasoning', encrypted, format: 'google-gemini-v1' }] }).dropped, ['reasoning'])
})
