// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold variables of their own
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { every } from '../support/every.ts'
import { type Broken, CLUSTER, GOOD, GUARDRAILS, LATER, PRESETS, RULES, SHAPE, SYNTAX, VARIABLES } from './broken-files.ts'

const SECRETS = ['sk-app-secret-value', 'sk-upstream-secret', 'hunter2', 'user:secret']

/** Problems as `line:column: …`. */
function findProblems(text: string, env: Record<string, string> = {}, host?: string): string[] {
  try {
    loadConfig('f.yaml', env, { text, host })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const lines = error.message.split('\n')
    const unplaced = lines.find((line) => !/^[^:]+:\d+:\d+: ./.test(line))
    if (unplaced !== undefined) throw new Error(`without file, line and column: ${unplaced}`)
    return lines.map((line) => line.slice('f.yaml:'.length))
  }
  return []
}

function brokenText(broken: Broken): string {
  if (broken.text !== undefined) return broken.text
  const [from, to] = broken.replace ?? ['', '']
  if (!GOOD.includes(from)) throw new Error(`${broken.name}: nothing to replace`)
  return GOOD.replace(from, () => to)
}

t.test('the good file loads', async (t) => {
  t.same(findProblems(GOOD), [])
})

for (const [group, files] of Object.entries({ SYNTAX, SHAPE, CLUSTER, LATER, GUARDRAILS, PRESETS, RULES, VARIABLES })) {
  t.test(`broken files: ${group.toLowerCase()}`, async (t) => {
    await every(t, 'every broken', async (t) => {
      for (const broken of files) {
        const host = broken.name.endsWith('beyond loopback') ? '0.0.0.0' : undefined
        const problems = findProblems(brokenText(broken), broken.env, host)
        t.same(problems, inOrder(broken.problems), broken.name)
        for (const secret of SECRETS)
          t.notOk(
            problems.some((each) => each.includes(secret)),
            `${broken.name}: no secret`,
          )
      }
    })
  })
}

/** By line and column. */
function inOrder(problems: readonly string[]): string[] {
  const place = (problem: string): number[] => problem.split(':', 2).map(Number)
  return [...problems].sort((a, b) => place(a)[0] - place(b)[0] || place(a)[1] - place(b)[1])
}

t.test('mistakes of every kind are reported at once: unset variables, wrong values, broken references', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-check-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  writeFileSync(
    join(folder, 'more.yaml'),
    'models:\n  acme/more: { endpoints: [ { provider: nowhere, model: "${MORE}" } ], colour: red }\n',
  )
  const text = `server: { port: "\${PORT}", max_body: 12 parsecs }
catalog: [ more.yaml ]
auth:
  keys:
    - { name: app, key: "\${APP_KEY}", limit: "10.00", allowed_models: [ acme/oen ] }
    - { name: app, key: "sk-app-secret-value" }
providers:
  acme: { dialect: openai-chat, base_url: "https://acme.example/v1", key: "\${ACME_KEY}", timeout: { idle: 3s } }
  idle: { dialect: openai-chat }
models:
  acme/one: { max_output: 9, context: 8, endpoints: [ { provider: acmee, model: one, price: cheap } ] }
  acme/two: { endpoints: [ { provider: acme } ] }
aliases: { small: acme/tow }
default_model: acme/three
`
  try {
    loadConfig(join(folder, 'f.yaml'), {}, { text })
    t.fail('the file has mistakes')
  } catch (error) {
    const found = (error as Error).message
      .split('\n')
      .map((line) => line.replace(`${folder}/`, '').replace(/ (expected|did you mean).*/, ''))
    t.same(found, [
      'f.yaml:1:17: server.port: the environment variable PORT is not set,',
      'f.yaml:1:38: server.max_body: "12 parsecs" does not fit,',
      'f.yaml:5:25: auth.keys[0].key: the environment variable APP_KEY is not set,',
      'f.yaml:5:73: auth.keys[0].allowed_models[0]: no such model,',
      'f.yaml:6:15: auth.keys[1].name: a second key of this name,',
      'f.yaml:8:75: providers.acme.key: the environment variable ACME_KEY is not set,',
      'f.yaml:8:90: providers.acme.timeout: unknown key,',
      'f.yaml:9:3: providers.idle: this provider is not used,',
      'f.yaml:9:3: providers.idle: "base_url" is missing,',
      'f.yaml:11:27: models["acme/one"].max_output:',
      'f.yaml:11:67: models["acme/one"].endpoints[0].provider: no such provider,',
      'f.yaml:11:93: models["acme/one"].endpoints[0].price: "cheap" does not fit,',
      'f.yaml:12:28: models["acme/two"].endpoints[0]: "model" is missing,',
      'f.yaml:13:19: aliases.small: no such model,',
      'f.yaml:14:16: default_model: no such model,',
      'more.yaml:2:41: models["acme/more"].endpoints[0].provider: no such provider,',
      'more.yaml:2:57: models["acme/more"].endpoints[0].model: the environment variable MORE is not set,',
      'more.yaml:2:72: models["acme/more"].colour: unknown key,',
    ])
  }
})

