/** Plugins of the operator's own: from files and packages, at the start and at a reload, and what is said of those that cannot be used. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { loadWhole } from '../../../src/app/config-reader.ts'
import { check } from '../../../src/cli/check.ts'
import { type PluginFlags, plugins } from '../../../src/cli/plugins.ts'
import { ConfigError } from '../../../src/config/problems.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'

const SIM = `providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo } ] } }
`

/** A plugin that tells in its stage what it is. */
const plugin = (id: string, summary: string): string => `
const ID: string = '${id}'
export default {
  id: ID,
  parse: (settings: object) => settings,
  shape(exchange: { stages: object[] }) { exchange.stages.push({ type: 'plugin', name: ID, summary: ${summary} }) },
}
`

function save(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true })
    writeFileSync(join(directory, name), text)
  }
}

async function summaries(gateway: Gateway, ...ids: string[]): Promise<unknown[]> {
  const body = { model: 'sim/echo', input: 'x', plugins: ids.map((id) => ({ id })) }
  const response = await gateway.post('/v1/responses', body, { 'X-Router-Metadata': 'enabled' })
  const { router_metadata: metadata } = (await response.json()) as { router_metadata?: { pipeline?: JsonObject[] } }
  return (metadata?.pipeline ?? [response.status]).map((stage) => (typeof stage === 'number' ? stage : stage.summary))
}

t.test('files beside the configuration, lists of plugins, and packages with or without types of modules', async (t) => {
  const directory = t.testdir({})
  save(directory, {
    'mine.ts': plugin('mine', "'from a file'"),
    'more/two.mjs': `export default [${['a', 'b'].map((id) => `{ id: '${id}', parse: () => ({}), shape(x) { x.stages.push({ summary: '${id}' }) } }`).join()}]`,
    'node_modules/packed/package.json': '{ "name": "packed", "type": "module", "exports": { "import": "./index.js" } }',
    'node_modules/packed/index.js':
      "import { badField } from 'headgate/plugin-api'\nexport default { id: 'packed', parse(s, path) { if (s.wrong) throw badField(path + '.wrong', 'no'); return s }, shape(x) { x.stages.push({ summary: 'from a package' }) } }",
    'node_modules/@some/old/package.json': '{ "name": "@some/old" }',
    'node_modules/@some/old/index.js':
      "module.exports = { id: 'old', parse: () => 1, shape(x) { x.stages.push({ summary: 'from long ago' }) } }",
  })
  const gateway = await startGateway(
    `${SIM}plugins: { load: [ ./mine.ts, ./more/two.mjs, packed, "@some/old" ], order: [ old, b ], defaults: { mine: { depth: { any: [ 1 ] } } } }`,
    { directory },
  )
  t.teardown(() => gateway.close())
  t.same(await summaries(gateway, 'mine', 'a', 'b', 'packed', 'old'), ['from long ago', 'b', 'from a file', 'a', 'from a package'])
  const wrong = await gateway.post('/v1/responses', { model: 'sim/echo', input: 'x', plugins: [{ id: 'packed', wrong: true }] })
  t.equal(wrong.status, 400, 'a fault of its making is one of ours')
  t.match(await wrong.json(), { error: { metadata: { field: 'plugins[0].wrong' } } })
})

