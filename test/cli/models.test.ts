/** `headgate models`: what a file declares, and how it differs from a list that a provider serves over HTTP. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { type ModelFlags, models } from '../../src/cli/models.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { type Printed, printed } from '../support/printed.ts'
import { jsonAnswer, REFUSING_URL, startUpstream, type Upstream } from '../support/upstream.ts'

const SECRET = 'sk-provider-secret-0123456789'

const CONFIG = `
providers:
  aye: { name: Aye, dialect: openai-chat, base_url: "\${AYE_URL}", key: "\${AYE_KEY}" }
  cee: { name: Cee, dialect: anthropic, base_url: "\${AYE_URL}", key: "\${AYE_KEY}", zdr: true }
  gee: { name: Gee, dialect: gemini, base_url: "\${AYE_URL}/v1beta", key: "\${AYE_KEY}" }
  own: { name: Own, dialect: openai-chat, base_url: "\${AYE_URL}/v1", discover: true }
  any: { name: Any, dialect: openai-chat, base_url: "\${AYE_URL}" }
  away: { name: Away, dialect: openai-chat, base_url: "http://127.0.0.1:9/v1", key: "\${NO_SUCH_KEY?}" }
  sim: { dialect: sim }
models:
  acme/one:
    name: "Acme: One"
    created: "2026-09-01"
    context: 128000
    max_output: 8000
    scores: { general: 0.5 }
    endpoints:
      - { provider: aye, model: one, price: { prompt: "0.25", completion: "2.00", cached: "0.025" }, quantization: fp8 }
      - { provider: cee, model: claude-one, context: 100000, price: { prompt: "2.00", completion: "4.00" } }
  acme/two: { endpoints: [{ provider: aye, model: two }] }
  acme/old: { context: 8000, endpoints: [{ provider: aye, model: old-1 }] }
  google/gee: { context: 1000, endpoints: [{ provider: gee, model: gee-1 }] }
  google/gone: { endpoints: [{ provider: gee, model: gee-0 }] }
  away/far: { endpoints: [{ provider: away, model: far }] }
  "any/*": { endpoints: [{ provider: any, model: "*" }] }
  sim/echo: { endpoints: [{ provider: sim, model: echo }] }
aliases: { "first": acme/one }
`

interface Scene {
  directory: string
  run(words: string[], flags?: ModelFlags, config?: string): Promise<Printed>
}

function scene(t: Test, url = 'http://127.0.0.1:9'): Scene {
  const directory = t.testdir()
  return {
    directory,
    run: async (words, flags = {}, config = CONFIG) => {
      const file = join(directory, 'headgate.yaml')
      writeFileSync(file, config)
      return printed((streams) => models(words, { config: file, ...flags }, streams, { AYE_URL: url, AYE_KEY: SECRET }))
    },
  }
}

async function listing(t: Test, lists: Record<string, JsonObject>): Promise<Upstream> {
  const upstream = await startUpstream(({ path }) => (lists[path] ? jsonAnswer(lists[path]) : { status: 404, body: ['not found'] }))
  t.teardown(() => upstream.close())
  return upstream
}

t.test('list: a table, with what is left out', async (t) => {
  const { run } = scene(t)
  const { code, out, error } = await run([])
  t.same([code, error], [0, ''])
  t.equal(
    out,
    `  model        kind      context  prompt  completion  providers
  acme/one     generate  128000   $0.25   $2          aye cee
  acme/two     generate  ?        ?       ?           aye
  acme/old     generate  8000     ?       ?           aye
  google/gee   generate  1000     ?       ?           gee
  google/gone  generate  ?        ?       ?           gee
  sim/echo     generate  ?        free    free        sim

6 models; prices in USD per million tokens, of the first endpoint.
Left out for want of their variables: away.`,
  )
  t.same(await run(['list']), { code, out, error })
  t.match((await run(['list'], { provider: 'cee' })).out, /^ {2}model.*\n {2}acme\/one .*\n\n1 model;/)
  t.match((await run(['list'], { kind: 'embedding' })).out, /^There are no such models\./)
  const { data, total_count: total } = JSON.parse((await run(['list'], { json: true, provider: 'aye' })).out) as JsonObject
  t.equal(total, 3)
  t.match(
    (data as JsonObject[])[0],
    { id: 'acme/one', context_length: 128_000, pricing: { prompt: '0.00000025' } },
    'entries as the API has them',
  )
})

t.test('show: one model with its endpoints, by any of its names', async (t) => {
  const { run } = scene(t)
  const { code, out } = await run(['show', 'first'])
  t.equal(code, 0)
  t.match(out, /slug {8}acme\/one \(requested as first\)\n/)
  t.match(out, / {2}aye {7}one {9}128000 {3}8000 {8}\$0\.25 {3}\$2 {10}\$0\.025 {2}fp8 {11}\?/)
  t.match(out, / {2}cee {7}claude-one {2}100000 .* none$/m)
  t.match(JSON.parse((await run(['show', 'first'], { json: true })).out), { data: { id: 'first', alias_target: { slug: 'acme/one' } } })
  t.match(JSON.parse((await run(['show', 'acme/one:nitro'], { json: true })).out), { data: { alias_target: { slug: 'acme/one' } } })
  t.match(await run(['show', 'any/thing']), { code: 0, out: /thing/ }, 'a wildcard makes it')
  t.match(await run(['show', 'other/one']), { code: 1, error: 'headgate: no such model: other/one; expected one such as acme/one' })
})

t.test('what is no command, and what is no configuration', async (t) => {
  const { run } = scene(t)
  for (const words of [['lists'], ['show'], ['sync'], ['list', 'x'], ['show', 'a/b', 'c'], ['toString']]) {
    t.match(
      await run(words),
      { code: 2, error: /^headgate: models: expected list, show SLUG, sync PROVIDER or import --from FILE$/ },
      words.join(' '),
    )
  }
  t.match(await run(['list'], { kind: 'poem' }), { code: 2, error: /--kind: expected one of: generate, embedding/ })
  t.match(await run(['list'], { provider: 'bee' }), { code: 1, error: /no such provider: bee; expected one of: aye, cee/ })
  t.match(await run(['sync', 'bee']), { code: 1, error: /no such provider: bee/ })
  t.match(await run(['sync', 'away']), { code: 1, error: /away is left out for want of its variable/ })
  t.match(await run(['sync', 'sim']), { code: 1, error: /sim is inside this process/ })
  const broken = CONFIG.replace('context: 128000', 'contxt: 128000')
  for (const words of [['list'], ['show', 'acme/one'], ['sync', 'aye']]) {
    const { code, out, error } = await run(words, {}, broken)
    t.same([code, out], [1, ''])
    t.match(error, /headgate\.yaml:14:5: models\["acme\/one"\]\.contxt: unknown key, did you mean/, 'as check says it')
  }
})

const OPENAI_LIST: JsonObject = {
  object: 'list',
  data: [
    { id: 'one', object: 'model', created: 1, owned_by: 'aye', context_length: 256_000 },
    { id: 'one-2026-09-01', object: 'model', created: 1, owned_by: 'aye' },
    { id: 'two-20260901', object: 'model', created: 1, owned_by: 'aye' },
    { id: 'three', object: 'model', created: 1, owned_by: 'aye', context_length: 64_000 },
    { id: 'acme/two', object: 'model', created: 1, owned_by: 'aye' },
    { id: 'embed-4', object: 'model', created: 1, kind: 'embedding' },
    { id: '<script>', object: 'model' },
    { id: 7 },
  ],
}

t.test('sync: the difference from the list that the provider serves', async (t) => {
  const upstream = await listing(t, { '/models': OPENAI_LIST })
  const { run } = scene(t, upstream.url)
  const { code, out, error } = await run(['sync', 'aye'])
  t.same([code, error], [0, ''])
  t.equal(
    out,
    `aye lists 6 models; the configuration uses 3 of its names.

New:
  model     as           context
  three     aye/three    64000
  acme/two  acme/two     ?
  embed-4   aye/embed-4  ?

Gone:
  model  used by
  old-1  acme/old

Changed context:
  model  used by   configured  listed
  one    acme/one  128000      256000`,
  )
  t.equal(upstream.requests[0]?.headers.authorization, `Bearer ${SECRET}`, 'asked with the key of the configuration')
  t.same(JSON.parse((await run(['sync', 'aye'], { json: true })).out), {
    provider: 'aye',
    listed: 6,
    configured: 3,
    new: [
      { model: 'three', slug: 'aye/three', context_length: 64_000 },
      { model: 'acme/two', slug: 'acme/two' },
      { model: 'embed-4', slug: 'aye/embed-4', kind: 'embedding' },
    ],
    gone: [{ model: 'old-1', slugs: ['acme/old'] }],
    changed: [{ model: 'one', slug: 'acme/one', configured: 128_000, listed: 256_000 }],
  })
})

t.test('sync reads each form of list', async (t) => {
  const upstream = await listing(t, {
    '/v1/models?limit=1000': {
      data: [
        { type: 'model', id: 'claude-one-20260901', created_at: '2026-09-01T00:00:00Z', max_input_tokens: 1 },
        { type: 'model', id: 'claude-two', created_at: '2026-10-01T00:00:00Z', max_input_tokens: 200_000 },
      ],
      has_more: false,
    },
    '/v1beta/models?pageSize=1000': {
      models: [
        { name: 'models/gee-1', inputTokenLimit: 1000, supportedGenerationMethods: ['generateContent'] },
        { name: 'models/gee-embedding', inputTokenLimit: 2048, supportedGenerationMethods: ['embedContent'] },
        { name: 'models/aqa', supportedGenerationMethods: ['generateAnswer'] },
      ],
    },
    '/v1/models': { data: [{ id: 'llama' }] },
    '/models': { data: [{ id: 'anything' }] },
  })
  const { run } = scene(t, upstream.url)
  const diff = async (provider: string) => JSON.parse((await run(['sync', provider], { json: true })).out) as JsonObject
  t.match(await diff('cee'), { new: [{ model: 'claude-two', context_length: 200_000 }], gone: [], changed: [] })
  t.match(await diff('gee'), {
    new: [{ model: 'gee-embedding', kind: 'embedding' }],
    gone: [{ model: 'gee-0', slugs: ['google/gone'] }],
    changed: [],
  })
  t.match(await diff('own'), { new: [], wildcard: 'discover' })
  t.match(await diff('any'), { new: [], wildcard: 'any/*', listed: 1 })
  t.match((await run(['sync', 'any'])).out, /any\/\* serves whatever the provider has, so nothing of the list is new/)
})

t.test('sync --write: a catalogue file with what is new, and nothing else is touched', async (t) => {
  const list = { data: (OPENAI_LIST.data as JsonObject[]).slice(0, 5) }
  const upstream = await listing(t, { '/models': list })
  const { run, directory } = scene(t, upstream.url)
  const file = join(directory, 'new.yaml')
  t.match(await run(['sync', 'aye'], { write: file }), { code: 0, out: /Written: .*new\.yaml\. Add the prices/ })
  const text = readFileSync(file, 'utf8')
  t.same(parse(text), { models: { 'aye/three': { context: 64_000, endpoints: [{ provider: 'aye', model: 'three' }] } } })
  t.match(text, /# acme\/two is there already; its endpoint here would be \{ provider: aye, model: "acme\/two" \}/)
  t.equal(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), CONFIG)
  const config = loadConfig(
    join(directory, 'headgate.yaml'),
    { AYE_URL: upstream.url, AYE_KEY: SECRET },
    { text: `catalog: [new.yaml]\n${CONFIG}` },
  )
  t.match(config.models['aye/three'], { context: 64_000 }, 'it loads as a catalogue file')
  t.match(await run(['sync', 'aye'], { write: file }), { code: 1, error: /EEXIST/ }, 'a file that is there stays')
  t.equal(readFileSync(file, 'utf8'), text)
  const other = join(directory, 'other.yaml')
  upstream.script = () => jsonAnswer({ data: [{ id: 'one', context_length: 128_000 }, { id: 'two' }, { id: 'old-1' }] })
  t.match(await run(['sync', 'aye'], { write: other }), { code: 0, out: /Both agree\.\nNothing is new: no file is written\.$/ })
  t.notOk(existsSync(other))
})

t.test('a provider that gives no list: said in one line, without its key', async (t) => {
  const upstream = await startUpstream(() => jsonAnswer({ error: { message: `bad key ${SECRET}` } }, 401))
  t.teardown(() => upstream.close())
  const answers = [await scene(t, upstream.url).run(['sync', 'aye'])]
  upstream.script = () => ({ body: ['<html>'] })
  answers.push(await scene(t, upstream.url).run(['sync', 'aye']))
  answers.push(await scene(t, REFUSING_URL).run(['sync', 'aye']))
  await every(t, 'every case', async (t) => {
    for (const { code, out, error } of answers) {
      t.same([code, out], [1, ''])
      t.match(error, /^headgate: aye at http:\/\/127\.0\.0\.1:\d+ gives no list: [^\n]+$/)
      t.notMatch(error, SECRET)
    }
  })
})

t.test("show names both prices where the snapshot and the provider's page disagree", async (t) => {
  const { run } = scene(t)
  const config = `
providers: { deepseek: { preset: deepseek, key: k }, xai: { preset: xai, key: k }, openai: { preset: openai, key: k } }
models:
  deepseek/flash: { endpoints: [ { provider: deepseek, model: deepseek-v4-flash, price: snapshot } ] }
  deepseek/own: { endpoints: [ { provider: deepseek, model: deepseek-v4-flash, price: { prompt: "9.00", completion: "9.00" } } ] }
  "xai/*": { endpoints: [ { provider: xai, model: "*", price: snapshot } ] }
  "openai/*": { endpoints: [ { provider: openai, model: "*", price: snapshot } ] }
`
  const shown = await run(['show', 'deepseek/flash'], {}, config)
  const row = / deepseek\/flash@deepseek +0\.22 \S+ \S+ +0\.15 0\.60 0\.003 +the page: https:\/\/api-docs\.deepseek\.com\/\S+/
  t.match(shown.out, /\nPrices disagree:\n/)
  t.match(shown.out, row)
  t.match(shown.out, / \$0\.15 +\$0\.6 +\$0\.003 /, "the page's is the price")
  const json = JSON.parse((await run(['show', 'deepseek/flash'], { json: true }, config)).out) as JsonObject
  t.match(json.price_disagreements, [{ endpoint: 'deepseek/flash@deepseek', page: '0.15 0.60 0.003' }])
  const retired = await run(['show', 'xai/grok-code-fast-1'], {}, config)
  t.match(retired.out, / xai\/grok-code-fast-1@xai +0\.20? .* +none +the page: /, 'behind a wildcard, and without a price any more')
  for (const slug of ['deepseek/own', 'openai/gpt-5.5']) {
    t.notMatch((await run(['show', slug], {}, config)).out, /disagree/, slug)
    t.notMatch((await run(['show', slug], { json: true }, config)).out, /disagree/, slug)
  }
})
