/** One schema: the reference, the configuration of an empty file and the shipped plugins have the defaults that stand there. */
import t from 'tap'
import { Check } from 'typebox/value'
import { parse } from 'yaml'
import { parseConfig as parseAuto } from '../../plugins/auto-router/config.ts'
import { parseConfig as parseCompression } from '../../plugins/context-compression/config.ts'
import { parseConfig as parseFiles } from '../../plugins/file-parser/config.ts'
import { parseConfig as parseModeration } from '../../plugins/moderation/config.ts'
import { parseConfig as parsePareto } from '../../plugins/pareto-router/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { configSchema } from '../../src/config/schema/root.ts'
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { mcpSettings } from '../../src/services/mcp/settings.ts'
import { parseFetchSettings } from '../../src/services/pages/settings.ts'
import { sandboxSettings } from '../../src/services/sandbox/settings.ts'
import { searchDesk } from '../../src/services/search/settings.ts'
import { paths, read } from '../repository/source-tree.ts'

const schema = JSON.parse(JSON.stringify(configSchema)) as JsonObject

const members = (value: Json | undefined): [string, JsonObject][] =>
  isObject(value) ? (Object.entries(value) as [string, JsonObject][]) : []

/** Calls `visit` for every entry of the file, with its path without names that operators choose and places in lists. */
function walk(rule: Json | undefined, path: string, visit: (path: string, rule: JsonObject) => void): void {
  if (!isObject(rule)) return
  for (const [name, field] of members(rule.properties)) {
    const at = path === '' ? name : `${path}.${name}`
    visit(at, field)
    walk(field, at, visit)
  }
  const inner = [rule.items, ...(Array.isArray(rule.anyOf) ? rule.anyOf : []), ...members(rule.patternProperties).map(([, each]) => each)]
  for (const each of inner) walk(each, path, visit)
}

const isSection = (rule: JsonObject): boolean => isObject(rule.default) && Object.keys(rule.default).length === 0

/** Facts of every plugin stand once in the reference. */
const anyPlugin = (path: string): string => path.replace(/^plugins\.defaults\.[^.]+\.locked$/, 'plugins.defaults.locked')

const reference = (): string => paths('docs/configuration.md', 'docs/configuration/*.md').map(read).join('\n')

/** Default cells of the generated tables by the paths of their settings. */
function written(): Map<string, string> {
  const cells = new Map<string, string>()
  for (const [, marker, text] of reference().matchAll(/<!-- generated: (\S+) -->([\s\S]*?)<!-- \/generated -->/g)) {
    let table = marker
    // A generated section of several tables has a heading above each, which is its path.
    for (const [, heading, setting, value] of text.matchAll(/^(?:### `([^`]+)`$|\| `([^`]+)` \| (?:[^|]|\\\|)* \| (.*?) \|)/gm)) {
      table = heading ?? table
      if (setting === undefined || value === undefined) continue
      const path = setting.replaceAll('[]', '').replaceAll('.<name>', '')
      cells.set(table === 'sections' ? path : `${table}.${path}`, value.trim().replace(/^`(.*)`$/, '$1'))
    }
  }
  return cells
}

t.test('every entry with a default stands in the reference with it, and its default could stand in a file', async (t) => {
  const cells = written()
  let count = 0
  const wrong: string[] = []
  walk(schema, '', (path, rule) => {
    if (rule.default === undefined || isSection(rule)) return
    count++
    const cell = cells.get(anyPlugin(path))
    if (cell === undefined || JSON.stringify(parse(cell)) !== JSON.stringify(rule.default)) wrong.push(`${path}: ${cell}`)
    if (!Check(rule, rule.default)) wrong.push(`${path}: the schema refuses its default`)
  })
  t.same(wrong, [])
  t.ok(count > 80, `${count} defaults`)
})

t.test('no text of the schema repeats a default', async (t) => {
  const found: string[] = []
  walk(schema, '', (path, rule) => {
    if (typeof rule.description === 'string' && /\bby default\b|\bthe default\b/.test(rule.description)) found.push(path)
  })
  t.same(found, [])
})

const FACTORS: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 },
  ...{ B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 },
}
const MEASURED: readonly (Json | undefined)[] = ['duration', 'span', 'size', 'memory']

/** Defaults of a section, by a reading of the schema of its own. */
function ruleDefaults(rule: JsonObject): JsonObject {
  const found: JsonObject = {}
  for (const [name, field] of members(rule.properties)) {
    const value = field.default
    if (value === undefined) continue
    const [, amount, unit] = /^(\d+)([A-Za-z]+)$/.exec(String(value)) ?? []
    const camel = name.split('_').map((word, index) => (index === 0 ? word : word[0].toUpperCase() + word.slice(1)))
    found[camel.join('')] = isSection(field)
      ? ruleDefaults(field)
      : MEASURED.includes(field.scalar)
        ? Number(amount) * FACTORS[unit]
        : value
  }
  return found
}