t.test('a reload reads anew what has changed, in the file and beside it, and keeps the old where the new is broken', async (t) => {
  const directory = t.testdir({})
  const yaml = (more = ''): string => `${SIM}plugins: { load: [ ./mine.ts ]${more} }`
  const source = `import { word } from './word.ts'\n${plugin('mine', 'word + (globalThis as { loads?: number }).loads++')}`
  Object.assign(globalThis, { loads: 0 })
  save(directory, { 'word.ts': "export const word: string = 'one '", 'mine.ts': source })
  const gateway = await startGateway(yaml(), { directory })
  t.teardown(() => gateway.close())
  t.same(await summaries(gateway, 'mine'), ['one 0'])
  save(directory, { 'word.ts': "export const word: string = 'two '" })
  t.same(await summaries(gateway, 'mine'), ['one 1'])
  t.equal((await gateway.reconfigure(yaml())).kind, 'applied')
  t.same(await summaries(gateway, 'mine'), ['two 2'])
  save(directory, { 'mine.ts': source.replace("'mine'", "'yours'") })
  t.equal((await gateway.reconfigure(yaml())).kind, 'applied')
  t.same([await summaries(gateway, 'mine'), await summaries(gateway, 'yours')], [[400], ['two 3']])
  await every(t, 'every broken', async (t) => {
    for (const broken of ['export default {', 'throw new Error("no")', 'export default 7']) {
      save(directory, { 'mine.ts': broken })
      const reload = await gateway.reconfigure(yaml())
      t.equal(reload.kind, 'failed')
      t.match(String((reload as { error?: unknown }).error), /headgate\.yaml:\d+:\d+: plugins\.load\[0\]: this plugin cannot be used: /)
      t.match(await summaries(gateway, 'yours'), [/^two /], 'the old one stays')
    }
  })
  save(directory, { 'mine.ts': source })
  const [first, second] = await Promise.all([gateway.reconfigure(yaml()), gateway.reconfigure(yaml(', order: [ mine ]'))])
  t.same([first.kind, second.kind], ['applied', 'applied'], 'two at once follow each other')
  t.same(gateway.running.runtime.config.plugins.order, ['mine'])
  t.match(await summaries(gateway, 'mine'), [/^two /])
  t.ok(gateway.running.runtime.config.files.includes(join(directory, 'mine.ts')), 'its file is watched')
})