/** The good file with an alias, a default model, a scope and a list that name nothing. */
const REFERENCES = GOOD.replace('app/default: openai/gpt-5-mini', 'app/default: openai/gpt-9')
  .replace('default_model: app/default', 'default_model: no/where')
  .replace('keys: [ app ] }', 'keys: [ nope ] }\n    allowed_models: [ not/there ]')
const NO_ALIAS = '16:25: aliases["app/default"]: no such model'
const NO_DEFAULT = '17:16: default_model: no such model'
const NO_KEY = '20:22: guardrails[0].scope.keys[0]: no such key'
const NO_MODEL = '21:23: guardrails[0].allowed_models[0]: no such model'

const briefly = (problems: readonly string[]): string[] => problems.map((each) => each.replace(/,? (expected|did you mean).*/, ''))

t.test('a wrong section hides no mistake of another', async (t) => {
  const all = [NO_ALIAS, NO_DEFAULT, NO_KEY, NO_MODEL]
  t.same(briefly(findProblems(REFERENCES)), all)
  for (const [more, problem] of [
    ['pass_through: {}', '23:1: pass_through: "enabled" is missing'],
    ['pass_through: { enabled: true, colour: red }', '23:32: pass_through.colour: unknown key'],
    ['prompts: 5', '23:10: prompts: found 5'],
    ['brand: 5', '23:8: brand: found 5'],
    ['presets: 5', '23:10: presets: found 5'],
    ['colour: red', '23:1: colour: unknown key'],
    ['presets: { x: { model: no/where, parameters: 5 } }', '23:24: presets.x.model: no such model'],
  ])
    t.same(briefly(findProblems(`${REFERENCES}${more}\n`)).slice(0, 5), [...all, problem], more)
})

t.test('references to a section that cannot be read are not reported, all others are', async (t) => {
  const without = (name: string, until: string, found: string): string[] => {
    const text = REFERENCES.replace(new RegExp(`^${name}:[^]*?^${until}:`, 'm'), `${name}: 5\n${until}:`)
    const problems = briefly(findProblems(text))
    t.ok(problems.shift()?.endsWith(`${name}: found ${found}`), name)
    return problems.map((each) => each.replace(/^\d+:\d+: /, ''))
  }
  const [alias, model, key, allowed] = [NO_ALIAS, NO_DEFAULT, NO_KEY, NO_MODEL].map((each) => each.replace(/^\d+:\d+: /, ''))
  t.same(without('auth', 'providers', '5'), [alias, model, allowed])
  t.same(without('providers', 'models', '5'), [key])
  t.same(without('models', 'aliases', '5'), [key])
  t.same(without('aliases', 'default_model', '5'), [key])
  t.same(
    briefly(findProblems(REFERENCES.replace('models:', 'modles:'))),
    ['8:1: modles: unknown key', NO_KEY],
    'a section under a wrong name',
  )
})

