/** Rules that a schema cannot state: references between parts of the file. */
import { isObject } from '../core/json.ts'
import { postgresTransport, redisProblem } from '../core/transport.ts'
import { EMBEDDING, GENERATING } from '../dialects/quirks.ts'
import { SUBJECT_TOKEN_SOURCES } from '../services/credentials/sources/identity-tokens/index.ts'
import { CREDENTIAL_SOURCES } from '../services/credentials/sources/index.ts'
import { AGENTS, agentAliases } from './agents/index.ts'
import { checkSinks } from './audit.ts'
import { checkBudgets } from './budgets.ts'
import { checkExports } from './exports.ts'
import { PER_MILLION_EXPECTED } from './fields/scalars.ts'
import { checkGuardrails } from './guardrails.ts'
import { checkCertificates, checkIssuers } from './issuers.ts'
import { checkKeyReferences, checkKeys, checkPreferences } from './key-rules.ts'
import { checkListenerTls } from './listener-tls.ts'
import { checkPlugins } from './plugins.ts'
import { checkPolicies } from './policies.ts'
import type { Path } from './problems.ts'
import { checkConnection } from './provider-connections.ts'
import { checkQuirks } from './quirk-rules.ts'
import { lacksModels, type ModelFile, type ModelFiles, References } from './references.ts'
import type { RawConfig, RawModels, RawProvider } from './schema/root.ts'
import { checkScim } from './scim.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'
import { milliseconds } from './units.ts'

/**
 * Reports every broken reference. `files` begins with the file itself; catalogue files follow.
 * @param lookOnly true where nothing is going to be served: providers then need no use.
 */
export function checkRules(raw: RawConfig, main: Source, files: ModelFiles, lookOnly = false): void {
  const references = new References(raw, main, files)
  const { slugs } = references
  checkModels(raw, files, references)
  main.check(() => checkProviders(raw, main, lookOnly ? undefined : files))
  main.check(() => checkKeys(raw, main))
  main.check(() => checkBudgets(raw, main))
  main.check(() => checkServer(raw, main))
  main.check(() => checkListenerTls(raw, main))
  main.check(() => checkStore(raw, main))
  main.check(() => checkExports(raw, main))
  main.check(() => checkSinks(raw, main))
  main.check(() => checkScim(raw, main))
  main.check(() => checkEvents(raw, main))
  main.check(() => checkGuardrails(raw, main, references))
  main.check(() => checkPolicies(raw, main, references))
  main.check(() => checkPlugins(raw, main))
  main.check(() => checkAliases(raw, main, references))
  main.check(() => {
    if (raw.default_model !== undefined && !references.resolves(raw.default_model))
      main.report(['default_model'], `no such model${hint(raw.default_model, [...slugs, ...Object.keys(raw.aliases ?? {})])}`)
  })
  main.check(() => checkPreferences(raw.provider, ['provider'], references, main))
  main.check(() => checkPresets(raw, main, references))
  main.check(() => checkKeyReferences(raw, main, references))
  main.check(() => checkIssuers(raw, main, references))
  main.check(() => checkCertificates(raw, main, references))
}

/** A PROXY header is believed from trusted proxies only: any other caller could name any address in it. */
function checkServer({ server }: RawConfig, main: Source): void {
  if (server?.proxy_protocol === true && (server.trusted_proxies ?? []).length === 0 && !main.mayHave(['server'], 'trusted_proxies'))
    main.report(['server', 'proxy_protocol'], 'expected server.trusted_proxies as well, whose connections begin with the header')
}

/** Windows of a month and the activity of 30 days are read from rows that are still there. */
const MIN_RETENTION_MS = 32 * 24 * 3_600_000

function checkStore({ store, shared, audit }: RawConfig, main: Source): void {
  const transport = store?.url?.startsWith('postgres') ? postgresTransport(store.url) : undefined
  if (typeof transport === 'string') main.report(['store', 'url'], transport)
  const problem = shared?.url === undefined ? undefined : redisProblem(shared.url, shared.tls === 'off')
  if (problem !== undefined) main.report(['shared', 'url'], problem)
  for (const [name, section] of Object.entries({ store, audit }))
    if (section?.retention !== undefined && milliseconds(section.retention) < MIN_RETENTION_MS)
      main.report([name, 'retention'], 'expected at least 32d')
}

