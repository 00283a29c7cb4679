/** A configuration of headgate as it is made from a file of another gateway. */
import { randomUUID } from 'node:crypto'
import { stringify } from 'yaml'
import { ALIAS, SLUG } from '../../config/fields/scalars.ts'
import { providerPreset } from '../../config/provider-presets.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { isLocalHost } from '../../core/transport.ts'
import { importedKind, NO_TEXT } from './model-kinds.ts'
import { baseUrl, presetFor } from './provider-names.ts'
import { shippedEndpoint } from './shipped-endpoints.ts'

/** As under `providers` of a configuration. */
export type ProviderSettings = JsonObject & { preset?: string; dialect?: string; base_url?: string; key?: string }

/** As under `endpoints` of a model. */
export type EndpointSettings = JsonObject & { provider: string; model: string; price?: JsonObject | 'snapshot' | 'free' }

/** As under `auth.keys`. */
export type KeySettings = JsonObject & { name: string; key: string }

/** Forms in which the six gateways refer to a variable, and what of it is the name. */
const REFERENCES = [/^os\.environ\/(\w+)$/, /^env::(\w+)$/, /^env\.(\w+)$/, /^\$\{?(\w+)\}?$/, /^\{\{\s*env\s*"?(\w+)"?\s*\}\}$/]

/** A password, or a query, which may have a key. */
const hasSecret = (address: string): boolean => /^\w+:\/\/(?:[^/]*@|[^?]*\?)/.test(address)

/** As lists of endpoints name it. */
const endpointTag = ({ provider, variant }: EndpointSettings): string => `${provider}/${String(variant)}`

const NO_KEY = /^(?:none|null|empty|dummy|not[-_ ]?needed|no[-_ ]?key)$/i