const BROKEN: [name: string, plugins: string, files: Readonly<Record<string, string>>, problem: string | RegExp][] = [
  ['a file that is not there', 'load: [ ./none.ts ]', {}, '3:20: plugins.load[0]: this plugin cannot be used: no such file'],
  ['a package that is not there', 'load: [ no-such-package ]', {}, '3:20: plugins.load[0]: this plugin cannot be used: no such package'],
  [
    'a file that is none',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default {' },
    /^3:20: plugins\.load\[0\]: this plugin cannot be used: .*x\.ts:1\)$/,
  ],
  [
    'a file that throws',
    'load: [ ./x.ts ]',
    { 'x.ts': 'throw new Error("boom")' },
    '3:20: plugins.load[0]: this plugin cannot be used: boom',
  ],
  [
    'no default export',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export const x = 1' },
    /: expected a default export that is a plugin, or a list of plugins$/,
  ],
  [
    'a default export that is no plugin',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default () => {}' },
    /: expected a default export that is a plugin/,
  ],
  ['a list of nothing', 'load: [ ./x.ts ]', { 'x.ts': 'export default []' }, /: expected a default export that is a plugin/],
  ['a bad id', 'load: [ ./x.ts ]', { 'x.ts': plugin('Not an Id', "''") }, /: its id: expected up to 64 small letters/],
  ['no parse', 'load: [ ./x.ts ]', { 'x.ts': 'export default { id: "x", shape() {} }' }, /: x\.parse: expected a function$/],
  [
    'a shape that is none',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default { id: "x", parse() {}, shape: 1 }' },
    /: x\.shape: expected a function, or nothing$/,
  ],
  [
    'nothing to do',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default { id: "x", parse() {} }' },
    /: x: expected at least one of shape, tap and router$/,
  ],
  [
    'a bad policy',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default { id: "x", parse() {}, shape() {}, onError: "no" }' },
    /: x\.onError: expected/,
  ],
  [
    'a bad time',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default { id: "x", parse() {}, shape() {}, timeout: "5s" }' },
    /: x\.timeout: expected a whole/,
  ],
  [
    'another version of the interface',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default { id: "x", apiVersion: 2, parse() {}, shape() {} }' },
    /: x was written for version 2 of headgate\/plugin-api: this program has version 1$/,
  ],
  [
    'a bad router',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default { id: "x", parse() {}, router: { names: [] } }' },
    /: x\.router: expected names/,
  ],
  [
    'an id that ships',
    'load: [ ./x.ts ]',
    { 'x.ts': plugin('free-router', "''") },
    /with the id free-router ships with the gateway, expected another id$/,
  ],
  [
    'an id twice',
    'load: [ ./x.ts, ./y.ts ]',
    { 'x.ts': plugin('x', "''"), 'y.ts': plugin('x', "''") },
    '3:28: plugins.load[1]: this plugin cannot be used: a plugin with the id x comes from ./x.ts, expected another id',
  ],
  [
    'a name that another answers for',
    'load: [ ./x.ts ]',
    { 'x.ts': 'export default { id: "x", parse() {}, router: { names: ["auto"], strategy: "x", choose() {} } }' },
    /: the plugin auto-router, which ships with the gateway, answers for auto already/,
  ],
  [
    'a file twice',
    'load: [ ./x.ts, ./x.ts ]',
    { 'x.ts': plugin('x', "''") },
    '3:28: plugins.load[1]: this plugin is loaded twice, expected it once',
  ],
  [
    'an order of strangers',
    'load: [ ./x.ts ], order: [ y, x ]',
    { 'x.ts': plugin('x', "''") },
    /^3:39: plugins\.order\[0\]: no such plugin/,
  ],
  ['an order of strangers alone', 'order: [ free-ruoter ]', {}, '3:21: plugins.order[0]: no such plugin, did you mean "free-router"?'],
  [
    'settings of a stranger',
    'load: [ ./x.ts ], defaults: { mine: { a: 1 } }',
    { 'x.ts': plugin('x', "''") },
    /^3:42: plugins\.defaults\.mine: no such plugin/,
  ],
  ['settings of a stranger alone', 'defaults: { mine: {} }', {}, /^3:24: plugins\.defaults\.mine: no such plugin/],
  [
    'a policy that is none',
    'defaults: { auto-router: { on_error: ignore } }',
    {},
    /^3:49: plugins\.defaults\.auto-router\.on_error: unknown value "ignore"/,
  ],
  [
    'a time that is none',
    'defaults: { auto-router: { timeout: soon } }',
    {},
    /^3:48: plugins\.defaults\.auto-router\.timeout: "soon" does not fit, expected a duration/,
  ],
]

t.test('a plugin that cannot be used is an error of the configuration, with its place', async (t) => {
  for (const [name, section, files, problem] of BROKEN) {
    await t.test(name, async (t) => {
      const directory = t.testdir({})
      const file = join(directory, 'headgate.yaml')
      save(directory, { ...files, 'headgate.yaml': `${SIM}plugins: { ${section} }\n` })
      const utterance: string[] = []
      t.equal(await check(file, {}, { out: () => {}, error: (line) => utterance.push(line) }), 1)
      const [first = ''] = utterance[0]?.split('\n') ?? []
      const found = first.slice(file.length + 1)
      if (typeof problem === 'string') t.equal(found, problem)
      else t.match(found, problem)
      await t.rejects((async () => loadWhole(file, {}))(), ConfigError)
    })
  }
})