/** A budget counts a month at most: the event that a share of it was reached must stay as long, or it would come again. */
function checkEvents({ events }: RawConfig, main: Source): void {
  if (events?.retention !== undefined && milliseconds(events.retention) < MIN_RETENTION_MS)
    main.report(['events', 'retention'], 'expected at least 32d')
  const names = new Set<string>()
  for (const [index, { name }] of (events?.receivers ?? []).entries()) {
    if (names.has(name)) main.report(['events', 'receivers', index, 'name'], 'another receiver has this name')
    names.add(name)
  }
}

function checkModels(raw: RawConfig, files: ModelFiles, references: References): void {
  const slugs = new Set<string>()
  const own = new Set(Object.keys(files[0].models))
  for (const [index, { source, models }] of files.entries()) {
    for (const [slug, model] of Object.entries(models)) {
      const at = ['models', slug]
      if (index > 0 && slugs.has(slug) && !own.has(slug))
        source.report(at, 'this model is in another catalogue file as well, expected it once', 'key')
      slugs.add(slug)
      if (slug.includes('*') && !/^[^*]+\/\*$/.test(slug))
        source.report(at, 'a wildcard stands for the whole name, expected author/*', 'key')
      if (slug.startsWith('~')) source.report(at, 'expected author/name; a slug with ~ can only be an alias', 'key')
      source.check(() => checkEndpoints(model, slug, references, source))
      source.check(() => checkKind(model, slug, raw, source))
    }
  }
}

function checkEndpoints(model: RawModels[string], slug: string, references: References, source: Source): void {
  const at = ['models', slug]
  const seen = new Set<string>()
  const { context, max_output: output, default_max_output: assumed } = model
  if (context !== undefined && output !== undefined && output > context) {
    source.report([...at, 'max_output'], `expected at most the context of ${context}`)
  }
  if (assumed !== undefined && output !== undefined && assumed > output) {
    source.report([...at, 'default_max_output'], `expected at most the max_output of ${output}`)
  }
  for (const [index, endpoint] of model.endpoints.entries()) {
    const place = [...at, 'endpoints', index]
    if (!references.hasProvider(endpoint.provider))
      source.report([...place, 'provider'], `no such provider${references.nearestProvider(endpoint.provider)}`)
    const stars = endpoint.model.split('*').length - 1
    if (stars > 0 && !slug.endsWith('/*'))
      source.report([...place, 'model'], "a * in the model of a slug without one, expected the provider's own name")
    if (slug.endsWith('/*') && stars !== 1) source.report([...place, 'model'], 'expected one * for the tail of the slug')
    if (endpoint.variant !== undefined && endpoint.tier !== undefined)
      source.report([...place, 'tier'], 'expected either a variant or a tier')
    if (['provider', 'variant', 'tier'].some((key) => source.mayHave(place, key))) continue
    const identity = `${endpoint.provider}/${endpoint.variant ?? endpoint.tier ?? ''}`
    if (seen.has(identity))
      source.report(place, 'a second endpoint of this model at this provider, expected a variant by which they differ')
    seen.add(identity)
  }
  for (const [index, endpoint] of model.endpoints.entries())
    checkOverrides(endpoint, [...at, 'endpoints', index, 'price', 'overrides'], source)
}

const CONDITIONS = ['min_prompt_tokens', 'utc_start', 'utc_end', 'days', 'from'] as const
const PRICES = ['prompt', 'completion']

/** Each entry has a condition and a price; a time of day has a beginning and another end. */
function checkOverrides({ price }: RawModels[string]['endpoints'][number], at: Path, source: Source): void {
  if (typeof price !== 'object') return
  for (const [index, override] of (price.overrides ?? []).entries()) {
    const { min_prompt_tokens: _, utc_start: start, utc_end: end, days, not_on: exceptions, from: __, ...prices } = override
    const entry = [...at, index]
    const may = (key: string): boolean => source.mayHave(entry, key)
    if (CONDITIONS.every((name) => override[name] === undefined) && !CONDITIONS.some(may))
      source.report(entry, 'an override without a condition, expected min_prompt_tokens, from, days, or utc_start and utc_end')
    if (exceptions !== undefined && days === undefined && start === undefined && !may('days') && !may('utc_start'))
      source.report([...entry, 'not_on'], 'expected days, or utc_start and utc_end, as well', 'key')
    if (Object.keys(prices).length === 0 && !PRICES.some(may))
      source.report(entry, 'an override without a price, expected one such as prompt')
    if (start !== undefined && end === undefined && !may('utc_end'))
      source.report([...entry, 'utc_start'], 'expected utc_end as well', 'key')
    if (end !== undefined && start === undefined && !may('utc_start'))
      source.report([...entry, 'utc_end'], 'expected utc_start as well', 'key')
    if (start !== undefined && start === end) source.report([...entry, 'utc_end'], 'expected another time than utc_start')
  }
}