t.test('a wrong field of an entry hides no other mistake of it', async (t) => {
  const guardrail = (...lines: string[]): string[] =>
    briefly(findProblems(REFERENCES.replace(/^ {4}content_filters.*$/m, lines.map((line) => `    ${line}`).join('\n'))))
  const all = [NO_ALIAS, NO_DEFAULT, NO_KEY, NO_MODEL]
  t.same(guardrail('engine: { type: webhook, url: "ftp://x" }', 'limit_usd: x', 'reset_interval: daily'), [
    ...all,
    '22:35: guardrails[0].engine.url:',
    '23:16: guardrails[0].limit_usd: found text',
  ])
  t.same(guardrail('content_filters: [ { pattern: "(a", action: blok } ]', 'ignored_providers: [ nobody, 5 ]'), [
    ...all,
    '22:35: guardrails[0].content_filters[0].pattern: the pattern "(a" is refused:',
    '22:49: guardrails[0].content_filters[0].action: unknown value "blok"',
    '23:26: guardrails[0].ignored_providers[0]: no such provider',
    '23:34: guardrails[0].ignored_providers[1]: found 5',
  ])
  const model = GOOD.replace('{ provider: sim, model: echo }', '{ provider: simm }').replace(
    '{ dialect: sim }',
    '{ dialect: openai-chat, user: 5 }',
  )
  t.same(briefly(findProblems(model)), [
    '7:3: providers.sim: this provider is not used',
    '7:3: providers.sim: "base_url" is missing',
    '7:38: providers.sim.user:',
    '15:18: models["sim/echo"].endpoints[0]: "model" is missing',
    '15:30: models["sim/echo"].endpoints[0].provider: no such provider',
  ])
})

t.test('every pattern that its guardrail would refuse is reported, with its place', async (t) => {
  const filters = ['(a|b|ab){1,200}', '(?i)fine', '(x|y|xx){1,100}', '(?i)[B-\\\\x{10fffe}]{2}'.repeat(100), 'a{1000}'.repeat(1000)]
  const lines = filters.map((pattern) => `      - { pattern: "${pattern}", action: block }`)
  const text = GOOD.replace(/content_filters.*$/m, `content_filters:\n${lines.join('\n')}`)
  const problems = findProblems(text)
  t.same(
    problems.map((each) => each.replace(/the pattern .* is refused: (takes too long for each character); .*/, '$1')),
    [0, 2, 3, 4].map((index) => `${22 + index}:20: guardrails[0].content_filters[${index}].pattern: takes too long for each character`),
  )
})

t.test('at most a hundred problems at once, in order', async (t) => {
  const many = Array.from({ length: 130 }, (_, index) => `wrong_${index}: 1`).join('\n')
  const problems = findProblems(`${GOOD}${many}\n`)
  t.equal(problems.length, 100)
  t.match(problems[0], /^22:1: wrong_0: unknown key/)
  t.match(problems[99], /^121:1: wrong_99: unknown key/)
})

t.test('defaults are filled in and units resolved', async (t) => {
  const config = loadConfig('f.yaml', {}, { text: GOOD, port: 0 })
  t.equal(config.server.port, 0, 'the override wins')
  t.match(config.server, { host: '127.0.0.1', maxBody: 32 * 1024 * 1024, drain: 30_000, deadline: 900_000, keepAlive: 75_000 })
  t.same(config.admin, { host: '127.0.0.1', port: 8081, socketMode: '0600', tokenFile: './data/headgate.db.admin-token' })
  t.match(config.brand, { word: 'router', headers: { metadata: 'x-router-metadata', cost: 'x-router-cost' } })
  t.same(config.store, {
    url: 'sqlite:./data/headgate.db',
    durability: 'process',
    journal: './data/journal.db',
    lostGrace: 86_400_000,
    exportGrace: 604_800_000,
    files: { path: 'data/files', maxBytes: 1024 ** 3, maxFile: 100 * 1024 ** 2 },
  })
  t.same(config.shared, { tls: 'required' })
  t.equal(config.keys[0].limit, 10_000_000_000, 'nano-dollars')
  t.notOk(JSON.stringify(config.keys).includes('sk-app-secret-value'), 'only the hash of a key is kept')
  t.same(config.providers[0].timeouts, { connect: 5000, firstByte: 60_000, firstByteWhole: 600_000, idle: 30_000, total: 600_000 })
  t.equal(config.defaultModel, 'app/default')
  t.same(config.guardrails[0].keys, ['app'])
})

