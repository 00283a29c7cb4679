/** docs/behaviour/: each row of its pages names tests that exist. */
import { existsSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { type CallExpression, type Expression, parse, type SpreadElement } from 'acorn'
import { simple } from 'acorn-walk'
import t from 'tap'
import { presetNames } from '../../src/config/provider-presets.ts'
import { ROOT, read } from '../repository/source-tree.ts'
import { type HeldBy, ROWS } from '../servers-real/rows.ts'
import { every } from '../support/every.ts'
import { CLIENT_ROWS } from './client-rows.ts'
import { PEER_ROWS } from './peer-rows.ts'
import { PRICE_LIST_ROWS } from './price-list-rows.ts'
import { PROVIDER_ROWS } from './provider-rows.ts'

/** Texts of a file, as patterns: what stands in `${}` may be anything. */
type Titles = readonly RegExp[]

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

function titlePattern(text: Expression | SpreadElement | undefined): RegExp | undefined {
  if (text?.type === 'Literal' && typeof text.value === 'string') return new RegExp(`^${escaped(text.value)}$`)
  if (text?.type !== 'TemplateLiteral') return undefined
  const pieces = text.quasis.map(({ value }) => escaped(value.cooked ?? ''))
  return new RegExp(`^${pieces.join('.+')}$`)
}

/** True where a test only says that it is skipped. */
const isSkip = (call: CallExpression): boolean => {
  const [, options] = call.arguments
  return (
    options?.type === 'ObjectExpression' &&
    options.properties.some((one) => one.type === 'Property' && one.key.type === 'Identifier' && one.key.name === 'skip')
  )
}

/** Titles of the tests of a file and texts of its assertions, those of the files beside it that it imports among them. */
function fileTitles(path: string, seen = new Set<string>()): Titles {
  if (seen.has(path) || !existsSync(join(ROOT, path))) return []
  seen.add(path)
  const program = parse(stripTypeScriptTypes(read(path), { mode: 'strip' }), { ecmaVersion: 'latest', sourceType: 'module' })
  const found: (RegExp | undefined)[] = []
  const imported: Titles[] = []
  simple(program, {
    CallExpression(call) {
      if (call.callee.type !== 'MemberExpression' || call.callee.object.type !== 'Identifier' || call.callee.object.name !== 't') return
      const isTest = call.callee.property.type === 'Identifier' && call.callee.property.name === 'test'
      if (!isTest) found.push(titlePattern(call.arguments.at(-1)))
      else if (!isSkip(call)) found.push(titlePattern(call.arguments[0]))
    },
    ImportDeclaration({ source }) {
      if (/^\.\/[^/]+\.ts$/.test(String(source.value))) imported.push(fileTitles(join(dirname(path), String(source.value)), seen))
    },
  })
  return [...found.filter((one) => one !== undefined), ...imported.flat()]
}

/** @returns why a row is not held, in words. */
function unheld([file, title]: HeldBy): string | undefined {
  const path = `test/${file}.test.ts`
  if (!existsSync(join(ROOT, path))) return `there is no ${path}`
  return fileTitles(path).some((pattern) => pattern.test(title)) ? undefined : `${path} has no test and no assertion "${title}"`
}

t.test('each row names tests that exist', async (t) => {
  await every(t, 'every row', async (t) => {
    const servers = ROWS.map(({ server, request, tests }) => ({ who: server, input: request, tests }))
    for (const { who, input, tests } of [...servers, ...CLIENT_ROWS, ...PEER_ROWS, ...PRICE_LIST_ROWS, ...PROVIDER_ROWS]) {
      t.not(tests.length, 0, `${who}, ${input}: a test`)
      for (const one of tests) t.equal(unheld(one), undefined, `${who}, ${input}`)
    }
  })
})

t.test('each preset has its row', (t) => {
  t.same(PROVIDER_ROWS.map(({ who }) => who.replaceAll('`', '')).sort(), presetNames())
  t.end()
})

t.test('a row whose test is gone is found', async (t) => {
  t.match(unheld(['servers-real/gone', 'conversations over anthropic']), /there is no/)
  t.match(unheld(['servers-real/llama-cpp', 'a title that is gone']), /has no test/)
  t.match(unheld(['servers-real/llama-cpp', 'llama.cpp']), /has no test/, 'the skip of a server that is missing holds nothing')
  t.equal(unheld(['servers-real/llama-cpp', 'conversations over anthropic']), undefined, 'a title in a file that the test imports')
})
