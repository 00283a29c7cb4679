/** Changes of an import: models and endpoints that are new, and figures of the configuration that the list states otherwise. */
import type { Config, EndpointConfig, ModelConfig } from '../../config/config.ts'
import { type ProviderPreset, presetNames, providerPreset } from '../../config/provider-presets.ts'
import { EMBEDDING, GENERATING, QUIRKS } from '../../dialects/quirks.ts'
import { type Compared, compared, type Disagreement } from './compare.ts'
import type { LeftOutModel, ListedModel, PriceList, PriceListForm } from './listed-model.ts'
import { type FigureChange, isWhole, mergeContext, mergeOutputCap, refreshed } from './price-merge.ts'

type Models = Record<string, ModelConfig>

/** An endpoint of the plan. */
export interface PlannedEndpoint {
  readonly slug: string
  readonly provider: string
  readonly model: string
}

export interface ImportPlan {
  /** Endpoints of models that are new, of models that are there already, and with other figures. */
  readonly added: readonly (PlannedEndpoint & { readonly listed: ListedModel; readonly isNewModel: boolean })[]
  readonly changed: readonly (PlannedEndpoint & { readonly changes: readonly FigureChange[] })[]
  /** Configured at the providers in question, and not in the list. */
  readonly missing: readonly PlannedEndpoint[]
  readonly unchanged: number
  /** Endpoints whose price the list does not know: it states 0 for these. */
  readonly unknown: readonly (PlannedEndpoint & { readonly zeros: readonly string[] })[]
  /** That cost nothing, since the list says so. */
  readonly free: readonly PlannedEndpoint[]
  /** Differences between the list and the provider's page or the price snapshot, in what a prompt, a reply or cached input costs. */
  readonly disagreements: readonly (PlannedEndpoint & Disagreement)[]
  /** Entries of the list at the providers in question that are not imported. */
  readonly leftOut: readonly LeftOutModel[]
  /** Entries at providers that the configuration has not, or that are not selected. */
  readonly elsewhere: { readonly models: number; readonly providers: number }
  /** Every model that is new or has changed, as the catalogue file has it. */
  readonly models: Readonly<Models>
}

export interface ImportOptions {
  readonly config: Pick<Config, 'providers' | 'models'>
  /** Names of `config`, or `LIST=NAME` for a provider that the list calls `LIST`. */
  readonly providers?: readonly string[]
  /** Only models whose name at the provider or slug fits; `*` stands for any text. */
  readonly match?: string
  /** A day: what is known of providers' pages counts for a while. */
  readonly today: string
}

type Provider = Config['providers'][number]

interface Target {
  readonly provider: Provider
  readonly plainNames: boolean
}

export function planImport(
  { form, models: listed, leftOut: omitted }: PriceList,
  { config, providers: selected, match, today }: ImportOptions,
): ImportPlan {
  const targets = importTargets(form, config.providers, selected)
  const draft = new Draft(config.models, today)
  const wanted = matcher(match)
  const elsewhere = new Set<string>()
  let others = 0
  for (const model of listed) {
    const target = targets.get(model.provider)
    if (!target) {
      elsewhere.add(model.provider)
      others++
    } else if (serves(target, model)) draft.take(target.provider, model, wanted)
  }
  const leftOut = omitted.filter(
    ({ provider, model }) => provider === undefined || (targets.has(provider) && wanted({ slug: model, model })),
  )
  return { ...draft.result([...targets.values()], wanted), leftOut, elsewhere: { models: others, providers: elsewhere.size } }
}

function serves({ provider: { dialect }, plainNames }: Target, { kind, model }: ListedModel): boolean {
  return (kind === 'embedding' ? EMBEDDING : GENERATING).includes(dialect) && !(plainNames && model.includes('/'))
}

/** By the list's names. @throws Error where a selected provider is not there, or the list's name of it is not known. */
function importTargets(form: PriceListForm, all: readonly Provider[], selected: readonly string[] | undefined): Map<string, Target> {
  const presets = new Map(presetNames().map((name) => [name, providerPreset(name)]))
  const targets = new Map<string, Target>()
  for (const choice of selected ?? all.map(({ slug }) => slug)) {
    const [name = '', listName] = choice.split('=').reverse()
    const provider = all.find(({ slug }) => slug === name)
    if (!provider) throw new Error(`no such provider: ${name}; expected one of: ${all.map(({ slug }) => slug).join(', ')}`)
    const preset = presets.get(provider.preset ?? provider.slug)
    const names = listName === undefined ? listNames(preset, form) : [listName]
    if (selected && names.length === 0) throw new Error(`the list's name of ${name} is not known, expected LIST=${name}`)
    for (const each of names) {
      if (!targets.has(each)) targets.set(each, { provider, plainNames: preset?.price_lists?.plain_names === true })
    }
  }
  return targets
}