/** Servers of the operator's own, by a name without a dot or an address that is no public one (RFC 1918). */
function isOwnServer(address: string): boolean {
  const host = URL.parse(address)?.hostname ?? ''
  return !host.includes('.') || isLocalHost(host) || /^(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\./.test(host)
}

export class ConfigDraft {
  /** Variables that the file needs, and what each is. */
  readonly variables = new Map<string, string>()
  private readonly providers = new Map<string, ProviderSettings>()
  private readonly models = new Map<string, { endpoints: EndpointSettings[] } & JsonObject>()
  private readonly aliases = new Map<string, string>()
  private readonly keys: KeySettings[] = []
  private readonly presets = new Map<string, JsonObject>()
  private readonly settings: JsonObject = {}
  /** Places of endpoints in the order, by their tags. */
  private readonly places = new Map<string, number>()
  /** Places that the file states for endpoints of a model. */
  private readonly wanted = new Map<EndpointSettings, number>()
  /** Remarks on models that are left out. */
  private readonly leftModels: string[] = []
  /** Variables that stand for secrets of the file. */
  private readonly literals = new Map<string, string>()
  /** Stands in the place of the `$` of a reference that was made here: any other one is text of the file. */
  private readonly dollar = randomUUID()

  /** @returns the name of the entry: one that is there already where it is the same. */
  provider(wanted: string, settings: ProviderSettings): string {
    const text = JSON.stringify(settings)
    const base =
      wanted
        .toLowerCase()
        .replaceAll(/[^a-z0-9._-]+/g, '-')
        .replace(/^[^a-z0-9]+/, '') || 'provider'
    for (let number = 1; ; number++) {
      const name = number === 1 ? base : `${base}-${number}`
      const there = this.providers.get(name)
      if (there !== undefined && JSON.stringify(there) !== text) continue
      this.providers.set(name, settings)
      return name
    }
  }

  /** The settings of a provider that another gateway names, with its preset where there is one. */
  providerSettings(name: string, given: { base_url?: string | undefined; key?: string | undefined }): ProviderSettings {
    const preset = presetFor(name)
    const settings: ProviderSettings = preset === undefined ? { dialect: 'openai-chat' } : { preset }
    if (given.base_url !== undefined) {
      settings.base_url = hasSecret(given.base_url)
        ? this.secret(baseUrl(preset, given.base_url), `${name}_base_url`, `Address of ${name}, with its secret`)
        : baseUrl(preset, this.reference(given.base_url))
      // The snapshot knows prices by the provider's own address.
      const own = preset === undefined ? undefined : providerPreset(preset).provider.base_url
      if (typeof own === 'string' && own.startsWith('https://') && !own.includes('$') && !isOwnServer(given.base_url))
        settings.snapshot_url = own
    } else if (preset === undefined)
      settings.base_url = this.variable(
        this.freeName(`${name}_base_url`),
        `Address of ${name}, which is no preset of headgate; its API is taken for OpenAI's`,
      )
    if (given.key !== undefined) settings.key = given.key
    else if (preset !== undefined) this.needPreset(preset, settings)
    return settings
  }

  /** A model is served at one more endpoint. @returns false where its name cannot be one here. */
  endpoint(slug: string, endpoint: EndpointSettings, facts: JsonObject = {}): boolean {
    if (!new RegExp(SLUG).test(slug)) return false
    const kind = importedKind(undefined, endpoint.model)
    if (facts.kind === undefined && kind === 'other') {
      this.leftModels.push(`${slug}: left out, since ${endpoint.model} ${NO_TEXT}`)
      return true
    }
    const stated: JsonObject = kind === 'embedding' ? { kind, ...facts } : facts
    const model = this.models.get(slug) ?? { endpoints: [] }
    const same = model.endpoints.filter(({ provider }) => provider === endpoint.provider).length
    // Two endpoints of one model at one provider differ by a variant.
    const whole = this.withShipped(endpoint, stated)
    const added = same === 0 || endpoint.variant !== undefined ? whole : { ...whole, variant: `copy-${same + 1}` }
    this.models.set(slug, { ...stated, ...model, endpoints: [...model.endpoints, added] })
    return true
  }

  /** With what the shipped catalogue knows of this model at this provider, and the other file does not say. */
  private withShipped(endpoint: EndpointSettings, facts: JsonObject): EndpointSettings {
    const { preset, base_url: address, snapshot_url: hosted } = this.providers.get(endpoint.provider) ?? {}
    const isHosted = address === undefined || hosted !== undefined
    const shipped = preset === undefined || !isHosted ? undefined : shippedEndpoint(preset, endpoint.model)
    if (shipped === undefined) return endpoint
    const isOpen = (name: string): boolean => facts[name] === undefined && (endpoint[name] === undefined || endpoint[name] === 'snapshot')
    return { ...endpoint, ...Object.fromEntries(Object.entries(shipped).filter(([name]) => isOpen(name))) }
  }

  modelEndpoints(slug: string): readonly EndpointSettings[] {
    return this.models.get(slug)?.endpoints ?? []
  }

  /** The endpoints of a model are tried before those that it falls back on. @returns false where one of the models is not there. */
  fallback(slug: string, next: readonly string[]): boolean {
    const others = next.map((name) => this.aliases.get(name) ?? name)
    if (others.length === 0 || ![slug, ...others].every((name) => this.models.has(name))) return false
    this.rank(
      slug,
      [slug, ...others].flatMap((name) => this.modelRanks(name)),
    )
    return true
  }

  /** The endpoint of a model that was added last is tried at this place among the others; one without a place comes last. */
  givePlace(slug: string, place: number): void {
    const endpoint = this.modelEndpoints(slug).at(-1)
    if (endpoint !== undefined) this.wanted.set(endpoint, place)
  }

  /** Puts the endpoints of all models into the places that were stated for them. */
  placeAll(): void {
    for (const [slug, { endpoints }] of this.models) {
      const places = endpoints.map((endpoint) => this.wanted.get(endpoint) ?? Number.POSITIVE_INFINITY)
      const distinct = [...new Set(places)].sort((one, other) => one - other)
      if (distinct.length < 2) continue
      this.rank(
        slug,
        distinct.map((place) => endpoints.filter((_, index) => places[index] === place)),
      )
    }
  }

  /** Endpoints that are tried before others, by the places that they have. */
  private modelRanks(slug: string): EndpointSettings[][] {
    const ranks = new Map<number, EndpointSettings[]>()
    for (const endpoint of this.modelEndpoints(slug)) {
      const rank = this.places.get(endpointTag(endpoint)) ?? 0
      ranks.set(rank, [...(ranks.get(rank) ?? []), endpoint])
    }
    return [...ranks].sort(([one], [other]) => one - other).map(([, endpoints]) => endpoints)
  }

  /** The endpoints of a model are tried in the order in which they were added. */
  inOrder(slug: string): void {
    const endpoints = this.modelEndpoints(slug)
    if (endpoints.length > 1)
      this.rank(
        slug,
        endpoints.map((endpoint) => [endpoint]),
      )
  }

  /**
   * One order holds for all models, so an endpoint says in its variant at which place it stands for this one: two models may have the
   * same providers in another order.
   */
  private rank(slug: string, ranks: readonly (readonly EndpointSettings[])[]): void {
    const ranked = ranks.flatMap((endpoints, rank) =>
      endpoints.map((endpoint, index) => {
        const same = endpoints.slice(0, index).filter(({ provider }) => provider === endpoint.provider).length
        const variant = `place-${rank + 1}${same === 0 ? '' : `-${same + 1}`}`
        this.places.set(`${endpoint.provider}/${variant}`, rank)
        return { ...endpoint, variant }
      }),
    )
    this.models.set(slug, { ...this.models.get(slug), endpoints: ranked })
  }

  /** @returns false where the name cannot be an alias. */
  alias(name: string, model: string): boolean {
    if (!new RegExp(ALIAS).test(name) || this.models.has(name)) return false
    this.aliases.set(name, model)
    return true
  }

  key(settings: KeySettings): void {
    const { name } = settings
    let own = name
    for (let number = 2; this.keys.some((key) => key.name === own); number++) own = `${name}-${number}`
    this.keys.push({ ...settings, name: own })
  }

  /** True where some key may call models. */
  hasCallers(): boolean {
    return this.keys.some(({ management }) => management !== true)
  }

  /** Name of the first key that may call models. */
  caller(): string | undefined {
    return this.keys.find(({ management, disabled }) => management !== true && disabled !== true)?.name
  }

  /** Effects that no single value of the file shows. */
  remarks(): string[] {
    const weighted = [...this.models].filter(([, { endpoints }]) =>
      endpoints.some((endpoint) => endpoint.weight !== undefined && this.places.has(endpointTag(endpoint))),
    )
    const placed = weighted.map(
      ([slug]) =>
        `${slug}: its endpoints have places in provider.order and are tried one after another, so that their weights have no effect. To draw by weight, keep its own endpoints without places, and name the other models in a preset (models)`,
    )
    return [...this.leftModels, ...placed]
  }

  preset(name: string, settings: JsonObject): void {
    this.presets.set(name, settings)
  }

  /** A setting by its place, such as `server.port`. */
  set(path: string, value: JsonObject[string]): void {
    const names = path.split('.')
    let object = this.settings
    for (const name of names.slice(0, -1)) {
      const inner = object[name]
      object = isObject(inner) ? inner : {}
      this.place(names, name, object)
    }
    object[names.at(-1) ?? path] = value
  }

  /** A reference to a variable in the form of this gateway; any other text as it is. */
  reference(text: string, what = ''): string {
    for (const form of REFERENCES) {
      const [, name] = form.exec(text) ?? []
      if (name === undefined) continue
      if (!this.variables.has(name)) this.variables.set(name, what)
      return this.referenceTo(name)
    }
    return text
  }

  /** A secret never stands in the file: it is a reference, or becomes one to a variable that has to be set. */
  secret(text: string, wanted: string, what: string): string {
    const reference = this.reference(text, what)
    if (reference !== text) return reference
    // What clients of servers without keys send.
    if (NO_KEY.test(text)) return 'none'
    const known = this.literals.get(text)
    if (known !== undefined) return this.referenceTo(known)
    const name = this.freeName(wanted)
    this.literals.set(text, name)
    return this.variable(name, `${what}; its value stands in the file`)
  }

  /** A name of its own: the environment may have another value under the usual one. */
  private freeName(wanted: string): string {
    const base = `IMPORTED_${wanted
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, '_')
      .replaceAll(/^_+|_+$/g, '')}`
    let name = base
    for (let number = 2; this.variables.has(name); number++) name = `${base}_${number}`
    return name
  }

  /** A reference to a variable that has to be set. */
  variable(name: string, what: string): string {
    this.variables.set(name, what)
    return this.referenceTo(name)
  }

  private referenceTo(name: string): string {
    return `${this.dollar}{${name}}`
  }

  /** Texts of the file mean what they say: what looks like a variable or a secret of headgate's is none. */
  private written(value: Json | undefined): Json | undefined {
    if (typeof value === 'string') return value.replaceAll('${', () => '$${').replaceAll(this.dollar, () => '$')
    if (Array.isArray(value)) return value.map((each) => this.written(each) ?? null)
    if (!isObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.written(member)]))
  }

  yaml(head: readonly string[]): string {
    const order = [...this.places].sort(([, one], [, other]) => one - other).map(([tag]) => tag)
    if (order.length > 0) this.set('provider.order', order)
    const { provider, ...settings } = this.settings
    // One whose models have no name here serves nothing.
    const used = new Set([...this.models.values()].flatMap(({ endpoints }) => endpoints.map((endpoint) => endpoint.provider)))
    const config = {
      store: { url: 'sqlite:./data/headgate.db' },
      ...settings,
      ...(this.keys.length === 0 ? {} : { auth: { keys: this.keys } }),
      providers: Object.fromEntries([...this.providers].filter(([name]) => used.has(name))),
      models: Object.fromEntries(this.models),
      ...(this.aliases.size === 0 ? {} : { aliases: Object.fromEntries(this.aliases) }),
      ...(this.presets.size === 0 ? {} : { presets: Object.fromEntries(this.presets) }),
      ...(provider === undefined ? {} : { provider }),
    }
    return `${head.map((line) => `# ${line}\n`).join('')}${stringify(this.written(config), { lineWidth: 0, aliasDuplicateObjects: false })}`
  }

  private place(names: readonly string[], name: string, object: JsonObject): void {
    let parent = this.settings
    for (const each of names.slice(0, names.indexOf(name))) parent = parent[each] as JsonObject
    parent[name] = object
  }

  /** A preset that reads its key from a variable needs that variable. */
  private needPreset(preset: string, settings: ProviderSettings): void {
    for (const [name, what] of Object.entries(providerPreset(preset).variables))
      if (!(name.endsWith('_BASE_URL') && settings.base_url !== undefined) && !this.variables.has(name)) this.variables.set(name, what)
  }
}
