/** A body written out of the bytes that it came in: what is unchanged as its sender wrote it, the rest anew. */
import t, { type Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { JsonSource, SourceSize } from '../../src/machines/json-bytes/json-source.ts'

const BOUNDS = { depth: 64, members: 1_000, commas: 1_000 }

function parseSource(text: string): { root: JsonObject; source: JsonSource | undefined } {
  const bytes = Buffer.from(text)
  const root = JSON.parse(text) as JsonObject
  return { root, source: JsonSource.of(bytes, root, new SourceSize().measureBytes(bytes, BOUNDS)) }
}

function written(t: Test, text: string, change: (root: JsonObject) => JsonObject): string {
  const { root, source } = parseSource(text)
  if (!source) throw new Error('expected a source')
  const out = source.write(change(root)).toString()
  t.same(JSON.parse(out), change(root), 'says what the body says')
  return out
}

t.test('an unchanged member keeps its spaces, escapes and digits', async (t) => {
  const text = '{ "model": "a", "messages": [ { "role":"user", "content": "\\u0061 größer", "seed": 12345678901234567890 } ] }'
  const out = written(t, text, (root) => ({ ...root, model: 'b', stream: true }))
  t.equal(out, '{"model":"b","messages": [ { "role":"user", "content": "\\u0061 größer", "seed": 12345678901234567890 } ] ,"stream":true}')
})

t.test('of a changed list the other elements keep them', async (t) => {
  const text = '{"list":[{"a": 1.0}, {"b": 2.0}, [3.0], {"c": 4.0}]}'
  const change = (root: JsonObject): JsonObject => {
    const list = root.list as JsonObject[]
    return { list: [list[1], { new: true }, list[3]] as JsonObject[] }
  }
  t.equal(written(t, text, change), '{"list":[ {"b": 2.0},{"new":true}, {"c": 4.0}]}')
})

t.test('elements in another order are written, the first of them anew or not', async (t) => {
  written(t, '{"list":[{"a":1},{"b":2},{"c":3}]}', ({ list }) => ({ list: [...(list as JsonObject[])].reverse() }))
})

t.test('a value that came under another name is written anew', async (t) => {
  t.equal(
    written(t, '{"a": {"x": 1.0}, "b": 2}', ({ a }) => ({ b: a })),
    '{"b":{"x":1}}',
  )
})

t.test('an empty body is an empty object', async (t) => {
  t.equal(
    written(t, '{"a":1}', () => ({})),
    '{}',
  )
})

for (const [what, text] of [
  ['at the root', '{"a":[1],"a":[2]}'],
  ['deep inside', '{"a":[{"role":"user","role":"system"}]}'],
  ['once with an escape', '{"a":{"role":1,"r\\u006fle":2}}'],
] as const)
  t.test(`a body with a name that stands twice ${what} is not sliced`, async (t) => t.equal(parseSource(text).source, undefined))

t.test('quotes and backslashes end no string before its end', async (t) => {
  const long = `${'x'.repeat(47)}\\\\\\"${'y'.repeat(47)}\\\\`
  const text = `{"a":"${long}","b":{"c":"${long}\\"","d":[]},"e":1}`
  written(t, text, (root) => ({ ...root, e: 2 }))
})

t.test('a released body reads as before', async (t) => {
  const text = `{"model":"a","10":1,"messages":[{"content":"größer ${'x'.repeat(2_000)}"}],"tools":[]}`
  const { root, source } = parseSource(text)
  if (!source) throw new Error('expected a source')
  const body = source.release()
  t.same(Object.keys(body), Object.keys(root), 'it has its names in their order')
  t.not(Object.getOwnPropertyDescriptor(body, 'messages')?.get, undefined, 'a large member is not there')
  t.equal(body.tools, root.tools, 'a small one is')
  t.same({ ...body }, root, 'it is parsed again where it is read')
  t.equal(body.messages, body.messages, 'and once only')
  t.equal(
    source.write({ ...body, model: 'b' }).toString(),
    text.replace('"a"', '"b"').replace('"model":"b","10":1', '"10":1,"model":"b"'),
    'it goes on in its bytes',
  )
  t.equal(source.release(), body, 'it can be released once more')
  t.not(Object.getOwnPropertyDescriptor(body, 'messages')?.get, undefined, 'which takes the member away again')
  source.discard()
  t.equal(body.messages, null, 'without its bytes there is nothing')
})
