/** Parts of the program that pages and deployments name: metrics, files, settings, variables and operations. Each is there. */
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { allMetrics } from '../../scripts/metrics-table.ts'
import { referenceDocument } from '../../src/app/reference.ts'
import { configSchema } from '../../src/config/schema/root.ts'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { paths, programFiles, ROOT, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'

/** Decisions and comparisons tell of one day. */
const PAGES = ['README.md', 'SECURITY.md', ...paths('docs/**/*.md', 'examples/**/*.md', 'plugins/**/*.md', 'config/*.md')].filter(
  (page) => !/^docs\/(?:decisions|behaviour)\//.test(page),
)
const code = (page: string): string[] => [...read(page).matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)

t.test('metrics', async (t) => {
  const known = new Map((await allMetrics()).map(({ name, labels, type }) => [name, { labels: labels.map((label) => label.name), type }]))
  const files = [...PAGES, ...paths('deploy/**/*.{yaml,json,tpl,txt}')]
  let count = 0
  await every(t, 'each is one of the program, with its labels', (t) => {
    for (const file of files)
      for (const [found, whole = '', selector = ''] of read(file).matchAll(/\b(headgate_[a-z_]+)(?:\{([^}\n]*)\})?/g)) {
        // Tables and functions of PostgreSQL, and a variable of nginx.
        if (/^headgate_(?:schema|close_days|connection)$/.test(whole) || whole.endsWith('_')) continue
        count++
        const name = whole.replace(/_(?:bucket|sum|count)$/, '')
        const metric = known.get(whole) ?? (known.get(name)?.type === 'histogram' ? known.get(name) : undefined)
        t.ok(metric, `${file}: ${found}`)
        for (const [, label = ''] of selector.matchAll(/(\w+)\s*(?:=~?|!=|!~)/g))
          t.ok(
            [...(metric?.labels ?? []), 'le', 'quantile', 'job', 'instance', 'pod', 'namespace'].includes(label),
            `${file}: ${label} in ${found}`,
          )
      }
  })
  t.ok(count > 100, `${count} names`)
})

t.test('files', async (t) => {
  let count = 0
  await every(t, 'each path or pattern names at least one', (t) => {
    for (const page of PAGES)
      for (const text of code(page))
        for (const [path] of text.matchAll(/(?<![\w./@-])(?:test|bench|scripts|deploy|config|findings|examples)\/[\w./*-]*\w/g)) {
          count++
          t.ok(path.includes('*') ? globSync(path, { cwd: ROOT }).length > 0 : existsSync(join(ROOT, path)), `${page}: ${path}`)
        }
  })
  t.ok(count > 50, `${count} paths`)
})

/** Schemas below one, by the name of the member; `*` where callers choose the name. */
function members(schema: Json | undefined): [name: string, schema: Json][] {
  if (!isObject(schema)) return []
  const own = Object.entries(isObject(schema.properties) ? schema.properties : {}) as [string, Json][]
  const named = Object.values(isObject(schema.patternProperties) ? schema.patternProperties : {}).map((each): [string, Json] => [
    '*',
    each ?? null,
  ])
  const inner = [schema.items, schema.additionalProperties, ...(Array.isArray(schema.anyOf) ? schema.anyOf : [])]
  return [...own, ...named, ...inner.flatMap((each) => members(each))]
}

function holds(schema: Json, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined) return true
  const below = members(schema).filter(([each]) => each === name || each === '*')
  // A value of any form, such as a body.
  return below.some(([, inner]) => (rest.length > 0 && isObject(inner) && members(inner).length === 0) || holds(inner, rest))
}

t.test('settings', async (t) => {
  const schema = JSON.parse(JSON.stringify(configSchema)) as JsonObject
  const sections = members(schema).map(([name]) => name)
  /** Words of requests, replies and other files that are sections here as well. */
  const others = /^(?:provider|plugins|prompts|models|limits|log|metadata|events)\./
  let count = 0
  await every(t, 'each that is named with its section is one of the schema', (t) => {
    for (const page of PAGES.filter((each) => !/kubernetes|migration/.test(each)))
      for (const text of code(page)) {
        const [path = ''] = /^[a-z_]+(?:\.[a-z_]+)+(?=$|[:=\s])/.exec(text) ?? []
        const names = path.split('.')
        if (!sections.includes(names[0] ?? '') || others.test(path) || /\.(?:ts|md|yaml|yml|json|js|log|pem|db|sh)$/.test(path)) continue
        count++
        t.ok(holds(schema, names) || holds(schema, ['providers', 'any', ...names]), `${page}: ${path}`)
      }
  })
  t.ok(count > 100, `${count} settings`)
  t.ok(holds(schema, ['server', 'overload', 'max_wait']) && holds(schema, ['providers', 'any', 'timeouts', 'total']))
  t.notOk(holds(schema, ['server', 'overlord']))
})

t.test('variables', async (t) => {
  const sources = [
    ...programFiles().map(({ text }) => text),
    ...paths('{scripts,test,bench}/**/*.ts', 'deploy/**/*')
      .filter((path) => /\.\w+$/.test(path))
      .map(read),
  ].join('\n')
  let count = 0
  await every(t, 'each with the name of the program is read by it, or set on the page', (t) => {
    for (const page of PAGES)
      for (const [name] of read(page).matchAll(/\bHEADGATE_[A-Z_]+\b/g)) {
        // Of another program, which names it by that of its provider.
        if (name === 'HEADGATE_API_KEY') continue
        count++
        const isSet = new RegExp(`\\$\\{${name}\\W|export [^\\n]*${name}=|^ *${name}=`, 'm').test(read(page))
        t.ok(isSet || new RegExp(`\\b${name}\\b`).test(sources), `${page}: ${name}`)
      }
  })
  t.ok(count > 50, `${count} names`)
})

/** Addresses of other services, and operations that the pages say are not there. */
const ELSEWHERE = /^\/v1\/(?:ocr|moderations|traces|metrics|logs|extract|projects\/|fim\/|rerank|passage|v1\/|chat\/completions\/)/

t.test('operations', async (t) => {
  const { paths: described } = referenceDocument({ brand: 'router', models: [] })
  const forms = Object.keys(isObject(described) ? described : {}).map(
    (path) => new RegExp(`^/v1${path.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
  )
  let count = 0
  await every(t, 'each path is one of the reference', (t) => {
    for (const page of PAGES)
      for (const text of code(page)) {
        const [, path = ''] = /^(?:(?:GET|POST|PUT|PATCH|DELETE) )?(\/v1\/[^\s?#…]+)(?=$|[\s?#])/.exec(text) ?? []
        if (path === '' || ELSEWHERE.test(path)) continue
        count++
        t.ok(
          forms.some((form) => form.test(path)),
          `${page}: ${path}`,
        )
      }
  })
  t.ok(count > 100, `${count} paths`)
})
