/** A large body parsed in pieces: what is no JSON is not taken for any, however it may be cut, and all else is what one parse of it gives. */
import t from 'tap'
import { JsonReader } from '../../src/machines/json-bytes/json-reader.ts'
import { SourceSize } from '../../src/machines/json-bytes/json-source.ts'
import { every } from '../support/every.ts'

const BOUNDS = { depth: 64, members: 10_000, commas: 10_000 }

function read(text: string, large: number): { body: unknown; characters: number | undefined } {
  const bytes = Buffer.from(text)
  const reader = new JsonReader(bytes, new SourceSize().measureBytes(bytes, BOUNDS), large)
  return { body: reader.read(), characters: reader.characters }
}

const GOOD = [
  '{"a":1}',
  ' \n{ "model" : "größer → ✓ 😀" , "list" : [ 1 , "zwei" , { "b" : [ { } , [ ] ] } ] , "c" : { "d" : 1 , "e" : [ 1 , 2 ] } }\r\n',
  '{"b":[[1,2],[3,[4,5]],"],[","\\"]"],"1":[true,null],"0":false}',
  '{"a":[1,2,3],"a":[4],"r\\u006fle":"user"}',
  `{"list":[${Array.from({ length: 200 }, (_, at) => `{"content":"Zeile ${at} →"}`).join(', ')}],"last":[0.5e3]}`,
]

GOOD.push(`{"list":["a →","b",${JSON.stringify('c'.repeat(300))},"d","e",${JSON.stringify('f →'.repeat(90))}]}`)

for (const large of [0, 8, 20, 100])
  t.test(`in pieces of ${large} bytes`, async (t) => {
    await every(t, 'is what one parse gives', (t) => {
      for (const text of GOOD) {
        const { body, characters } = read(text, large)
        t.equal(JSON.stringify(body), JSON.stringify(JSON.parse(text)), text)
        t.equal(characters, text.length, text)
      }
    })
  })

const BAD = [
  '{"a":[1}}',
  '{"a":[1,{"b":2]}}',
  '{"a":{"b":1],"c":2}',
  '{"a":[1,2}',
  '{"a":1]',
  '["a":1}',
  '{"a":[1,,2]}',
  '{"a":[,1]}',
  '{"a":[1,]}',
  '{"a":[1 2]}',
  '{"a":[1],[2]}',
  '{"a":[1]],"b":[[2]}',
  '{"a":1,}',
  '{"a":1,"b"}',
  '{"a","b":1}',
  '{"a"::1}',
  '{1:2}',
  '{"a":1}{"b":2}',
  '{"a":1} x',
  'x {"a":1}',
  '{"a":[1]x}',
  '{"a":x[1]}',
  '{"a":"b',
  '{"a":[1',
]

t.test('what is no JSON', async (t) => {
  await every(t, 'is not read', (t) => {
    for (const text of BAD) for (const large of [0, 3, 100]) t.same(read(text, large), { body: undefined, characters: undefined }, text)
  })
})

t.test('what has to be parsed as a whole', async (t) => {
  for (const text of ['{}', '[1]', '"a"', '{"__proto__":1}']) t.equal(read(text, 0).body, undefined, text)
})