/** @param files absent where providers need no use. */
function checkProviders(raw: RawConfig, main: Source, files: readonly ModelFile[] | undefined): void {
  // An endpoint that cannot be read may be the one that uses a provider.
  const used =
    !files || lacksModels(raw, main) || files.some(hasUnknownProvider)
      ? undefined
      : new Set(
          files.flatMap(({ models }) => Object.values(models).flatMap((model) => model.endpoints.map((endpoint) => endpoint.provider))),
        )
  for (const [slug, provider] of Object.entries(raw.providers)) {
    const at = ['providers', slug]
    main.check(() => {
      const opens = ['discover', 'pass_through'].some((key) => main.mayHave(at, key))
      if (used && !used.has(slug) && !provider.discover && !provider.pass_through && !opens)
        main.report(at, 'this provider is not used, expected a model with an endpoint there, `discover: true` or `pass_through`', 'key')
      if (!main.isSkipped(at)) checkProvider(provider, at, main)
    })
  }
}

function hasUnknownProvider({ source, models }: ModelFile): boolean {
  if (source.unreadable || source.isWrong(['models']) || source.isMisnamed(['models'])) return true
  return Object.entries(models).some(([slug, { endpoints }]) => {
    const at = ['models', slug, 'endpoints']
    return source.isWrong(at) || endpoints.some((_, index) => source.isWrong([...at, index, 'provider']))
  })
}

function checkProvider(provider: RawConfig['providers'][string], at: Path, main: Source): void {
  const local = provider.dialect === 'sim'
  const remote = !local && !main.isWrong([...at, 'dialect'])
  if (remote && provider.base_url === undefined)
    main.reportMissing(at, 'base_url', `"base_url" is missing, expected the address of the provider`)
  if (remote && provider.faults) main.report([...at, 'faults'], 'faults are for the dialect sim, expected none here', 'key')
  for (const key of ['base_url', 'key', 'keys', 'credential', 'discover', 'pass_through', 'headers'] as const) {
    if (local && provider[key] !== undefined) main.report([...at, key], 'the dialect sim makes no calls, expected no such key', 'key')
  }
  if (!main.isWrong([...at, 'dialect'])) {
    checkOffer(provider, at, main)
    checkQuirks(provider, provider.dialect, at, main)
  }
  for (const name of Object.keys(provider.headers ?? {})) {
    if (HOP_BY_HOP.has(name.toLowerCase()))
      main.report([...at, 'headers', name], 'this header belongs to the connection, expected another', 'key')
  }
  checkProviderKeys(provider, at, main)
  checkCredential(provider, at, main)
  checkConnection(provider, at, main)
  const { first_byte: first, total } = provider.timeouts ?? {}
  if (first !== undefined && total !== undefined && milliseconds(first) > milliseconds(total)) {
    main.report([...at, 'timeouts', 'first_byte'], `expected at most the total of ${total}`)
  }
}

/** A provider has a key, several keys or a credential. */
function checkProviderKeys({ key, keys, credential }: RawProvider, at: Path, main: Source): void {
  const names = new Set(keys?.map(({ name }, index) => name ?? String(index + 1)))
  if (keys && names.size < keys.length) main.report([...at, 'keys'], 'two keys of one name, expected another')
  if (keys && key !== undefined) main.report([...at, 'keys'], 'keys beside a key, expected one of them', 'key')
  if (credential && (key !== undefined || keys))
    main.report([...at, 'credential'], 'a credential beside a key, expected one of them', 'key')
}

