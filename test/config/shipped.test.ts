// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a file holds variables of its own
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Check } from 'typebox/value'
import { parse } from 'yaml'
import { check } from '../../src/cli/check.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'
import { configJsonSchema } from '../../src/config/schema/publish.ts'
import { buildCatalog } from '../../src/routing/catalog/catalog.ts'
import { paths, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const shipped = (name: string): string => join(ROOT, 'config', name)

const UPSTREAM = { OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', GEMINI_API_KEY: 'k', MISTRAL_API_KEY: 'k', DEEPSEEK_API_KEY: 'k' }
const HOSTS = { GROQ_API_KEY: 'k', TOGETHER_API_KEY: 'k', FIREWORKS_API_KEY: 'k', DEEPINFRA_API_KEY: 'k' }
const SIDECAR = { APP_KEY: 'sk-app-0123456789', OPENAI_API_KEY: 'k', BACKUP_API_KEY: 'k' }
const EDGE = { ...UPSTREAM, TEAM_KEY: 'sk-team-0123456789', CI_KEY: 'sk-ci-0123456789', OPS_KEY: 'sk-ops-0123456789' }

const CLUSTER = { ...EDGE, HEADGATE_DATABASE: 'postgres://db/headgate', HEADGATE_REDIS: 'rediss://cache' }

const LEFT_OUT = [
  'openai (OPENAI_API_KEY)',
  'anthropic (ANTHROPIC_API_KEY)',
  'google (GEMINI_API_KEY)',
  'mistral (MISTRAL_API_KEY)',
  'deepseek (DEEPSEEK_API_KEY)',
  'xai (XAI_API_KEY)',
  'qwen (DASHSCOPE_API_KEY)',
  'cohere (COHERE_API_KEY)',
  'voyage (VOYAGE_API_KEY)',
  'groq (GROQ_API_KEY)',
  'together (TOGETHER_API_KEY)',
  'fireworks (FIREWORKS_API_KEY)',
  'deepinfra (DEEPINFRA_API_KEY)',
]

async function run(file: string, env: Record<string, string>): Promise<{ code: number; out: string[]; error: string[] }> {
  const out: string[] = []
  const error: string[] = []
  const code = await check(file, env, { out: (line) => out.push(line), error: (line) => error.push(line) })
  return { code, out, error }
}

t.test('every shipped file passes the check', async (t) => {
  const complete = await run(shipped('headgate.yaml'), UPSTREAM)
  t.equal(complete.code, 0)
  t.match(complete.out[0], /headgate\.yaml: ok, 7 providers, \d\d models, 0 keys$/)
  t.same(await run(shipped('headgate.yaml'), {}), {
    code: 0,
    out: [
      `${shipped('headgate.yaml')}: ok, 2 providers, 7 models, 0 keys`,
      `${shipped('headgate.yaml')}: left out for want of their variables: ${LEFT_OUT.join(', ')}`,
    ],
    error: [],
  })
  t.match((await run(shipped('sidecar.yaml'), SIDECAR)).out, [/ok, 2 providers, 1 model, 1 key$/])
  t.match((await run(shipped('cluster.yaml'), CLUSTER)).out, [/ok, 3 providers, \d\d models, 1 key$/])
  t.match((await run(shipped('edge.yaml'), EDGE)).out, [/ok, 6 providers, \d\d models, 3 keys$/])
  const yaml = readdirSync(shipped('.')).filter((name) => name.endsWith('.yaml'))
  t.same(yaml.sort(), ['cluster.yaml', 'edge.yaml', 'headgate.yaml', 'sidecar.yaml'], 'no file is left unchecked')
})

t.test('a broken file fails the check', async (t) => {
  const { code, out, error } = await run(shipped('sidecar.yaml'), { OPENAI_API_KEY: 'k' })
  t.equal(code, 1)
  t.same(out, [])
  t.match(error.join('\n'), /sidecar\.yaml:\d+:\d+: auth\.keys\[0\]\.key: the environment variable APP_KEY is not set/)
  const missing = await run('/nowhere.yaml', {})
  t.equal(missing.code, 1)
})

t.test('the file of the zero-file start', async (t) => {
  const bare = loadConfig(shipped('headgate.yaml'), {})
  t.equal(bare.developmentKey, true)
  t.same(
    Object.keys(bare.models).filter((slug) => slug.startsWith('sim/')),
    ['sim/echo', 'sim/story', 'sim/tools', 'sim/agent', 'sim/think', 'sim/json', 'sim/embed'],
  )
  const catalog = buildCatalog(bare)
  const local = catalog.providers.get('local')
  t.match([local?.quirks.reasoning_replay, local?.timeouts.firstByte], [/reasoning/, 600_000], 'the port of Ollama has its preset')
  t.equal(catalog.find(bare.defaultModel ?? '')?.model.slug, 'sim/echo')
  t.ok(catalog.models.every((model) => model.endpoints.every((endpoint) => endpoint.price === 'free')))
  t.equal(loadConfig(shipped('headgate.yaml'), { OPENAI_API_KEY: 'k' }).developmentKey, false)
})

t.test('the catalogue names a price, a context and an output for every model', async (t) => {
  const { models } = buildCatalog(loadConfig(shipped('headgate.yaml'), { ...UPSTREAM, ...HOSTS }))
  const real = models.filter((model) => !model.slug.startsWith('sim/') && model.kind === 'generate')
  for (const author of ['openai', 'anthropic', 'google', 'mistralai', 'deepseek', 'meta-llama', 'moonshotai']) {
    t.ok(
      real.some((model) => model.slug.startsWith(`${author}/`)),
      author,
    )
  }
  await every(t, 'every model', async (t) => {
    for (const model of real) {
      t.ok(model.context && model.maxOutput && model.maxOutput <= model.context, `${model.slug}: lengths`)
      for (const { price, id } of model.endpoints) {
        t.ok(typeof price === 'object' && price.prompt > 0n && price.completion >= price.prompt, `${id}: price`)
        if (typeof price === 'object' && price.cached !== undefined) t.ok(price.cached < price.prompt, `${id}: cached input is cheaper`)
      }
    }
  })
})

t.test('every catalogue file is dated and names its source', async (t) => {
  const files = readdirSync(shipped('catalog'))
  t.same(files.sort(), [
    'anthropic.yaml',
    'cohere.yaml',
    'deepseek.yaml',
    'google.yaml',
    'mistral.yaml',
    'open-models.yaml',
    'openai.yaml',
    'qwen.yaml',
    'voyage.yaml',
    'xai.yaml',
  ])
  await every(t, 'every name', async (t) => {
    for (const name of files)
      t.match(readFileSync(join(shipped('catalog'), name), 'utf8'), /^# .+, as of \d{4}-\d{2}-\d{2}\. Source: \S+/, name)
  })
})

t.test('the documented configuration loads', async (t) => {
  const text = paths('docs/configuration.md', 'docs/configuration/*.md').map(read).join('\n')
  const blocks = [...text.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, block]) => block)
  t.ok(blocks.length > 0, 'there is an example')
  const whole = blocks.filter((block) => /^providers:/m.test(block))
  t.ok(whole.length > 0, 'there is a complete one')
  for (const block of whole) loadConfig('docs/configuration.md', EDGE, { text: block })
  const schema = configJsonSchema() as { properties: Record<string, unknown> }
  await every(t, 'every key', async (t) => {
    for (const key of Object.keys(schema.properties)) t.match(text, new RegExp(`^#+ .*\`${key}\``, 'm'), `a heading for ${key}`)
  })
  await every(t, 'every block', async (t) => {
    for (const block of blocks) t.doesNotThrow(() => parse(block))
  })
})

t.test('the published schema', async (t) => {
  const text = JSON.stringify(configJsonSchema())
  for (const ours of ['"expected":', '"scalar":', '"unavailable":', '"secret":true']) t.notOk(text.includes(ours), ours)
  const undescribed: string[] = []
  const walk = (schema: Record<string, unknown>, at: string): void => {
    for (const [name, property] of Object.entries((schema.properties ?? {}) as Record<string, Record<string, unknown>>)) {
      if (typeof property.description !== 'string') undescribed.push(`${at}.${name}`)
      walk(property, `${at}.${name}`)
    }
    const inner = [
      ...Object.values(schema.patternProperties ?? {}),
      ...((schema.anyOf ?? []) as object[]),
      ...(schema.items ? [schema.items] : []),
    ]
    for (const each of inner) walk(each as Record<string, unknown>, at)
  }
  walk(configJsonSchema(), '')
  t.same(undescribed, [], 'every field is described')
})

t.test('editors accept the shipped files, and see what is wrong', async (t) => {
  const schema = configJsonSchema()
  await every(t, 'every name', async (t) => {
    for (const name of ['headgate.yaml', 'sidecar.yaml', 'edge.yaml', 'cluster.yaml']) {
      const data = parse(readFileSync(shipped(name), 'utf8')) as Record<string, unknown>
      t.ok(Check(schema, data), name)
      t.notOk(Check(schema, { ...data, wrong: 1 }), `${name} with an unknown key`)
      t.notOk(Check(schema, { ...data, server: { port: 'x' } }), `${name} with a bad port`)
      t.ok(Check(schema, { ...data, server: { port: '${PORT}' } }), `${name} with a variable for a port`)
    }
  })
})

t.test('the generator finds a file that is out of date', async (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'headgate-generate-'))
  t.teardown(() => rmSync(copy, { recursive: true }))
  for (const part of [
    'bin',
    'scripts',
    'config',
    'src',
    'plugins',
    'docs',
    'examples',
    'web',
    'test/guardrails/corpus',
    'test/documents',
    'test/servers-real',
    'test/fixtures',
    'bench/results',
    'package.json',
    // Their titles stand in llms.txt.
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    '.github',
    'llms.txt',
  ])
    cpSync(join(ROOT, part), join(copy, part), { recursive: true })
  const generate = (...args: string[]) => spawnSync(process.execPath, [join(copy, 'scripts', 'generate.ts'), ...args], { encoding: 'utf8' })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  const file = join(copy, 'config', 'headgate.schema.json')
  const committed = readFileSync(file, 'utf8')
  writeFileSync(file, committed.replace('"title": "headgate"', '"title": "other"'))
  const stale = generate('--check')
  t.equal(stale.status, 1)
  t.equal(stale.stderr, 'config/headgate.schema.json:3: out of date, run `node scripts/generate.ts`\n', 'all others are up to date')
  t.equal(generate().status, 0)
  t.equal(readFileSync(file, 'utf8'), committed)
})

t.test('a config error is one value with all its problems', async (t) => {
  try {
    loadConfig('f.yaml', {}, { text: 'a: 1\nb: 2\n' })
    t.fail('loaded')
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    t.match(error.problems, [
      { file: 'f.yaml', line: 1, column: 1, path: 'a' },
      { file: 'f.yaml', line: 1, column: 1, path: '' },
      { file: 'f.yaml', line: 2, column: 1, path: 'b' },
    ])
  }
})