t.test('an engine whose key is not set is left out', async (t) => {
  const text = `
providers: { sim: { dialect: sim } }
models: { a/b: { endpoints: [ { provider: sim, model: x } ] } }
plugins:
  order: [ web ]
  defaults: { web: { engine: searxng, engines: { searxng: { url: "http://127.0.0.1:8888" }, brave: { key: "\${BRAVE_KEY?}" } } } }
`
  const engines = (env: Record<string, string>) => Object.keys(loadConfig('f.yaml', env, { text }).plugins.defaults.web.engines as object)
  t.same(engines({}), ['searxng'])
  t.same(engines({ BRAVE_KEY: 'abcdefghij' }), ['searxng', 'brave'])
})

t.test('a slash at the end of a variable does not double the one behind it', async (t) => {
  const text = `providers: { azure: { dialect: openai-chat, base_url: "\${BASE}/openai/v1", discover: true } }\nmodels: {}\n`
  const [azure] = loadConfig('f.yaml', { BASE: 'https://me.openai.azure.com/' }, { text }).providers
  t.equal(azure?.baseUrl, 'https://me.openai.azure.com/openai/v1')
})

t.test('every key of a complete file arrives', async (t) => {
  const text = `
server: { silence: 250ms, max_headers: 8KB, json_depth: 64 }
limits: { requests: 10, tokens: 5000, streams: 2, bytes: 1MB }
shared: { url: "rediss://cache:6379/1" }
provider: { order: [ a ], allow_fallbacks: false, sort: { by: price, partition: none }, max_price: { prompt: "1" } }
pass_through: { enabled: true }
providers:
  a:
    dialect: openai-chat
    name: A
    base_url: "https://a.example/v1/"
    timeouts: { first_byte: 1s, total: 2m }
    on_abort: drain
    data_collection: deny
    zdr: true
    user: drop
    headers: { x-a: b }
    quirks: { max_tokens_field: max_completion_tokens, body: { drop: [ seed ] } }
    pass_through: { price: "0.001" }
  sim: { dialect: sim, faults: { status: 503, delay: 2s, cut_after: 3, stall_after: 4, rate: 0.5 } }
models:
  x/y: { created: "2026-01-31", endpoints: [ { provider: sim, model: echo } ] }
plugins: { order: [ context-compression ], defaults: { context-compression: { engine: middle-out } } }
auth:
  keys:
    - { name: k, key: "sk-12345678", limits: { requests: 5 }, pass_through: true, expires_at: "2027-01-31T00:00:00Z", allowed_models: [ "x/*" ] }
`
  const config = loadConfig('f.yaml', {}, { text })
  const [a, sim] = config.providers
  t.match(config.server, { silence: 250, maxHeaders: 8192, jsonDepth: 64 })
  t.same(config.shared, { url: 'rediss://cache:6379/1', tls: 'required' })
  t.same(config.limits, { requests: 10, tokens: 5000, streams: 2, bytes: 1024 * 1024 })
  t.same(config.provider, { order: ['a'], allow_fallbacks: false, sort: { by: 'price', partition: 'none' }, max_price: { prompt: '1' } })
  t.equal(a.baseUrl, 'https://a.example/v1', 'no slash at the end')
  t.match(a, {
    name: 'A',
    onAbort: 'drain',
    dataCollection: 'deny',
    zdr: true,
    user: 'drop',
    headers: { 'x-a': 'b' },
    passThroughPrice: 1_000_000,
  })
  t.same(a.quirks, { max_tokens_field: 'max_completion_tokens', body: { drop: ['seed'] } })
  t.match(a.timeouts, { firstByte: 1000, firstByteWhole: 1000, total: 120_000 })
  t.same(sim.quirks, { faults: { status: 503, delay: 2000, cutAfter: 3, stallAfter: 4, rate: 0.5 } })
  t.match(config.keys[0], { passThrough: true, expiresAt: Date.UTC(2027, 0, 31), allowedModels: ['x/*'], limits: { requests: 5 } })
  const defaults = { 'context-compression': { engine: 'middle-out' } }
  t.same(config.plugins, { order: ['context-compression'], defaults, rules: { 'context-compression': { locked: false } }, load: [] })
  const closed = loadConfig('f.yaml', {}, { text: text.replace('enabled: true', 'enabled: false') })
  t.equal(closed.providers[0].passThroughPrice, undefined, 'the pass-through is closed')
})

