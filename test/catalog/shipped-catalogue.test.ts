/** Each file of `config/catalog`: it loads by itself, says where its facts are from and as of when, and prices nothing at zero by mistake. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { buildCatalog } from '../../src/routing/catalog/catalog.ts'
import type { Model } from '../../src/routing/catalog/types.ts'
import { every } from '../support/every.ts'

const FOLDER = fileURLToPath(new URL('../../config/catalog', import.meta.url))
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'))

interface RawFile {
  models: Record<string, { kind?: string; endpoints: { provider: string; price?: Record<string, unknown> | string }[] }>
}

const fileText = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')
const parseFile = (file: string): RawFile => parse(fileText(file)) as RawFile

const SHIPPED = parse(readFileSync(join(FOLDER, '..', 'headgate.yaml'), 'utf8')) as { providers: Record<string, { preset: string }> }

/** A file by itself, in front of whatever providers it names, each with its dialect in the shipped configuration. */
function loaded(file: string): readonly Model[] {
  const models = Object.values(parseFile(file).models)
  const providers = new Set(models.flatMap(({ endpoints }) => endpoints.map(({ provider }) => provider)))
  const yaml = [...providers].map(
    (name) => `  ${name}: { preset: ${SHIPPED.providers[name].preset}, base_url: "https://${name}.example/v1", key: k }\n`,
  )
  return buildCatalog(loadConfig(join(FOLDER, 'alone.yaml'), {}, { text: `catalog: [${file}]\nproviders:\n${yaml.join('')}` })).models
}

t.test('every file loads, and all of its models are there', async (t) => {
  t.ok(FILES.length >= 9, `${FILES.length} files`)
  await every(t, 'every file', async (t) => {
    for (const file of FILES) {
      t.same(
        loaded(file).map(({ slug }) => slug),
        Object.keys(parseFile(file).models),
        file,
      )
    }
  })
})

t.test('every file is dated and names its source', async (t) => {
  await every(t, 'every file', async (t) => {
    for (const file of FILES) {
      const text = fileText(file)
      const [, date = ''] = /^# .+, as of (\d{4}-\d{2}-\d{2})\. Source: [a-z][a-z-]*\.\S+/.exec(text) ?? []
      t.ok(date > '2026-01-01', `${file}: ${date}`)
      t.match(text, /USD per million tokens/, `${file}: the unit`)
      for (const [line] of text.matchAll(/^ +# Source: .*$/gm))
        t.match(line, /# Source: [a-z.-]+\/\S+.*, \d{4}-\d{2}-\d{2}/, `${file}: a source of one model is dated as well`)
    }
  })
})

t.test('no slug and no endpoint comes twice', async (t) => {
  const slugs = FILES.flatMap((file) => loaded(file).map(({ slug }) => slug))
  t.equal(new Set(slugs).size, slugs.length)
  const endpoints = FILES.flatMap((file) =>
    loaded(file).flatMap(({ endpoints }) => endpoints.map(({ provider, upstreamModel }) => `${provider.slug} ${upstreamModel}`)),
  )
  t.equal(new Set(endpoints).size, endpoints.length)
})

/** New in the price lists of autumn 2026 (pip genai-prices 0.2.3, litellm 1.110.2). */
const AUTUMN = [
  'anthropic/claude-fable-5.2',
  'google/gemini-4-argon',
  'minimax/minimax-m3.1-flash',
  'moonshotai/kimi-k3',
  'moonshotai/kimi-k3.1-pro',
  'voyage/voyage-code-4',
  'z-ai/glm-5.3',
  'z-ai/glm-5.3-flash',
]

t.test('models of autumn 2026 are there, with prices', (t) => {
  const models = new Map(FILES.flatMap((file) => loaded(file).map((model) => [model.slug, model])))
  for (const slug of AUTUMN)
    t.ok(
      models.get(slug)?.endpoints.some(({ price }) => typeof price === 'object'),
      slug,
    )
  t.end()
})

t.test('nothing is free by mistake', async (t) => {
  await every(t, 'every file', async (t) => {
    for (const file of FILES) {
      for (const { slug, kind, endpoints } of loaded(file)) {
        for (const { price, id } of endpoints) {
          if (typeof price !== 'object') {
            t.fail(`${id}: ${price}`)
            continue
          }
          const stated = Object.entries(price).filter(
            ([name, rate]) => typeof rate === 'bigint' && !(name === 'completion' && kind === 'embedding'),
          )
          for (const [name, rate] of stated) t.ok(rate > 0n, `${id}: ${name}`)
          if (kind === 'generate') t.ok(price.completion >= price.prompt, `${id}: what it writes costs no less than what it reads`)
          if (price.cached !== undefined) t.ok(price.cached < price.prompt, `${slug}: cached input is cheaper`)
          for (const { rates } of price.overrides ?? [])
            t.ok((rates.prompt ?? 0n) > price.prompt, `${slug}: a long prompt costs more, a peak hour, and a later day`)
        }
      }
    }
  })
})

t.test('every model has its lengths and modalities', async (t) => {
  await every(t, 'every file', async (t) => {
    for (const file of FILES) {
      for (const { slug, name, kind, context, maxOutput, input, output } of loaded(file)) {
        t.ok(context && context >= 1000, `${slug}: context`)
        t.match(name, /^[\w ]+: \S/, slug)
        t.ok(input.includes('text'), slug)
        if (kind === 'embedding') t.same([maxOutput, [...output]], [undefined, ['embeddings']], slug)
        else t.ok(maxOutput && context && maxOutput <= context, `${slug}: output`)
      }
    }
  })
})