t.test('the configuration of an empty file has the defaults of the schema', async (t) => {
  const config = loadConfig('f.yaml', {}, { text: 'providers: {}\n' })
  const { server, admin, brand, store, shared, limits, aliases } = config
  const properties = schema.properties as Record<string, JsonObject>
  const expected = (name: string): JsonObject => ruleDefaults(properties[name])
  t.same(server, expected('server'))
  t.same(admin, { ...expected('admin'), tokenFile: './data/headgate.db.admin-token' })
  t.same(store, { ...expected('store'), files: { ...(expected('store').files as JsonObject), path: 'data/files' } })
  // Names of headers are made of the word.
  t.same({ word: brand.word }, expected('brand'))
  for (const [name, section] of Object.entries({ shared, limits, aliases })) t.same(section, expected(name), name)
  const { keys, providers, models, plugins, guardrails, presets, prompts, signIn, provider, defaultModel } = config
  t.same(plugins, { ...expected('plugins'), rules: {} })
  for (const list of [keys, providers, Object.keys(models), guardrails, [...presets], [...prompts]]) t.same(list, [])
  for (const absent of [signIn, provider, defaultModel]) t.equal(absent, undefined)
})

t.test('the defaults of an entry that is there, too', async (t) => {
  const text = `
providers: { a: { dialect: openai-chat, base_url: "https://a.example", discover: true } }
auth: { keys: [ { name: k, key: sk-12345678 } ], sign_in: {} }
guardrails: [ { name: g, engine: { type: webhook, url: "https://g.example" } } ]
`
  const { keys, providers, signIn, guardrails } = loadConfig('f.yaml', {}, { text })
  const at = (...path: string[]): JsonObject => path.reduce((rule, name) => rule[name] as JsonObject, schema)
  const { quirks, discover, ...provider } = ruleDefaults(Object.values(at('properties', 'providers', 'patternProperties'))[0] as JsonObject)
  t.match(providers[0], { ...provider, quirks: {}, discover: true, discovery: { every: 300_000 } })
  t.equal(discover, false)
  const { management, ...key } = ruleDefaults(at('properties', 'auth', 'properties', 'keys', 'items'))
  t.equal(management, false)
  t.match(keys[0], { ...key, role: 'member' })
  t.same(signIn, ruleDefaults(at('properties', 'auth', 'properties', 'sign_in')))
  const guardrail = at('properties', 'guardrails', 'items', 'properties')
  const { settings, engine } = guardrails[0]
  const expected = ruleDefaults({ properties: guardrail })
  const { engine: _, ...own } = expected
  t.same(settings, own)
  t.match(engine, { timeout: ruleDefaults(guardrail.engine as JsonObject).timeout, open: false })
})

/** The settings with the defaults of their schema, in the words of the file. */
function filled(rule: JsonObject, settings: JsonObject): JsonObject {
  const whole: JsonObject = { ...settings }
  for (const [name, field] of members(rule.properties)) {
    const value = settings[name]
    if (isObject(value)) whole[name] = filled(field, value)
    else if (value === undefined && field.default !== undefined) whole[name] = field.default
  }
  return whole
}

t.test('shipped plugins have the defaults that the schema says they have', async (t) => {
  const plugins = ((schema.properties as JsonObject).plugins as JsonObject).properties as Record<string, JsonObject>
  const shipped = plugins.defaults.properties as Record<string, JsonObject>
  const READERS: readonly [id: string, settings: JsonObject, parse: (settings: JsonObject) => unknown][] = [
    ['auto-router', {}, (settings) => parseAuto(settings, 'p')],
    ['context-compression', {}, (settings) => parseCompression(settings, 'p')],
    ['file-parser', { ocr: {} }, (settings) => parseFiles(settings, 'p').ocr],
    ['mcp', {}, (settings) => ({ ...mcpSettings(settings, 'p'), policy: undefined, allows: undefined })],
    ['moderation', { key: 'k' }, (settings) => parseModeration(settings, 'plugins.defaults.moderation')],
    ['pareto-router', {}, (settings) => parsePareto(settings, 'p')],
    ['shell', { sandbox: { type: 'bubblewrap' } }, ({ sandbox }) => sandboxSettings(sandbox, 'p')],
    ['web', { engines: { brave: { key: 'k' } } }, (settings) => searchDesk(settings)],
    ['web-fetch', { engines: { exa: { key: 'k' } } }, (settings) => ({ ...parseFetchSettings(settings), policy: undefined })],
  ]
  for (const [id, settings, parse] of READERS) {
    const whole = filled(shipped[id], settings)
    t.not(JSON.stringify(whole), JSON.stringify(settings), `${id} has defaults`)
    t.same(JSON.stringify(parse(whole), show), JSON.stringify(parse(settings), show), id)
  }
})

const show = (_: string, value: unknown): unknown => (typeof value === 'function' ? 'a function' : value)