t.test('what the routing goes by arrives', async (t) => {
  const text = `
brand: { word: acme }
providers:
  sim:
    dialect: sim
    about: { privacy_url: "https://sim.example/privacy", headquarters: DE, datacenters: [ DE, FR ] }
models:
  sim/echo-1: { scores: { coding: 0.5 }, distillable: true, endpoints: [ { provider: sim, model: echo, scores: { coding: 0.7 } } ] }
aliases: { app/auto: "acme/auto:nitro", app/newest: "~sim/echo-latest" }
default_model: acme/auto
plugins: { order: [ auto-router ], defaults: { auto-router: { allowed_models: [ "sim/*" ], cost_quality_tradeoff: 0 } } }
presets:
  short:
    description: In few words
    model: acme/pareto-code
    models: [ sim/echo-1, "~sim/echo-latest:nitro" ]
    system_prompt: Be brief.
    provider: { only: [ sim ], zdr: true }
    parameters: { temperature: 0.2, max_tokens: 99, reasoning: { effort: low } }
  empty: {}
`
  const config = loadConfig('f.yaml', {}, { text })
  t.same(config.providers[0].about, { privacyUrl: 'https://sim.example/privacy', headquarters: 'DE', datacenters: ['DE', 'FR'] })
  t.match(config.models['sim/echo-1'], { scores: { coding: 0.5 }, distillable: true, endpoints: [{ scores: { coding: 0.7 } }] })
  t.equal(config.defaultModel, 'acme/auto')
  t.same(config.plugins.defaults['auto-router'], { allowed_models: ['sim/*'], cost_quality_tradeoff: 0 })
  t.same(config.presets.get('short'), {
    description: 'In few words',
    model: 'acme/pareto-code',
    models: ['sim/echo-1', '~sim/echo-latest:nitro'],
    systemPrompt: 'Be brief.',
    provider: { only: ['sim'], zdr: true },
    parameters: { temperature: 0.2, max_tokens: 99, reasoning: { effort: 'low' } },
  })
  t.same(config.presets.get('empty'), { parameters: {} })
})

t.test('catalogue files', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-config-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const write = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const model = (slug: string, upstream: string): string => `  ${slug}: { endpoints: [ { provider: sim, model: ${upstream} } ] }\n`
  write('one.yaml', `models:\n${model('a/one', 'echo')}${model('a/both', 'echo')}`)
  write('two.yaml', `models:\n${model('a/two', 'echo')}`)
  write('twice.yaml', `models:\n${model('a/one', 'echo')}`)
  write('broken.yaml', `models:\n  a/bad: { endpoints: [ { provider: nobody, model: x } ] }\n  a/worse: { wrong: 1 }\n`)
  const main = (files: string): string =>
    write('main.yaml', `providers: { sim: { dialect: sim } }\ncatalog: [ ${files} ]\nmodels:\n${model('a/both', 'story')}`)

  const config = loadConfig(main('one.yaml, two.yaml'), {})
  t.same(Object.keys(config.models).sort(), ['a/both', 'a/one', 'a/two'])
  t.equal(config.models['a/both'].endpoints[0].model, 'story', 'the file wins over its catalogue')
  t.same(
    config.files,
    ['main.yaml', 'one.yaml', 'two.yaml'].map((name) => join(directory, name)),
  )

  const failure = (files: string): string => {
    try {
      loadConfig(main(files), {})
      return 'loaded'
    } catch (error) {
      return error instanceof ConfigError ? error.message.replaceAll(directory, '') : 'another error'
    }
  }
  t.equal(
    failure('one.yaml, twice.yaml'),
    '/twice.yaml:2:3: models["a/one"]: this model is in another catalogue file as well, expected it once',
  )
  t.match(
    failure('broken.yaml'),
    /^\/broken\.yaml:2:37: .* no such provider.*\n\/broken\.yaml:3:3: .* is missing.*\n\/broken\.yaml:3:14: models\["a\/worse"\]\.wrong: unknown key/,
  )
})

t.test('an unreadable file', async (t) => {
  t.throws(() => loadConfig('/nowhere/f.yaml', {}), {
    message: '/nowhere/f.yaml:1:1: the file cannot be read (ENOENT), expected a YAML file',
  })
})
