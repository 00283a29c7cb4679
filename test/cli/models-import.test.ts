// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a file holds variables of its own
/** `headgate models import`: public price lists become a catalogue file, shown before it is written. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { type ModelFlags, models } from '../../src/cli/models.ts'
import { loadConfig } from '../../src/config/load.ts'
import { presetNames, providerPreset } from '../../src/config/provider-presets.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { decimalText } from '../../src/core/money-text.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { LITELLM, MODELS_DEV, manyModels } from '../support/price-lists.ts'
import { type Printed, printed } from '../support/printed.ts'

const CONFIG = `
providers:
  openai: { preset: openai }
  claude: { preset: anthropic }
  groq: { preset: groq }
  together: { preset: together }
  deepseek: { preset: deepseek }
  qwen: { preset: qwen }
  voyage: { preset: voyage }
  azure: { preset: azure-openai }
models:
  acme/first:
    name: "Mine"
    context: 272000
    scores: { general: 0.5 }
    endpoints:
      - { provider: openai, model: acme-one, price: { prompt: "5.0", completion: "20.00", tools: { file_search: "0.0025" } }, quirks: { efforts: [low, high] } }
`

interface Scene {
  list: string
  out: string
  run(flags?: ModelFlags): Promise<Printed>
  written(): Record<string, JsonObject & { endpoints: JsonObject[] }>
}

function scene(t: Test, content: unknown, config = CONFIG): Scene {
  const directory = t.testdir()
  const [list, out, file] = ['list.json', 'imported.yaml', 'headgate.yaml'].map((name) => join(directory, name))
  writeFileSync(list, typeof content === 'string' ? content : JSON.stringify(content))
  writeFileSync(file, config)
  return {
    list,
    out,
    run: (flags = {}) => printed((streams) => models(['import'], { config: file, from: list, ...flags }, streams, {})),
    written: () => (parse(readFileSync(out, 'utf8')) as { models: ReturnType<Scene['written']> }).models,
  }
}

t.test('prices are decimals, whatever a double makes of them', async (t) => {
  await every(t, 'each amount', async (t) => {
    const cases: [number, number, string | undefined][] = [
      [1e-7, 6, '0.10'],
      [1.0000000000000001e-7, 6, '0.10'],
      [0.3 - 0.225, 0, '0.075'],
      [0.1 + 0.2, 0, '0.30'],
      [1.25e-5, 6, '12.50'],
      [3.625e-9, 6, '0.003625'],
      [5, 0, '5.00'],
      [0, 6, '0.00'],
      [150, 0, '150.00'],
      [0.000123, 6, '123.00'],
      [1e-20, 6, '0.00'],
      [-1, 0, undefined],
      [Number.NaN, 0, undefined],
      [Number.POSITIVE_INFINITY, 0, undefined],
      [1e300, 0, undefined],
    ]
    for (const [amount, shift, expected] of cases) t.equal(decimalText(amount, shift), expected, `${amount} by ${shift}`)
  })
})

t.test("models.dev's form: without --write nothing is written, and all is shown", async (t) => {
  const { run, out } = scene(t, MODELS_DEV)
  const { code, out: shown, error } = await run()
  t.same([code, error], [0, ''])
  t.notOk(existsSync(out))
  t.match(shown, /list\.json is the api\.json of models\.dev, with 7 text or embedding models\./)
  t.match(shown, /\nNew models \(4\), .*\n {2}model .*\n {2}openai\/acme-embed +openai +8191 +0\.02\n/)
  t.match(shown, / {2}claude\/acme-thinks +claude +200000 +3\.00 +15\.00 +0\.30 +200000\n/)
  t.match(shown, /\nFurther endpoints of models \(1\), .*\n.*\n {2}meta\/open-1 +together +4000 +0\.40 +0\.60\n/)
  t.match(
    shown,
    / {2}acme\/first +openai +context 272000 -> 1050000; max_output none -> 128000; completion 20\.00 -> 30\.00; cached none -> 0\.30; overrides/,
  )
  t.match(shown, /\n1 model of 1 provider that are not configured or not selected\n/)
  t.match(
    shown,
    /\nLeft out \(2\):\n.*\n {2}acme-old +openai +is no longer served\n {2}acme-draw +openai +is neither a text nor an embedding model\n/,
  )
  t.match(shown, /\nNothing is written\. With --write FILE, 5 models would be written into a catalogue file\./)
  t.match(shown, /take precedence, so change these there: acme\/first\.$/)
})

t.test('the file is a catalogue that loads, with what the list states and what the configuration had', async (t) => {
  const { run, out, written } = scene(t, MODELS_DEV)
  const { code, out: shown } = await run({ write: out })
  t.equal(code, 0)
  t.match(shown, /\nWritten: 5 models into .*imported\.yaml\. Name it as the last file under `catalog` of .*: imported\.yaml\./)
  const {
    'acme/first': first,
    'claude/acme-thinks': thinks,
    'meta/open-1': open,
    'openai/acme-embed': embed,
    'openai/acme-unknown': unknown,
  } = written()
  t.same(first, {
    name: 'Mine',
    context: 272_000,
    scores: { general: 0.5 },
    endpoints: [
      {
        provider: 'openai',
        model: 'acme-one',
        price: {
          prompt: '5.00',
          completion: '30.00',
          tools: { file_search: '0.0025' },
          cached: '0.30',
          overrides: [{ min_prompt_tokens: 272_000, prompt: '10.00', completion: '45.00', cached: '1.00' }],
        },
        quirks: { efforts: ['low', 'high'] },
        context: 1_050_000,
        max_output: 128_000,
      },
    ],
  })
  t.match(thinks.endpoints[0], { quirks: { efforts: ['low', 'max'], thinking: 'adaptive' }, price: { cache_write: '3.75' } })
  t.same(
    open.endpoints.map(({ provider, model, context }) => [provider, model, context ?? open.context]),
    [
      ['groq', 'meta/open-1', 8000],
      ['together', 'Meta/Open-1', 4000],
    ],
    'hosts of one model share its slug',
  )
  t.same(embed, {
    kind: 'embedding',
    context: 8191,
    input: ['text'],
    endpoints: [{ provider: 'openai', model: 'acme-embed', price: { prompt: '0.02' } }],
  })
  t.equal(unknown.endpoints[0].price, undefined, 'no price is no price')
  const config = loadConfig('x.yaml', {}, { lookOnly: true, text: `${CONFIG.replace(/models:[\s\S]*/, '')}\ncatalog: ["${out}"]\n` })
  t.equal(Object.keys(config.models).length, 5)
})

t.test("LiteLLM's form", async (t) => {
  const { run, out, written } = scene(t, LITELLM, CONFIG.replace(/models:[\s\S]*/, 'models: {}'))
  const { code, out: shown } = await run({ write: out })
  t.equal(code, 0, shown)
  t.match(shown, /LiteLLM, with 7 text or embedding models/)
  t.match(shown, /\nLeft out \(3\):\n[\s\S]*\n {2}broken +is not a readable entry\n/)
  const all = written()
  t.same(Object.keys(all).sort(), [
    'deepseek/acme-night',
    'meta/open-1',
    'openai/acme-one',
    'openai/acme-wide',
    'qwen/acme-tiers',
    'voyage/acme-vectors',
  ])
  t.match(all['openai/acme-wide'], { context: 8192, max_output: 8192 }, 'no cap beyond the context')
  t.same(all['openai/acme-one'], {
    expiration: '2099-01-31',
    context: 922_000,
    max_output: 128_000,
    input: ['text', 'image', 'file'],
    endpoints: [
      {
        provider: 'openai',
        model: 'acme-one',
        price: {
          prompt: '0.10',
          completion: '0.40',
          cached: '0.0125',
          cache_write: '0.125',
          cache_write_1h: '0.20',
          audio: '1.00',
          web_search: '0.0125',
          overrides: [{ min_prompt_tokens: 272_000, prompt: '0.20', completion: '0.60', cached: '0.025' }],
        },
      },
    ],
  })
  t.match(all['qwen/acme-tiers'].endpoints[0].price, {
    prompt: '0.05',
    completion: '0.40',
    overrides: [{ min_prompt_tokens: 256_000, prompt: '0.25', completion: '2.00' }],
  })
  t.same(
    (all['deepseek/acme-night'].endpoints[0].price as JsonObject).overrides,
    [
      { utc_start: '1630', utc_end: '0030', prompt: '0.15' },
      { days: ['sun', 'sat'], prompt: '0.15' },
    ],
    'hours of every day, and days of the week',
  )
  t.same(all['voyage/acme-vectors'], {
    kind: 'embedding',
    context: 32_000,
    endpoints: [{ provider: 'voyage', model: 'acme-vectors', price: { prompt: '0.18' } }],
  })
  const config = loadConfig('x.yaml', {}, { lookOnly: true, text: `${CONFIG.replace(/models:[\s\S]*/, '')}\ncatalog: ["${out}"]\n` })
  t.equal(config.models['openai/acme-one']?.expiration, '2099-01-31')
})

t.test('a second import of the same list changes nothing, and one of another list only what differs', async (t) => {
  const { run, out, list, written } = scene(t, LITELLM, CONFIG.replace(/models:[\s\S]*/, 'models: {}'))
  await run({ write: out })
  writeFileSync(out, readFileSync(out, 'utf8').replace('max_output: 128000', 'max_output: 128000\n    scores: { general: 0.75 }'))
  const before = readFileSync(out, 'utf8')
  t.match(await run({ write: out }), { code: 0, out: /\n6 endpoints as configured\n[\s\S]*\n\nNo file is written\.$/ })
  t.equal(readFileSync(out, 'utf8'), before)
  writeFileSync(
    list,
    JSON.stringify({ ...LITELLM, 'groq/meta/open-1': { ...(LITELLM['groq/meta/open-1'] as JsonObject), input_cost_per_token: 2.5e-7 } }),
  )
  const { out: shown } = await run({ write: out })
  t.match(shown, /\nChanged \(1\), .*\n.*\n {2}meta\/open-1 +groq +prompt 0\.50 -> 0\.25\n/)
  t.match(written()['meta/open-1'].endpoints[0].price, { prompt: '0.25', completion: '0.50' })
  t.match(written()['openai/acme-one'], { scores: { general: 0.75 } }, 'what the list does not know stays')
})

t.test('a context that holds the output too is not cut to a list of inputs', async (t) => {
  const { run } = scene(t, LITELLM, CONFIG.replace('context: 272000', 'context: 1050000'))
  t.notMatch((await run()).out, /context 1050000/)
})

t.test('filters: providers, names, and a name of the list', async (t) => {
  const { run } = scene(t, MODELS_DEV)
  const added = async (flags: ModelFlags): Promise<string[]> => {
    const { out } = await run({ json: true, ...flags })
    return (JSON.parse(out) as { added: { slug: string }[] }).added.map(({ slug }) => slug)
  }
  t.same(await added({ provider: 'groq,claude' }), ['claude/acme-thinks', 'meta/open-1'])
  t.same(await added({ match: 'ACME-*d' }), ['openai/acme-embed'])
  t.same(await added({ match: 'meta/*' }), ['meta/open-1', 'meta/open-1'])
  t.same(await added({ provider: 'elsewhere=together' }), ['together/one'])
  t.match(await run({ provider: 'grok' }), { code: 1, error: /^headgate: no such provider: grok; expected one of: openai, / })
  const own = scene(t, MODELS_DEV, 'providers: { own: { dialect: openai-chat, base_url: "http://127.0.0.1:9" } }\n')
  t.match(await own.run({ provider: 'own' }), { code: 1, error: "headgate: the list's name of own is not known, expected LIST=own" })
})

t.test('no text of a list is read as a variable or breaks the YAML file', async (t) => {
  const entry = { modalities: { input: ['text'], output: ['text'] }, limit: { context: 1000, output: 100 }, cost: { input: 1, output: 1 } }
  const names = ['${OPENAI_API_KEY}', 'two words', 'a\u0007b', 'x'.repeat(201), 'any*', 'say"this"', '']
  const models = Object.fromEntries(names.map((name) => [name, entry]))
  const { run, out } = scene(t, {
    openai: { models: { ...models, good: { ...entry, name: `\${OPENAI_API_KEY} "x" \\ \u001b[31m${'y'.repeat(300)}` }, __proto__: entry } },
  })
  t.match(await run({ write: out }), {
    code: 0,
    out: /\nLeft out \(7\):\n(.*\n)? {2}model +at +since it\n( {2}.* is not a readable entry\n){7}/,
  })
  const text = readFileSync(out, 'utf8')
  t.notMatch(text, '${')
  const loaded = loadConfig(
    'x.yaml',
    { OPENAI_API_KEY: 'sk-secret' },
    { lookOnly: true, text: `${CONFIG.replace(/models:[\s\S]*/, '')}\ncatalog: ["${out}"]\n` },
  )
  t.match(loaded.models['openai/good']?.name, /^ ?\{OPENAI_API_KEY\} x \[31my+$/)
})

/** As models.dev has `groq/compound`, whose price on Groq's page is that of the models which it calls, and a model that draws. */
const PLACEHOLDERS: JsonObject = {
  groq: {
    models: {
      'groq/compound': { modalities: { input: ['text'], output: ['text'] }, cost: { input: 0, output: 0 } },
      'acme/half': { modalities: { input: ['text'], output: ['text'] }, cost: { input: 0.14, output: 0, cache_read: 0 } },
      'acme/gift:free': { modalities: { input: ['text'], output: ['text'] }, cost: { input: 0, output: 0 } },
      'acme/cheap-cache': { modalities: { input: ['text'], output: ['text'] }, cost: { input: 1, output: 2, cache_read: 0 } },
      'acme/draws': { modalities: { input: ['text', 'image'], output: ['text', 'image'] }, cost: { input: 0.3, output: 30 } },
      'acme/kept': { modalities: { input: ['text'], output: ['text'] }, cost: { input: 0, output: 0 } },
      'acme/known-to-draw': { modalities: { input: ['text'], output: ['text', 'image'] }, cost: { input: 0.5, output: 60 } },
    },
  },
}

t.test('0 is a price that the list does not know, and never one of a hosted model', async (t) => {
  const config = `providers: { groq: { preset: groq } }
models:
  acme/kept: { endpoints: [ { provider: groq, model: acme/kept, price: { prompt: "1.00", completion: "2.00" } } ] }
  acme/known-to-draw: { output: [text, image], endpoints: [ { provider: groq, model: acme/known-to-draw, price: { prompt: "0.40", completion: "3.00" } } ] }
`
  const { run, out, written } = scene(t, PLACEHOLDERS, config)
  const { code, out: shown } = await run({ write: out })
  t.equal(code, 0)
  const prices = Object.fromEntries(Object.entries(written()).map(([slug, { endpoints }]) => [slug, endpoints[0]?.price]))
  t.same(prices, {
    'groq/compound': undefined,
    'acme/half': undefined,
    'acme/gift:free': 'free',
    'acme/cheap-cache': { prompt: '1.00', completion: '2.00' },
    'acme/draws': undefined,
    'acme/known-to-draw': { prompt: '0.50', completion: '3.00', image_output: '60.00' },
  })
  t.match(
    shown,
    /\nWithout a price for what the list states at 0 \(4\):\n.*\n {2}groq\/compound +groq +groq\/compound +prompt, completion\n/,
  )
  t.match(shown, / {2}acme\/kept +groq +acme\/kept +prompt, completion\n/, 'what was configured stays')
  t.match(shown, / {2}acme\/cheap-cache +groq +acme\/cheap-cache +cached\n/)
  t.match(shown, /\nFree, as the list says \(1\):\n.*\n {2}acme\/gift:free +groq +acme\/gift:free\n/)

  const gateway = await startGateway(
    `auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef, limit: "0.01" } ] }\n${config.replace(/models:[\s\S]*/, '')}catalog: [${JSON.stringify(out)}]\n`,
    { env: { GROQ_API_KEY: 'sk-groq' } },
  )
  t.teardown(() => gateway.close())
  const refused = await gateway.post('/v1/chat/completions', { model: 'groq/compound', messages: [{ role: 'user', content: 'Hello' }] })
  t.match(await refused.json(), { error: { code: 403, message: 'groq/compound has no known price: a key with a limit cannot use it' } })
})

t.test("where lists disagree, the provider's page is taken, and all of it is shown", async (t) => {
  const entry = (input: number, output: number, cached: number): JsonObject => ({
    modalities: { input: ['text'], output: ['text'] },
    cost: { input, output, cache_read: cached },
  })
  const list = {
    mistral: { models: { 'mistral-large-4': entry(1.36, 4.18, 0.14), 'mistral-small-2603': entry(0.15, 0.6, 0.015) } },
    deepseek: { models: { 'deepseek-flash': entry(0.15, 0.6, 0.003) } },
    openai: { models: { 'gpt-5.5': entry(7, 30, 0.5), 'acme-new': entry(1, 2, 0.1) } },
  }
  const config = 'providers: { mistral: { preset: mistral }, deepseek: { preset: deepseek }, openai: { preset: openai-chat } }\n'
  const { run, out, written } = scene(t, list, config)
  const { out: shown } = await run({ write: out })
  const slugPrice = (slug: string): unknown => written()[slug].endpoints[0].price
  t.same(slugPrice('mistral/mistral-large-4'), { prompt: '0.70', completion: '2.10', cached: '0.07' })
  t.match(slugPrice('deepseek/deepseek-flash'), {
    prompt: '0.15',
    overrides: [{ utc_start: '0100', prompt: '0.30' }, { utc_start: '0600' }],
  })
  t.match(slugPrice('openai/gpt-5.5'), { prompt: '7.00' }, 'the snapshot alone is no page: the list may be newer')
  t.match(shown, /\nLists disagree \(3\)/)
  t.match(shown, / mistral\/mistral-large-4 +mistral +1\.36 4\.18 0\.14 +0\.70 2\.10 0\.07 .*the page: https:\/\/docs\.mistral\.ai\/\S+\n/)
  t.match(shown, / openai\/gpt-5\.5 +openai +7\.00 30\.00 0\.50 +5\.00 30\.00 0\.50 +this list\n/)
  const { out: json } = await run({ json: true })
  t.match(JSON.parse(json), {
    disagreements: [{ slug: 'mistral/mistral-large-4', list: '1.36 4.18 0.14', page: '0.70 2.10 0.07', taken: 'page' }],
  })
})

t.test("what writes no text is left out of LiteLLM's list, whatever its mode says, and a router's fee is no price", async (t) => {
  const list: JsonObject = {
    'azure/model-router': { litellm_provider: 'azure', mode: 'chat', input_cost_per_token: 1.4e-7, output_cost_per_token: 0 },
    'groq/lyria-9': {
      litellm_provider: 'groq',
      mode: 'chat',
      supported_output_modalities: ['audio'],
      input_cost_per_token: 0,
      output_cost_per_token: 0,
      output_cost_per_image: 0.06,
    },
  }
  const { run, out, written } = scene(t, list, 'providers: { azure: { preset: azure-openai }, groq: { preset: groq } }\n')
  const { out: shown } = await run({ write: out })
  t.same(
    Object.entries(written()).map(([slug, { endpoints }]) => [slug, endpoints[0]?.price]),
    [['azure/model-router', undefined]],
  )
  t.match(shown, /\nLeft out \(1\):\n.*\n {2}lyria-9 +groq +is neither a text nor an embedding model\n/)
})

t.test('files that are no price list, and files of others', async (t) => {
  await every(t, 'each is refused', async (t) => {
    for (const [content, why] of [
      ['no json', /cannot be read: it is not JSON$/],
      ['[]', /has none of the known forms/],
      ['{}', /has none of the known forms/],
      ['{"a":{"price":1}}', /has none of the known forms/],
    ] as const) {
      t.match(await scene(t, content).run(), { code: 1, error: why }, content)
    }
  })
  const { run, out } = scene(t, LITELLM)
  t.match(await run({ from: join(out, '..', 'away.json') }), { code: 1, error: /cannot be read: ENOENT/ })
  writeFileSync(out, '# by hand\nmodels: {}\n')
  t.match(await run({ write: out }), { code: 1, error: /was not written by this command/ })
  t.equal(readFileSync(out, 'utf8'), '# by hand\nmodels: {}\n')
  t.match(await run({ from: undefined as unknown as string }), {
    code: 2,
    error: /expected list, show SLUG, sync PROVIDER or import --from FILE/,
  })
})

t.test('five thousand models take under two seconds, and load', async (t) => {
  const config =
    'providers: { openai: { preset: openai-chat }, fireworks: { preset: fireworks }, deepinfra: { preset: deepinfra }, together: { preset: together } }\n'
  const { run, out } = scene(t, manyModels(5000), config)
  const before = process.cpuUsage()
  const { code, out: shown } = await run({ write: out })
  const { user, system } = process.cpuUsage(before)
  t.equal(code, 0, shown)
  // Of the processor, since tests share the machine.
  t.ok((user + system) / 1e6 < 2, `${(user + system) / 1e6} s`)
  const loaded = loadConfig('x.yaml', {}, { lookOnly: true, text: `${config}catalog: ["${out}"]\n` })
  t.equal(Object.keys(loaded.models).length, 5000)
  t.match(loaded.models['author-49/model-4999']?.endpoints[0]?.price, { prompt: '5.00', cached: '0.0125' })
})

t.test('presets name their providers in the lists once', async (t) => {
  await every(t, 'each preset', async (t) => {
    for (const name of presetNames()) {
      const lists = providerPreset(name).price_lists ?? {}
      t.ok(
        Object.keys(lists).every((key) => ['models_dev', 'litellm', 'plain_names'].includes(key)),
        name,
      )
      t.ok(
        [...(lists.models_dev ?? []), ...(lists.litellm ?? [])].every((each) => /^[a-z0-9_.-]+$/.test(each)),
        name,
      )
    }
  })
})
