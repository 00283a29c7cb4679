// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a file holds variables of its own
/** Configuration in the documents is taken by the gateway: every YAML block loads, every key has its place. */
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { shippedPlugins } from '../../plugins/registry.ts'
import { loadWhole } from '../../src/app/config-reader.ts'
import { policyTests } from '../../src/cli/policy-tests.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { configSchema } from '../../src/config/schema/root.ts'
import { FAULTS } from '../../src/core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { SCHEMA_VERSION } from '../../src/store/schema.ts'
import { serverTools } from '../../src/tools/registry.ts'
import { paths, programFiles, ROOT, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'
import { printed } from '../support/printed.ts'

const PAGES = ['README.md', 'CONTRIBUTING.md', ...paths('docs/**/*.md', 'src/**/*.md', 'plugins/**/*.md', 'config/*.md')]

interface Block {
  at: string
  text: string
}

function pageBlocks(page: string): Block[] {
  const text = read(page)
  return [...text.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(({ index, 1: block }) => ({
    at: `${page}:${text.slice(0, index).split('\n').length}`,
    text: block,
  }))
}

const blocks = PAGES.flatMap(pageBlocks)

/** Entries around a section, to which it may refer. */
const PLUGIN = "export default { id: 'answer-language', parse: (settings) => settings, shape() {} }"
const PACKAGE = { 'package.json': '{"type":"module","main":"main.js"}', 'main.js': PLUGIN.replace('answer-language', 'some') }
const SERVERS = ['acme', 'north', 'south', 'west']
const SURROUNDINGS: JsonObject = {
  auth: { keys: [{ name: 'app', key: 'sk-app-0123456789' }] },
  providers: Object.fromEntries(
    SERVERS.map((name): [string, Json] => [name, { dialect: 'openai-chat', base_url: `https://${name}.example/v1`, key: 'k' }]),
  ),
  models: Object.fromEntries(
    ['openai/*', 'anthropic/*', 'google/*', 'acme/*', 'sim/*'].map((slug): [string, Json] => [
      slug,
      { endpoints: SERVERS.map((provider) => ({ provider, model: '*', price: 'free' })) },
    ]),
  ),
}

const STORES = { HEADGATE_DATABASE: 'postgres://db/headgate', HEADGATE_REDIS: 'rediss://cache' }
const ENVIRONMENT: Record<string, string> = Object.fromEntries(
  blocks.flatMap(({ text }) => [...text.matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, name]) => [name, exampleValue(name)])),
)

Object.assign(ENVIRONMENT, STORES)

/** An address, a region or an encryption key where the name is that of one. */
function exampleValue(name: string): string {
  if (name.endsWith('_REGION')) return 'us-east-1'
  if (name.includes('_BYOK_KEY')) return Buffer.alloc(32, name).toString('base64')
  return /_(URL|HOST|BASE)$/.test(name) ? `https://${name.toLowerCase().replaceAll('_', '-')}.example` : `value-of-${name.toLowerCase()}`
}

/** Whole configurations that show a block: itself where it is one, else with what it refers to. A block of several lines of one field is as many. */
function configurations(text: string): JsonObject[] {
  if (/^providers:/m.test(text)) return [parse(text) as JsonObject]
  const lines = text.trim().split('\n')
  const single = lines.length > 1 && lines.every((line) => line.startsWith(`${lines[0].split(':')[0]}:`))
  return (single ? lines : [text]).map((each) => around(parse(each) as JsonObject))
}

function around(section: JsonObject): JsonObject {
  const [[name, value]] = Object.entries(section)
  if (name === 'engine') return { ...SURROUNDINGS, guardrails: [{ name: 'one', engine: value }] }
  if (name === 'sandbox') return { ...SURROUNDINGS, plugins: { defaults: { shell: section } } }
  if (name === 'price') return joined({ models: { 'acme/priced': { endpoints: [{ provider: 'acme', model: 'priced', price: value }] } } })
  return joined(section)
}

