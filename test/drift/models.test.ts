/** Each model that the SDKs name is in the shipped catalogue or has one decision, by a reason that holds. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { snapshotPrice } from '../../src/routing/catalog/price-snapshot.ts'
import { DECIDED_MODELS, MODEL_DECISIONS, type ModelDecision } from './models.ts'
import { keptNames } from './read-sdks.ts'
import type { Wire } from './sdks.ts'

/** Providers of the SDKs, by their names in the catalogue, and their addresses, by which the snapshot knows them. */
const PROVIDERS: readonly (readonly [wire: Wire, provider: string, url: string])[] = [
  ['openai-chat', 'openai', 'https://api.openai.com/v1'],
  ['openai-responses', 'openai', 'https://api.openai.com/v1'],
  ['anthropic', 'anthropic', 'https://api.anthropic.com'],
  ['gemini', 'google', 'https://generativelanguage.googleapis.com/v1beta'],
]
const KINDS = Object.keys(MODEL_DECISIONS) as ModelDecision[]
const FOLDER = join(import.meta.dirname, '../../config/catalog')
const DATED = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

interface RawFile {
  models: Record<string, { endpoints: { provider: string; model: string }[] }>
}

/** Names of the models that the shipped catalogue has at a provider. */
function shippedNames(provider: string): Set<string> {
  const files = readdirSync(FOLDER).map((file) => parse(readFileSync(join(FOLDER, file), 'utf8')) as RawFile)
  const endpoints = files.flatMap(({ models }) => Object.values(models).flatMap((model) => model.endpoints))
  return new Set(endpoints.filter((endpoint) => endpoint.provider === provider).map(({ model }) => model))
}

const names = keptNames()

for (const [wire, provider, url] of PROVIDERS)
  t.test(`models that the SDKs of ${wire} name`, async (t) => {
    const shipped = shippedNames(provider)
    const known = names[wire]?.model ?? []
    const decided = DECIDED_MODELS[wire] ?? {}
    const all = KINDS.flatMap((kind) => decided[kind] ?? [])
    const isShipped = (name: string): boolean => shipped.has(name) || shipped.has(name.replace(DATED, ''))
    t.ok(known.length > 20, `${known.length} models`)
    t.same(
      known.filter((name) => !isShipped(name) && !all.includes(name)),
      [],
      'each is in the catalogue or decided',
    )
    t.same(
      all.filter((name, index) => isShipped(name) || all.indexOf(name) !== index),
      [],
      'none is decided twice',
    )
    const priced = (name: string): boolean => snapshotPrice({ url, model: name, embeds: false }) !== undefined
    t.same(
      (decided.older ?? []).filter((name) => !priced(name)),
      [],
      'the snapshot has a price of each older one',
    )
    t.same((decided.unpriced ?? []).filter(priced), [], 'and none of those without one')
    // The models of Chat and of Responses are one list.
    const named = provider === 'openai' ? [...known, ...(names['openai-responses']?.model ?? [])] : known
    t.same(
      all.filter((name) => !named.includes(name)),
      [],
      'no decision is about a model that no SDK names',
    )
  })
