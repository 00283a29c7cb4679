/** The quick reader of large files: it says what the full parser says, or nothing. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { parseDocument, stringify } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { Source } from '../../src/config/source.ts'
import { quickYaml } from '../../src/machines/quick-yaml/quick-yaml.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'

/** Value of a text by the full parser; undefined where it finds a mistake. */
function full(text: string): unknown {
  const document = parseDocument(text, { strict: true, uniqueKeys: true, logLevel: 'error' })
  return document.errors.length + document.warnings.length > 0 ? undefined : document.toJS()
}

const agrees = (text: string): boolean => {
  const quick = quickYaml(text)
  return quick === undefined || JSON.stringify(quick) === JSON.stringify(full(text))
}

const MODEL = `models:
  # A comment.
  acme/one:
    name: "Acme: One, no.#1"
    created: "2026-09-01"
    context: 128000 # tokens
    input: [text, image]
    distillable: true
    scores: { general: 0.5, coding: 0.25 }
    endpoints:
      - { provider: aye, model: one:8b, price: { prompt: "0.25", completion: "2.00" }, quantization: fp8 }
      - provider: bee
        model: org/one
        price: free
        supported_parameters:
          - tools
          - max_tokens
  acme/two:free: { endpoints: [ { provider: aye, model: two } ] }
`

t.test('plain files are read, and as the full parser reads them', async (t) => {
  t.same(quickYaml(MODEL), full(MODEL))
  t.equal(quickYaml(MODEL) === undefined, false)
  const folder = join(import.meta.dirname, '../../config/catalog')
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  await every(t, 'every text', async (t) => {
    for (const text of texts) t.ok(agrees(text))
  })
  t.ok(texts.some((text) => quickYaml(text) !== undefined))
})

t.test('leaves files with rare YAML forms to the full parser', async (t) => {
  const doubtful = [
    'a: &x 1\nb: *x\n',
    'a: !!str 1\n',
    'a: |\n  text\n',
    'a: >-\n  text\n',
    "a: 'it''s'\n",
    'a: "a\\n"\n',
    'a: 1\na: 2\n',
    'a: 0x10\n',
    'a: 1e3\n',
    'a: 007\n',
    'a: .5\n',
    'a: null\n',
    'a: True false: x\n',
    'a:\nb: 1\n',
    'a: b: c\n',
    'a: [1, 2\n  , 3]\n',
    'a: {b: 1,}\n',
    'a: {b:1}\n',
    '--- \na: 1\n',
    'a:\n- b\n',
    '- - a\n',
    'a: text\n  more text\n',
    '? a\n: b\n',
    'true: 1\n',
    '12: 1\n',
    'a: "x" y\n',
    'a: `x`\n',
    'a: @x\n',
    'a: "x # y" # z"\n',
    `a: \${NAME}\n`,
    'a:\t1\n',
    'a: 1\r\n',
    'a: "\u2028"\n',
    '"__proto__": 1\nb:\n    c: 1\n  d: 1\n',
    '',
  ]
  await every(t, 'every case', async (t) => {
    for (const [i, text] of doubtful.entries()) t.ok(agrees(text), `text ${i}`)
  })
  for (const text of doubtful.slice(0, 6)) t.equal(quickYaml(text), undefined, JSON.stringify(text))
})

const key = fc.oneof(
  fc.stringMatching(/^[a-z_][a-z0-9_./:~-]{0,8}$/),
  fc.constantFrom('true', 'null', '12', '1e3', '~', '__proto__', 'a b'),
)
const leaf = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.stringMatching(/^[A-Za-z0-9 :#,.{}[\]"'+~/-]{0,10}$/),
  fc.integer(),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom('1e3', '0x1f', '12:30', 'yes', 'True', 'NULL', '1.50', '2026-01-01', '.inf', 'a: b', 'a #b', '-', '- a'),
)
const tree = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('value'), { maxLength: 4 }), fc.dictionary(key, tie('value'), { maxKeys: 4 })),
})).value
const style = fc.record({
  defaultStringType: fc.constantFrom('PLAIN' as const, 'QUOTE_DOUBLE' as const, 'QUOTE_SINGLE' as const),
  collectionStyle: fc.constantFrom('any' as const, 'block' as const, 'flow' as const),
  flowCollectionPadding: fc.boolean(),
  indentSeq: fc.boolean(),
})