function joined(section: JsonObject): JsonObject {
  const models =
    isObject(section.models) && isObject(SURROUNDINGS.models) ? { ...SURROUNDINGS.models, ...section.models } : SURROUNDINGS.models
  return { ...SURROUNDINGS, ...section, models: models ?? null }
}

const directory = t.testdir({
  'answer-language.ts': PLUGIN,
  node_modules: { 'some-package': PACKAGE },
  secrets: { 'openai.key': 'sk-in-a-file' },
  'tests.yaml': blocks.find(({ text }) => /^tests:/m.test(text))?.text.replace('../sidecar.yaml', join(ROOT, 'config/sidecar.yaml')) ?? '',
})

async function configProblems(config: JsonObject): Promise<string> {
  try {
    await loadWhole(join(directory, 'shown.yaml'), ENVIRONMENT, { text: stringify(config) })
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

t.test('every configuration in the documents loads', async (t) => {
  let count = 0
  await every(t, 'every case', async (t) => {
    for (const { at, text } of blocks) {
      if (/^tests:/m.test(text)) continue
      for (const config of configurations(text)) {
        count++
        t.equal(await configProblems(config), '', at)
      }
    }
  })
  t.ok(count >= 25, `${count} were found`)
  t.not(await configProblems(around({ engine: { type: 'nobody' } })), '', 'a wrong one does not')
})

t.test('every JSON in the documents is JSON, and every body that is sent by curl', async (t) => {
  let count = 0
  await every(t, 'every page', async (t) => {
    for (const page of PAGES) {
      const text = read(page)
      const shown = [...text.matchAll(/^```json\n([\s\S]*?)^```$/gm), ...text.matchAll(/^curl [^`]*? -d '([^']*)'/gm)]
      for (const [, json] of shown) {
        count++
        t.doesNotThrow(() => JSON.parse(json), `${page}: ${json}`)
      }
    }
  })
  t.ok(count >= 25, `${count} were found`)
})

t.test('the policy tests in the documents pass', async (t) => {
  t.match(await printed((streams) => policyTests(join(directory, 'tests.yaml'), {}, streams)), { code: 0 })
})

/** With the keys switched on that stand in comments, as whoever copies the file would. */
function uncommented(file: string): string {
  return read(file)
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/^( *)# (?= *(?:- )?(?:[\w-]+:(?: |$)|\{))/, '$1'))
    .join('\n')
}

t.test('what shipped files show in comments loads, too', async (t) => {
  const keys = ['TEAM', 'CI', 'OPS', 'OPENAI', 'OPENAI_API', 'MISTRAL_API'].map((name): [string, string] => [
    `${name}_KEY`,
    `value-of-${name}`,
  ])
  const env = { ...STORES, ...Object.fromEntries(keys) }
  for (const [file, shown] of [
    ['config/edge.yaml', 12],
    ['config/headgate.yaml', 3],
    ['config/cluster.yaml', 0],
  ] as const) {
    const config = await loadWhole(join(ROOT, file), env, { text: uncommented(file) })
    t.equal(Object.keys(config.plugins.defaults).length + config.guardrails.length, shown, file)
  }
})

/** First cells of the tables of a page, as code. */
function firstCells(page: string): string[] {
  return [...read(page).matchAll(/^\| `([^`|]+)` +\|/gm)].map(([, cell]) => cell)
}

t.test('the tables of plugins and of server tools name all that there are, in the order in which plugins run', async (t) => {
  const ids = Object.keys(shippedPlugins)
  t.same(
    firstCells('docs/plugins.md').filter((cell) => ids.includes(cell)),
    ids,
  )
  t.same(
    firstCells('docs/server-tools.md')
      .filter((cell) => cell.startsWith('router:'))
      .sort(),
    serverTools.map(({ name }) => `router:${name}`).sort(),
  )
})

/** Cells of the rows of a section's tables that begin with code, without its marks. */
function tableRows(page: string, from: string, to?: string): string[][] {
  const text = read(page)
  const start = text.indexOf(`\n${from}\n`)
  const section = text.slice(start, to === undefined ? undefined : text.indexOf(`\n${to}\n`))
  return start < 0
    ? []
    : [...section.matchAll(/^\| (`.+) \|$/gm)].map(([, row]) => row.split(' | ').map((cell) => cell.replace(/^\s*`?|`?\s*$/g, '')))
}

const TROUBLES = 'docs/troubleshooting.md'

t.test('troubleshooting has every fault, with its status, type and message', async (t) => {
  const rows = tableRows(TROUBLES, '### Errors of the request', '### 503').map((cells) => cells.slice(0, 4))
  const faults = Object.entries(FAULTS).map(([code, { status, type, message }]) => [code, String(status), type, message])
  t.same(rows.sort(), faults.sort())
})

const LEVELS: Readonly<Record<string, string>> = { warn: '40', error: '50' }

t.test('troubleshooting has every line that the log may have at level warn or error', async (t) => {
  const lines = new Set<string>()
  const kinds = new Set<string>()
  await every(t, 'every case', async (t) => {
    for (const { path, text } of programFiles()) {
      // The last argument of a call is the message; calls end their line.
      for (const [call, level] of text.matchAll(/\b(?:log|part\('\w+'\))\.(warn|error)\([\s\S]*?\)(?=[,;]?\n)/g)) {
        const message = /(?:'([^']+)'|"([^"]+)"),?\s*\)$/.exec(call)
        t.ok(message, `${path}: the message of ${call}`)
        lines.add(`${LEVELS[level]} ${message?.[1] ?? message?.[2]}`)
      }
      // Lines that are written without the logger; those of failed exchanges have level error.
      for (const [, message] of text.matchAll(/\bmsg: '([^']+)'/g)) lines.add(`50 ${message}`)
      for (const [, kind] of text.matchAll(/\b(?:report(?:\?\.)?|alerts\.bookkeeping)\(\{ kind: '([a-z-]+)'/g)) kinds.add(kind)
    }
  })
  t.ok(lines.size > 15 && kinds.size > 10, `${lines.size} lines and ${kinds.size} kinds`)
  const written = tableRows(TROUBLES, '### Lines by `msg`', '### Lines by `kind`').map(([message, level]) => `${level} ${message}`)
  t.same(written.sort(), [...lines].sort())
  t.same(
    tableRows(TROUBLES, '### Lines by `kind`')
      .map(([kind]) => kind)
      .sort(),
    [...kinds].sort(),
  )
})

t.test('the page on upgrades has every version of the schema', async (t) => {
  const page = read('docs/upgrading.md')
  t.match(page, `The schema version of this program is ${SCHEMA_VERSION}.`)
  t.same(
    [...page.matchAll(/^\| (\d+) +\|/gm)].map(([, version]) => Number(version)),
    Array.from({ length: SCHEMA_VERSION }, (_, index) => index + 1),
  )
})

/** Names of all keys of the file, with one path of each. */
function schemaKeys(schema: Json, path: string, found: Map<string, string>): Map<string, string> {
  if (!isObject(schema)) return found
  for (const [name, property] of Object.entries(isObject(schema.properties) ? schema.properties : {})) {
    found.set(name, `${path}.${name}`)
    schemaKeys(property ?? null, `${path}.${name}`, found)
  }
  const inner = [
    schema.items,
    ...(Array.isArray(schema.anyOf) ? schema.anyOf : []),
    ...Object.values(isObject(schema.patternProperties) ? schema.patternProperties : {}),
  ]
  for (const each of inner) schemaKeys(each ?? null, `${path}[]`, found)
  return found
}

t.test('every key of the file stands in a table or a text of the documents', async (t) => {
  const pages = paths('docs/*.md', 'docs/configuration/*.md').filter((page) => page !== 'docs/dialects.md')
  const code = pages.flatMap((page) => [...read(page).matchAll(/`([^`\n]+)`/g)].map(([, word]) => word)).join('\n')
  const keys = schemaKeys(JSON.parse(JSON.stringify(configSchema)) as Json, '', new Map())
  t.ok(keys.size > 150, `${keys.size} keys`)
  const missing = [...keys].filter(([name]) => !new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(code))
  t.same(missing, [])
})