t.test("the operator's settings are checked by the plugin when they are read", async (t) => {
  const strict = `import { badField } from 'headgate/plugin-api'
export default {
  id: 'strict',
  reserved: ['account'],
  parse({ size, colour, account, parts = [] }, path) {
    if (typeof size !== 'number' || size > 3) throw badField(path + '.size', 'expected a number of at most 3')
    if (size > 1 && !account) throw badField(path + '.account', 'expected an account')
    if (parts[1]?.name === '') throw badField(path + '.parts[1].name', 'expected a name')
    if (typeof colour !== 'string') throw badField(path + '.colour', 'expected a colour')
    return {}
  },
  shape() {},
}`
  const cases: [settings: string, problem: string | undefined][] = [
    ['size: 4', '3:62: plugins.defaults.strict.size: expected a number of at most 3'],
    ['size: 1', undefined],
    ['colour: red', undefined],
    ['enabled: true, size: 1', '3:45: plugins.defaults.strict.colour: expected a colour'],
    ['size: 2', '3:45: plugins.defaults.strict.account: expected an account'],
    ['size: 1, parts: [{}, { name: "" }]', '3:84: plugins.defaults.strict.parts[1].name: expected a name'],
    ['enabled: true, size: 1, colour: red, locked: true, timeout: 1s, on_error: skip', undefined],
  ]
  for (const [settings, problem] of cases) {
    const directory = t.testdir({})
    const file = join(directory, 'headgate.yaml')
    save(directory, {
      'strict.mjs': strict,
      'headgate.yaml': `${SIM}plugins: { load: [ ./strict.mjs ], defaults: { strict: { ${settings} } } }\n`,
    })
    const utterance: string[] = []
    await check(file, {}, { out: () => {}, error: (line) => utterance.push(line.slice(file.length + 1)) })
    t.same(
      utterance.map((line) => line.replace(/^3:\d+/, '3')),
      problem === undefined ? [] : [problem.replace(/^3:\d+/, '3')],
      settings,
    )
  }
})

interface Printed {
  code: number
  out: string
  error: string
}

async function listed(t: Test, section: string, flags: PluginFlags = {}, words: string[] = []): Promise<Printed> {
  const directory = t.testdir({})
  save(directory, { 'mine.ts': plugin('mine', "''"), 'headgate.yaml': `${SIM}${section}` })
  const [out, error]: [string[], string[]] = [[], []]
  const streams = { out: (line: string) => out.push(line), error: (line: string) => error.push(line) }
  const code = await plugins(words, { config: join(directory, 'headgate.yaml'), ...flags }, streams, { SECRET: 'sk-very-secret' })
  return { code, out: out.join('\n'), error: error.join('\n') }
}

t.test('headgate plugins: what is there, what is on, and what is set', async (t) => {
  const section = `plugins:
  load: [ ./mine.ts ]
  order: [ mine ]
  defaults:
    mine: { enabled: true, locked: true, timeout: 1500ms, on_error: skip, engine: { api_key: "\${SECRET}", url: "http://x" } }
    free-router: { enabled: true }
    context-compression: { enabled: false, locked: true }
`
  const { code, out, error } = await listed(t, section)
  t.same([code, error], [0, ''])
  t.match(out, /^ {2}plugin +acts +locked +on error +time +from +settings\n {2}mine +always +yes +skip +1\.5 s +\.\/mine\.ts +\{/)
  t.match(out, /context-compression +never +yes +skip +30 s +headgate/)
  t.match(out, /auto-router +router\/auto +fail/)
  const { data, total_count: total } = JSON.parse((await listed(t, section, { json: true })).out) as {
    data: JsonObject[]
    total_count: number
  }
  t.equal(total, data.length)
  t.same(data[0], {
    id: 'mine',
    from: './mine.ts',
    acts: 'always',
    slugs: [],
    locked: true,
    on_error: 'skip',
    timeout_ms: 1500,
    defaults: { enabled: true, engine: { api_key: '***', url: 'http://x' } },
  })
  t.notMatch(out, /very-secret/)
  const plain = JSON.parse((await listed(t, '', { json: true })).out) as { data: JsonObject[] }
  const acts = Object.fromEntries(plain.data.map((one) => [one.id, one.acts]))
  t.match(acts, { 'context-compression': 'by itself', 'auto-router': 'on its slug', 'free-router': 'on its slug' })
  t.match(await listed(t, 'plugins: { load: [ ./none.ts ] }'), {
    code: 1,
    error: /plugins\.load\[0\]: this plugin cannot be used: no such file/,
  })
  t.match(await listed(t, '', {}, ['mine']), { code: 2, error: /expected no words/ })
})
