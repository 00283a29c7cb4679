/** Members of an object found in its bytes: as the parser reads them, whatever the spaces; and no bytes make it fail. */
import fc from 'fast-check'
import t from 'tap'
import { scanMembers } from '../../src/machines/json-bytes/json-members.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/)

/** The text of a value with spaces wherever they may stand. */
function written(value: unknown, gap: () => string): string {
  if (Array.isArray(value)) return `[${gap()}${value.map((each) => written(each, gap)).join(`${gap()},${gap()}`)}${gap()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}${gap()}:${gap()}${written(each, gap)}`)
  return `{${gap()}${members.join(`${gap()},${gap()}`)}${gap()}}`
}

t.test('names and values are those of the parser', async (t) => {
  await every(t, 'random objects', (t) => {
    const object = fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>)
    fc.assert(
      fc.property(object, fc.array(space, { minLength: 1 }), (value, gaps) => {
        let at = 0
        const gap = (): string => gaps[at++ % gaps.length] ?? ''
        const bytes = Buffer.from(`${gap()}${written(value, gap)}${gap()}`)
        const parsed = JSON.parse(bytes.toString()) as Record<string, unknown>
        const found = scanMembers(bytes)?.map(({ name, from, to }) => [name, JSON.parse(bytes.toString('utf8', from, to))])
        t.same(Object.fromEntries(found ?? []), parsed)
      }),
      property(60, 3_000),
    )
  })
})

t.test('no bytes make it fail, and what it takes for an object the parser refuses or reads alike', async (t) => {
  await every(t, 'random bytes', (t) => {
    const piece = fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', 'a', '1', ' ', '\n', '\\"', '"a":', 'ü')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
        const text = pieces.join('')
        const members = scanMembers(Buffer.from(text))
        let parsed: unknown
        try {
          parsed = JSON.parse(text)
        } catch {
          t.ok(members === undefined || Array.isArray(members))
          return
        }
        const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
        t.equal(members !== undefined, isObject, text)
        if (isObject) t.same(new Set(members?.map(({ name }) => name)), new Set(Object.keys(parsed as object)), text)
      }),
      property(2_000, 50_000),
    )
  })
})

t.test('escaped names, names that stand twice, and places', (t) => {
  const bytes = Buffer.from(' {"\\u0074ype" : "x" , "a":[1,{"b":"]"}],"a": null }')
  const members = scanMembers(bytes) ?? []
  t.same(
    members.map(({ name, at, from, to }) => [name, bytes.toString('utf8', at, to), bytes.toString('utf8', from, to)]),
    [
      ['type', '"\\u0074ype" : "x"', '"x"'],
      ['a', '"a":[1,{"b":"]"}]', '[1,{"b":"]"}]'],
      ['a', '"a": null', 'null'],
    ],
  )
  const many = `{${Array.from({ length: 16_385 }, (_, at) => `"${at}":0`).join(',')}}`
  t.equal(scanMembers(Buffer.from(many)), undefined, 'more members than a request may have')
  t.end()
})