/** A credential has one source, and its header no other value. */
function checkCredential({ credential, auth, headers = {}, pass_through: opens }: RawProvider, at: Path, main: Source): void {
  if (!credential) return
  const place = [...at, 'credential']
  checkSources(Object.keys(credential), place, main)
  checkIdentityTokens(credential, place, main)
  const signing = CREDENTIAL_SOURCES.find(({ name, signsBody }) => signsBody === true && Object.hasOwn(credential, name))
  if (opens && signing)
    main.report(
      [...at, 'pass_through'],
      `the credential ${signing.name} signs whole bodies, and the pass-through streams them: expected no such key`,
      'key',
    )
  const taken = ['authorization', 'x-api-key', ...(auth ? [auth.header.toLowerCase()] : [])]
  for (const name of Object.keys(headers)) {
    if (taken.includes(name.toLowerCase()))
      main.report([...at, 'headers', name], 'the credential is sent in this header, expected another', 'key')
  }
}

function checkSources(keys: readonly string[], place: Path, main: Source): void {
  const named = keys.filter((name) => name !== 'refresh')
  if (named.length === 1 || main.isMisnamed(place) || SOURCES.some((name) => main.isWrong([...place, name]))) return
  main.report(place, `expected one of these keys: ${SOURCES.join(', ')}`, 'key')
}

const SOURCES = CREDENTIAL_SOURCES.map(({ name }) => name)

/** An identity token has one source as well. */
function checkIdentityTokens(credential: object, place: Path, main: Source): void {
  for (const [name, settings] of Object.entries(credential)) {
    const at = [...place, name, 'identity_token']
    const written = isObject(settings) ? settings.identity_token : undefined
    if (!isObject(written) || main.isMisnamed(at) || SUBJECT_TOKENS.some((source) => main.isWrong([...at, source]))) continue
    if (Object.keys(written).length !== 1) main.report(at, `expected one of these keys: ${SUBJECT_TOKENS.join(', ')}`, 'key')
  }
}

const SUBJECT_TOKENS = SUBJECT_TOKEN_SOURCES.map(({ name }) => name)

/** An endpoint's settings are on top of its provider's, or a source of their own. */
function checkEndpointCredential(credential: object, provider: RawProvider | undefined, place: Path, main: Source): void {
  checkSources(Object.keys(credential), place, main)
  checkIdentityTokens(credential, place, main)
  for (const { name, settings } of CREDENTIAL_SOURCES) {
    if (!Object.hasOwn(credential, name) || !('required' in settings)) continue
    const own = { ...(provider?.credential as Record<string, object> | undefined)?.[name], ...(credential as Record<string, object>)[name] }
    for (const field of settings.required as string[])
      if (!Object.hasOwn(own, field)) main.reportMissing([...place, name], field, `"${field}" is missing here and at the provider`)
  }
  if (provider?.key !== undefined) main.report(place, 'the provider has a key, expected a provider with a credential', 'key')
  if (provider?.dialect === 'sim') main.report(place, 'the dialect sim makes no calls, expected no such key', 'key')
}

/** RFC 9110 section 7.6.1, and what framing or addressing is made of. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'host',
  'content-length',
  'content-type',
])

/** A role that an agent has no model for would be without effect. */
function checkAgents({ agents = {} }: RawConfig, main: Source): void {
  for (const { name, names } of AGENTS)
    for (const role of Object.keys(agents[name] ?? {}))
      if (!Object.hasOwn(names, role))
        main.report(['agents', name, role], `this agent has no such model, expected one of: ${Object.keys(names).join(', ')}`, 'key')
}

function checkAliases(raw: RawConfig, main: Source, references: References): void {
  const aliases = raw.aliases ?? {}
  checkAgents(raw, main)
  const made = new Map(agentAliases(raw.agents).map((each) => [each.alias, each]))
  for (const [alias, target] of Object.entries(aliases)) {
    const by = made.get(alias)
    const at = by?.target === target ? ['agents', by.agent, by.role] : ['aliases', alias]
    if (alias.includes('*')) main.report(at, 'expected a slug without *', 'key')
    if (raw.models && Object.hasOwn(raw.models, alias)) main.report(at, 'a model has this slug, expected another', 'key')
    if (target.includes('*')) main.report(at, 'expected a slug without *')
    else if (isCircular(alias, aliases)) main.report(at, 'this alias leads back to itself, expected a model')
    else if (!references.resolves(target)) main.report(at, `no such model${hint(target, Object.keys(raw.models ?? {}))}`)
  }
}