function listNames(preset: ProviderPreset | undefined, form: PriceListForm): readonly string[] {
  return preset?.price_lists?.[form] ?? []
}

function matcher(match: string | undefined): (endpoint: Pick<PlannedEndpoint, 'slug' | 'model'>) => boolean {
  if (match === undefined) return () => true
  const pattern = new RegExp(
    `^${match
      .split('*')
      .map((text) => text.replace(/[^\w]/g, '\\$&'))
      .join('.*')}$`,
    'i',
  )
  return ({ slug, model }) => pattern.test(slug) || pattern.test(model)
}

class Draft {
  private readonly models: Models
  /** Slugs and places of endpoints without tier or variant, by provider and the provider's name of the model. */
  private readonly places = new Map<string, { slug: string; index: number }[]>()
  private readonly written = new Set<string>()
  private readonly seen = new Set<string>()
  /** Slugs in lower case, since hosts write one model in various ways. */
  private readonly slugs = new Map<string, string>()
  private readonly added: ImportPlan['added'][number][] = []
  private readonly changed: ImportPlan['changed'][number][] = []
  private readonly unknown: ImportPlan['unknown'][number][] = []
  private readonly free: PlannedEndpoint[] = []
  private unchanged = 0

  private readonly disagreements: ImportPlan['disagreements'][number][] = []
  private readonly today: string

  constructor(models: Readonly<Models>, today: string) {
    this.models = { ...models }
    this.today = today
    for (const [slug, { endpoints }] of Object.entries(models)) {
      this.slugs.set(slug.toLowerCase(), slug)
      for (const [index, { provider, model, tier, variant }] of endpoints.entries()) {
        if (tier !== undefined || variant !== undefined) continue
        const key = modelKey(provider, model)
        this.places.set(key, [...(this.places.get(key) ?? []), { slug, index }])
      }
    }
  }

  take(provider: Provider, stated: ListedModel, wanted: ReturnType<typeof matcher>): void {
    const { listed, disagreement } = compared(provider, stated, this.today)
    const key = modelKey(provider.slug, listed.model)
    if (this.seen.has(key)) return
    this.seen.add(key)
    const places = this.places.get(key)
    if (places) {
      for (const { slug, index } of places) {
        if (!wanted({ slug, model: listed.model })) continue
        this.refresh(slug, index, listed)
        this.note(slug, provider, { listed, disagreement })
      }
      return
    }
    const slug = this.slugFor(provider, listed)
    if (slug === undefined || !wanted({ slug, model: listed.model })) return
    this.add(slug, provider, listed)
    this.note(slug, provider, { listed, disagreement })
  }

  private note(slug: string, { slug: provider }: Provider, { listed: { model, zeros, price }, disagreement }: Compared): void {
    if (disagreement) this.disagreements.push({ slug, provider, model, ...disagreement })
    if (zeros) this.unknown.push({ slug, provider, model, zeros })
    if (price === 'free') this.free.push({ slug, provider, model })
  }

  result(targets: readonly Target[], wanted: ReturnType<typeof matcher>): Omit<ImportPlan, 'elsewhere' | 'leftOut'> {
    const providers = new Set(targets.map(({ provider }) => provider.slug))
    const missing = [...this.places].flatMap(([key, places]) => {
      const { provider, model } = splitKey(key)
      return providers.has(provider) && !this.seen.has(key) && !model.includes('*')
        ? places.map(({ slug }) => ({ slug, provider, model }))
        : []
    })
    const models = Object.fromEntries([...this.written].map((slug) => [slug, this.models[slug] as ModelConfig]))
    const { added, changed, unchanged, unknown, free, disagreements } = this
    return { added, changed, missing: missing.filter(wanted), unchanged, unknown, free, disagreements, models }
  }

