/** Differences between a provider's own list and the models that are configured for it. */
import { stringify } from 'yaml'
import type { Config, ModelConfig } from '../config/config.ts'
import type { JsonObject } from '../core/json.ts'
import { listedModels } from '../routing/catalog/discovery.ts'
import { factsOfEntry, type ModelFacts } from '../routing/catalog/server-facts.ts'

export interface ListingDiff {
  readonly provider: string
  /** Models of the provider's list, and names of the provider that the configuration uses. */
  readonly listed: number
  readonly configured: number
  /** Set where a wildcard or `discover` serves whatever the provider has: then nothing of its list is new. */
  readonly wildcard?: string
  /** Listed and not configured. */
  readonly new: readonly ({ readonly model: string; readonly slug: string } & ModelFacts)[]
  /** Configured and no longer listed. */
  readonly gone: readonly { readonly model: string; readonly slugs: readonly string[] }[]
  /** Configured with another context than listed, in tokens. */
  readonly changed: readonly {
    readonly model: string
    readonly slug: string
    readonly configured: number | null
    readonly listed: number
  }[]
}

interface Use {
  readonly slug: string
  readonly context: number | undefined
}

/** A provider may list a model under its dated release alone. */
const RELEASE = /-(20\d{6}|20\d{2}-\d{2}-\d{2}|\d{4})$/

/** @param listing `{ data: [{ id, context_length?, … }] }`. */
export function compareListing(config: Config, provider: string, listing: JsonObject): ListingDiff {
  const listed = listedModels(listing)
  const { used, wildcard } = providerUses(config, provider)
  const undated = new Set([...listed.keys()].map(withoutRelease))
  const fresh = [...listed].filter(([id]) => wildcard === undefined && !used.has(id) && !used.has(withoutRelease(id)))
  const gone = [...used].filter(([model]) => !listed.has(model) && !undated.has(model))
  return {
    provider,
    listed: listed.size,
    configured: used.size,
    ...(wildcard === undefined ? {} : { wildcard }),
    new: fresh.map(([model, entry]) => ({ model, slug: slugFor(provider, model), ...factsOfEntry(entry) })),
    gone: gone.map(([model, uses]) => ({ model, slugs: uses.map(({ slug }) => slug) })),
    changed: [...listed].flatMap(([model, entry]) => changes(model, used.get(model) ?? [], factsOfEntry(entry).context_length)),
  }
}

/** Models that the configuration calls at the provider, by the provider's own names. */
function providerUses({ models, providers }: Config, provider: string): { used: Map<string, Use[]>; wildcard: string | undefined } {
  const used = new Map<string, Use[]>()
  let wildcard = providers.some(({ slug, discover }) => slug === provider && discover) ? 'discover' : undefined
  for (const [slug, model] of Object.entries(models)) {
    for (const endpoint of model.endpoints) {
      if (endpoint.provider !== provider) continue
      if (endpoint.model.includes('*')) wildcard = slug
      else used.set(endpoint.model, [...(used.get(endpoint.model) ?? []), { slug, context: endpoint.context ?? model.context }])
    }
  }
  return { used, wildcard }
}

function changes(model: string, uses: readonly Use[], listed: number | undefined): ListingDiff['changed'][number][] {
  if (listed === undefined) return []
  return uses.flatMap(({ slug, context }) => (context === listed ? [] : [{ model, slug, configured: context ?? null, listed }]))
}

/** Hosts name a model with its author; for a provider that does not, the provider counts as the author. */
function slugFor(provider: string, model: string): string {
  return model.includes('/') ? model : `${provider}/${model}`
}

function withoutRelease(model: string): string {
  return model.replace(RELEASE, '')
}

/** A catalogue file with the models that are new. A model that is there already gets only a comment with its endpoint. */
export function newModelsYaml({ models }: Config, { provider, new: fresh }: ListingDiff): string {
  const known = fresh.filter(({ slug }) => Object.hasOwn(models, slug))
  const unknown = fresh.filter(({ slug }) => !Object.hasOwn(models, slug))
  const head = [
    `# Models that ${provider} lists and the configuration has not. The list names no prices:`,
    '# add them, or a key with a limit cannot use these models.',
    ...known.map(
      ({ slug, model }) =>
        `# ${slug} is there already; its endpoint here would be { provider: ${provider}, model: ${JSON.stringify(model)} }`,
    ),
  ]
  return `${head.join('\n')}\n${stringify({ models: Object.fromEntries(unknown.map((one) => [one.slug, declaration(provider, one)])) })}`
}

function declaration(
  provider: string,
  { model, context_length: context, input_modalities: input, kind, quantization }: ListingDiff['new'][number],
): ModelConfig {
  return {
    ...(kind === undefined || kind === 'generate' ? {} : { kind }),
    ...(context === undefined ? {} : { context }),
    ...(input === undefined ? {} : { input }),
    endpoints: [{ provider, model, ...(quantization === undefined ? {} : { quantization }) }],
  } as ModelConfig
}