function checkPresets(raw: RawConfig, main: Source, references: References): void {
  const slugs = [...Object.keys(raw.models ?? {}), ...Object.keys(raw.aliases ?? {})]
  for (const [name, preset] of Object.entries(raw.presets ?? {})) {
    const at: Path = ['presets', name]
    const checkModel = (slug: string, path: Path): void => {
      if (slug.includes('*')) main.report(path, 'expected a slug without *')
      else if (!references.resolves(slug)) main.report(path, `no such model${hint(slug, slugs)}`)
    }
    main.check(() => {
      const { model, models, provider, parameters } = preset
      if (model !== undefined) checkModel(model, [...at, 'model'])
      for (const [index, slug] of (models ?? []).entries()) checkModel(slug, [...at, 'models', index])
      checkPreferences(provider, [...at, 'provider'], references, main)
      const { effort, enabled } = parameters?.reasoning ?? {}
      if (enabled === false && effort !== undefined && effort !== 'none')
        main.report([...at, 'parameters', 'reasoning', 'enabled'], 'contradicts the effort, expected true or nothing')
    })
  }
}

function isCircular(alias: string, aliases: Readonly<Record<string, string>>): boolean {
  const seen = new Set<string>()
  for (let at: string | undefined = alias; at !== undefined; at = Object.hasOwn(aliases, at) ? aliases[at] : undefined) {
    if (seen.has(at)) return true
    seen.add(at)
  }
  return false
}

/**
 * Demands of the kinds of model on their entries, and the formats that serve one kind only of their providers.
 * What a model's kind requires of its prices, of its other settings and of the formats of its providers.
 */
function checkKind(model: RawModels[string], slug: string, raw: RawConfig, source: Source): void {
  const at = ['models', slug]
  if (source.isWrong([...at, 'kind'])) return
  const { kind = 'generate', endpoints } = model
  const embeds = kind === 'embedding'
  const formats: readonly string[] = embeds ? EMBEDDING : GENERATING
  if (!embeds && model.long_input !== undefined)
    source.report([...at, 'long_input'], 'this is a setting of embeddings, expected `kind: embedding`', 'key')
  const writes = model.output?.includes('embeddings')
  if (!embeds && writes) source.report([...at, 'output'], 'this is the output of embeddings, expected `kind: embedding`')
  if (embeds && writes === false) source.report([...at, 'output'], 'the kind embedding writes embeddings, expected [ embeddings ]')
  for (const name of ['max_output', 'default_max_output'] as const) {
    if (embeds && model[name] !== undefined) source.report([...at, name], 'embeddings have no output tokens, expected no such key', 'key')
  }
  for (const [index, endpoint] of endpoints.entries()) {
    const place = [...at, 'endpoints', index]
    const dialect = Object.hasOwn(raw.providers, endpoint.provider) ? raw.providers[endpoint.provider]?.dialect : undefined
    const known = [...EMBEDDING, ...GENERATING].some((name) => name === dialect)
    if (known && !formats.includes(dialect ?? ''))
      source.report(
        [...place, 'provider'],
        `the dialect ${dialect} ${embeds ? 'gives no embeddings' : 'gives embeddings only'}, expected one of ${formats.join(', ')}`,
      )
    checkQuirks(endpoint, dialect, place, source)
    if (endpoint.credential)
      checkEndpointCredential(endpoint.credential, raw.providers[endpoint.provider], [...place, 'credential'], source)
    const { price } = endpoint
    if (typeof price !== 'object') continue
    if (!embeds && price.completion === undefined)
      source.reportMissing([...place, 'price'], 'completion', `"completion" is missing, expected ${PER_MILLION_EXPECTED}`)
    if (embeds && price.completion !== undefined && Number(price.completion) > 0)
      source.report([...place, 'price', 'completion'], 'embeddings have no output tokens, expected no such price', 'key')
  }
}

/** A format of embeddings alone has no list of models, and no other operation to pass to. */
function checkOffer(provider: RawProvider, at: Path, main: Source): void {
  const { dialect } = provider
  if ((GENERATING as readonly string[]).includes(dialect)) return
  for (const key of ['discover', 'pass_through'] as const) {
    if (provider[key]) main.report([...at, key], `the dialect ${dialect} gives embeddings only, expected no such key`, 'key')
  }
}
