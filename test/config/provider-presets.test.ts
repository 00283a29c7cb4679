// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a file holds variables of its own
/** Provider presets: every file is one that the gateway takes, with a source for each rule, and an entry comes on top of it. */
import t from 'tap'
import { providers } from '../../src/cli/providers.ts'
import type { Environment } from '../../src/config/expand.ts'
import { loadConfig } from '../../src/config/load.ts'
import { presetNames, providerPreset } from '../../src/config/provider-presets.ts'
import { isObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { printed } from '../support/printed.ts'

const names = presetNames()

const load = (entry: string, env: Environment, kind = 'generate') =>
  loadConfig('presets.yaml', env, {
    text: `providers:\n  one: ${entry}\nmodels:\n  acme/one: { kind: ${kind}, endpoints: [ { provider: one, model: m } ] }\n`,
  })

const valueFor = (name: string): string =>
  name.endsWith('_REGION') ? 'us-east-1' : /_(URL|HOST|BASE)$/.test(name) ? 'https://provider.example/v1' : 'value-1'

t.test('every preset is a provider that the gateway takes', async (t) => {
  t.ok(names.length >= 40, `${names.length} presets`)
  await every(t, 'every preset', async (t) => {
    for (const name of names) {
      const { variables, provider } = providerPreset(name)
      const env = Object.fromEntries(Object.keys(variables).map((variable) => [variable, valueFor(variable)]))
      const kind = provider.dialect === 'cohere' || provider.dialect === 'voyage' ? 'embedding' : 'generate'
      t.match(load(`{ preset: ${name} }`, env, kind).providers, [{ slug: 'one', dialect: provider.dialect, name: provider.name }], name)
      const used = [...JSON.stringify(provider).matchAll(/\$\{([A-Z0-9_]+)/g)].map(([, variable]) => variable)
      t.same([...new Set(used)].sort(), Object.keys(variables).sort(), `${name}: its variables are those that it states`)
    }
  })
})

t.test('a preset whose variables are not set is warned of, with each of them', async (t) => {
  await every(t, 'every preset', async (t) => {
    for (const name of names) {
      const { provider } = providerPreset(name)
      const kind = provider.dialect === 'cohere' || provider.dialect === 'voyage' ? 'embedding' : 'generate'
      const needed = [...JSON.stringify(provider).matchAll(/\$\{([A-Z0-9_]+)\?\}/g)].map(([, variable]) => variable)
      const { warnings } = load(`{ preset: ${name} }`, {}, kind)
      if (needed.length === 0) t.same(warnings, [], name)
      else t.match(warnings.join('\n'), `left out, and with it acme/one: its preset needs ${[...new Set(needed)].join(' and ')} in`, name)
    }
  })
  const own = load('{ preset: openai, key: "${OWN_KEY?}" }', {})
  t.match(own.leftOut, ['one (OWN_KEY)'])
  t.notMatch(own.warnings.join(), 'its preset needs', 'the file itself says that it may be missing')
})

t.test('every setting of a preset has its reason and its source', async (t) => {
  await every(t, 'every preset', async (t) => {
    for (const name of names) {
      const { provider, rules, sources, evidence, losses } = providerPreset(name)
      t.match(evidence, /^(recorded|published|unverified)$/, name)
      t.ok(sources.length > 0 && Array.isArray(losses), name)
      t.ok(
        rules.every(({ why, source }) => why.endsWith('.') && source.length > 10),
        `${name}: every rule says why, and from where`,
      )
      const fields = rules.map(({ field }) => field).join(' ')
      const quirks = Object.keys(isObject(provider.quirks) ? provider.quirks : {}).map((quirk) => `quirks.${quirk}`)
      const others = ['auth', 'path', 'query', 'headers'].filter((field) => provider[field] !== undefined)
      t.same(
        [...quirks, ...others].filter((field) => !fields.includes(field)),
        [],
        `${name}: every quirk has a rule`,
      )
    }
  })
})

t.test('an entry comes on top of its preset', async (t) => {
  const env = { MISTRAL_API_KEY: 'sk-of-preset', OWN_KEY: 'sk-own' }
  const [plain] = load('{ preset: mistral }', env).providers
  t.match(plain, { name: 'Mistral', key: 'sk-of-preset', quirks: { tool_ids: 'alphanumeric_9' } })
  const own = '{ preset: mistral, name: EU, key: "${OWN_KEY}", quirks: { tool_images: user, body: { set: { a: 1 }, drop: [x_one] } } }'
  const [changed] = load(own, { OWN_KEY: 'sk-own' }).providers
  t.match(changed, { name: 'EU', key: 'sk-own', quirks: { tool_ids: 'alphanumeric_9', tool_images: 'user' } }, 'its own key is enough')
  const { body } = changed.quirks
  t.match(body, { set: { a: 1 }, rename: { seed: 'random_seed' } })
  t.ok(isObject(body) && Array.isArray(body.drop) && body.drop.includes('logit_bias') && body.drop.includes('x_one'))
})

t.test('a credential comes on top of its preset field by field, and a key takes its place', async (t) => {
  const env = { AWS_REGION: 'eu-west-1', OWN_KEY: 'bedrock-api-key' }
  const one = (entry: string, variables: Environment = env) => load(entry, variables).providers[0]
  const region = { source: 'aws', settings: { region: 'eu-west-1' } }
  t.match(one('{ preset: bedrock }'), { credential: region, baseUrl: 'https://bedrock-runtime.eu-west-1.amazonaws.com' })
  t.same(one('{ preset: bedrock, credential: { aws: {} } }')?.credential, region)
  t.same(one('{ preset: bedrock, credential: { aws: { profile: work } } }')?.credential, {
    source: 'aws',
    settings: { region: 'eu-west-1', profile: 'work' },
  })
  t.match(one('{ preset: bedrock, credential: { file: /run/token } }')?.credential, { source: 'file' })
  t.match(one('{ preset: bedrock, key: "${OWN_KEY}" }'), { key: 'bedrock-api-key', credential: undefined })
  t.match(one('{ preset: bedrock, base_url: "https://proxy.example", credential: { aws: { region: us-east-1 } } }', {}), {
    credential: { settings: { region: 'us-east-1' } },
  })
  const { skipped } = load('{ preset: bedrock, base_url: "https://proxy.example", credential: { aws: {} } }', {})
  t.same(skipped, ['one'], 'without a region it is left out')
})

t.test('a preset whose variable is not set leaves its provider out', async (t) => {
  const { providers: left, skipped } = load('{ preset: groq }', {})
  t.same([left, skipped], [[], ['one']])
})

t.test('a preset that is not there is refused, with the nearest name', async (t) => {
  t.throws(() => load('{ preset: mistrall }', {}), {
    message: 'presets.yaml:2:18: providers.one.preset: there is no preset of this name, did you mean "mistral"?',
  })
})

t.test('an error never quotes a variable of a preset', async (t) => {
  t.throws(() => load('{ preset: vllm, discover: false }', { VLLM_BASE_URL: 'sk-secret-in-the-wrong-place' }), {
    message: /^presets\.yaml:2:\d+: providers\.one\.base_url: expected an http or https URL$/,
  })
})

t.test('headgate providers lists the presets and shows one', async (t) => {
  const run = (...words: string[]) => printed((streams) => providers(words, {}, streams, { MISTRAL_API_KEY: 'sk-secret' }))
  const list = await run()
  t.match(list.out, /mistral +Mistral +openai-chat +recorded +all set\n/)
  t.match(list.out, /groq +Groq +openai-chat +recorded +GROQ_API_KEY\n/)
  const { out } = await run('show', 'mistral')
  t.match(out, /tool_ids: alphanumeric_9/)
  t.match(out, /code 3280/, 'with the rules')
  t.notMatch(out, /sk-secret/)
  t.same(await run('show', 'groqq'), { code: 1, out: '', error: 'headgate: there is no preset groqq, did you mean "groq"?' })
  t.same(await run('show'), { code: 2, out: '', error: 'headgate: providers: expected list or show PRESET' })
})