  private refresh(slug: string, index: number, listed: ListedModel): void {
    const model = this.models[slug]
    const endpoint = model?.endpoints[index]
    if (!model || !endpoint) return
    const { endpoint: next, changes } = refreshed(model, endpoint, listed)
    const { expiration = model.expiration } = listed
    const all =
      expiration === model.expiration
        ? changes
        : [...changes, { field: 'expiration', from: model.expiration ?? null, to: expiration ?? null }]
    if (all.length === 0) this.unchanged++
    else {
      this.models[slug] = { ...model, ...(expiration === undefined ? {} : { expiration }), endpoints: model.endpoints.with(index, next) }
      this.written.add(slug)
      this.changed.push({ slug, provider: endpoint.provider, model: endpoint.model, changes: all })
    }
  }

  private add(slug: string, provider: Provider, listed: ListedModel): void {
    const known = this.models[slug]
    this.models[slug] = known ? withEndpoint(known, provider, listed) : newModel(provider, listed)
    this.slugs.set(slug.toLowerCase(), slug)
    this.written.add(slug)
    this.added.push({ slug, provider: provider.slug, model: listed.model, listed, isNewModel: known === undefined })
  }

  /** Hosts name a model with its author; for a provider that does not, the provider counts as the author. */
  private slugFor(provider: Provider, listed: ListedModel): string | undefined {
    const { model } = listed
    const path = model
      .replace(/[^\w.+/:-]+/g, '-')
      .split('/')
      .filter((part) => part.replace(/^[-.:+]+/, '') !== '')
    const own = `${provider.slug}/${path.join('-')}`
    const shared = path.length === 2 ? path.join('/') : own
    const known = [shared, own].map((each) => this.slugs.get(each.toLowerCase()) ?? each)
    return known.find((slug) => SLUG.test(slug) && fits(this.models[slug], provider, listed))
  }
}

/** True if a model can have this endpoint: it is of the same kind, new at the provider, and takes the kinds of input that its entry states. */
function fits(model: ModelConfig | undefined, { slug }: Provider, { kind, input = ['text'] }: ListedModel): boolean {
  if (!model) return true
  const { input: reads = [] } = model
  if ((model.kind ?? 'generate') !== kind || model.endpoints.some(({ provider }) => provider === slug)) return false
  return reads.every((modality) => input.includes(modality))
}

/** As the configuration has it, without a wildcard. */
const SLUG = /^\w[\w.-]*(\/[\w.+-]+)+(:[\w.+-]+)*$/

const modelKey = (provider: string, model: string): string => `${provider} ${model}`
const splitKey = (key: string): { provider: string; model: string } => ({
  provider: key.slice(0, key.indexOf(' ')),
  model: key.slice(key.indexOf(' ') + 1),
})

function newModel(provider: Provider, listed: ListedModel): ModelConfig {
  const { name, created, expiration, kind, input, output } = listed
  const context = mergeContext(undefined, listed)
  const maxOutput = mergeOutputCap(listed, context)
  return {
    ...(name === undefined ? {} : { name }),
    ...(created === undefined ? {} : { created }),
    ...(expiration === undefined ? {} : { expiration }),
    ...(kind === 'embedding' ? { kind } : {}),
    ...(context === undefined ? {} : { context }),
    ...(maxOutput === undefined ? {} : { max_output: maxOutput }),
    ...(input === undefined ? {} : { input: [...input] }),
    ...(output === undefined ? {} : { output: [...output] }),
    endpoints: [newEndpoint(provider, listed)],
  }
}

function withEndpoint(model: ModelConfig, provider: Provider, listed: ListedModel): ModelConfig {
  const context = mergeContext(model.context, listed)
  const maxOutput = mergeOutputCap(listed, context ?? model.context)
  const endpoint = {
    ...newEndpoint(provider, listed),
    ...(context === undefined || context === model.context ? {} : { context }),
    ...(maxOutput === undefined || maxOutput === model.max_output ? {} : { max_output: maxOutput }),
  }
  return { ...model, endpoints: [...model.endpoints, endpoint] }
}

function newEndpoint(provider: Provider, { model, kind, price: listed, efforts, effortOnly }: ListedModel): EndpointConfig {
  const price = isWhole(listed, kind) ? listed : undefined
  const table = QUIRKS.get(provider.dialect)
  const [, byEffort] = (table?.thinking as { enum?: readonly string[] } | undefined)?.enum ?? []
  const quirks = {
    ...(efforts && table?.efforts ? { efforts } : {}),
    ...(effortOnly && byEffort !== undefined && table?.efforts ? { thinking: byEffort } : {}),
  }
  return {
    provider: provider.slug,
    model,
    ...(price === undefined ? {} : { price }),
    ...(Object.keys(quirks).length === 0 ? {} : { quirks }),
  } as EndpointConfig
}