t.test('reads random documents as the full parser does, or leaves them to it', async (t) => {
  let read = 0
  fc.assert(
    fc.property(tree, style, (value, options) => {
      const text = stringify(value, { ...options, lineWidth: 0 })
      if (quickYaml(text) !== undefined) read++
      return agrees(text)
    }),
    property(300, 50_000),
  )
  t.ok(read > 5, `${read} of them were read`)
})

t.test('reads randomly damaged files as the full parser does, or leaves them to it', async () => {
  const piece = fc.oneof(
    fc.constantFrom(':', ' ', '#', '- ', '{', '}', '[', ']', ',', '"', "'", '\n', '  ', '&a', '*a', '|', '~', '!', '%', '?', '\\', ': '),
    fc.string({ maxLength: 2 }),
  )
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(MODEL.length), fc.nat(4), piece), { minLength: 1, maxLength: 3 }), (edits) => {
      let text = MODEL
      for (const [at, cut, inserted] of edits) text = text.slice(0, at) + inserted + text.slice(at + cut)
      return agrees(text)
    }),
    property(500, 100_000),
  )
})

const many = (change: (text: string) => string = (text) => text): string => {
  const models = Array.from(
    { length: 1250 },
    (_, i) =>
      `  acme/m${i}:\n    context: 1000\n    endpoints:\n      - { provider: sim, model: m${i}, price: { prompt: "1", completion: "2" } }\n`,
  )
  return change(`providers:\n  sim: { dialect: sim }\nmodels:\n${models.join('')}`)
}

t.test('a large file has its problems told at their places all the same', async (t) => {
  t.equal(Object.keys(loadConfig('large.yaml', {}, { text: many() }).models).length, 1250)
  t.ok(many().length > 100_000, 'large enough')
  const yamlProblems = (text: string): unknown => {
    try {
      loadConfig('large.yaml', {}, { text })
      return 'loaded'
    } catch (error) {
      return error instanceof ConfigError ? error.message : error
    }
  }
  /** Of `found` in the changed text, as the loader shows places. */
  const textPlace = (text: string, found: string): string => {
    const lines = text.slice(0, text.indexOf(found)).split('\n')
    return `large.yaml:${lines.length}:${(lines.at(-1) ?? '').length + 1}: `
  }
  const cases: [from: string, to: string, at: string, message: string][] = [
    ['model: m700,', 'modl: m700,', 'modl', 'models["acme/m700"].endpoints[0].modl: unknown key, did you mean "model"?'],
    ['acme/m700:\n    context: 1000', 'acme/m700:\n    context: none', 'none', 'models["acme/m700"].context: '],
    ['  acme/m700:\n    context: 1000\n', '  acme/m700:\n    context: 999\n  acme/m700:\n', '  acme/m700:\n    endpoints', ''],
    ['m700, price:', 'm700, price: *x, price:', '*x', ''],
  ]
  for (const [from, to, at, message] of cases) {
    const text = many((whole) => whole.replace(from, to))
    const utterance = String(yamlProblems(text))
    const line = textPlace(text, at).split(':')[1]
    t.ok(
      message === '' ? utterance.includes(`large.yaml:${line}:`) : utterance.includes(textPlace(text, at) + message),
      `${to}: ${utterance}`,
    )
  }
})

t.test('a file without an alias may have more than 100,000 values', async (t) => {
  const list = (n: number): string => `a: [${Array.from({ length: n }, (_, i) => i).join(', ')}]\nb: 'x'\n`
  t.same(new Source('f', list(120_000), {}).problems, [])
  t.match(new Source('f', `${list(120_000)}c: "*"\n`, {}).problems, [{ message: /more than 100000 values/ }])
})
