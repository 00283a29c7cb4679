/** Guardrails of the file: from what is written to plain data, and the rules that a schema cannot say. */
import type { Static, TSchema } from 'typebox'
import type { JsonObject } from '../core/json.ts'
import { nanoFromUsdNumber } from '../core/money-text.ts'
import type { EngineSettings } from '../guardrails/engine.ts'
import { engine, OF_MODERATION, OF_PRESIDIO } from '../guardrails/settings/engine.ts'
import { ENDPOINTS, PRICE, ZDR_GROUPS } from '../guardrails/settings/fields.ts'
import { type Action, INJECTION_SLUG } from '../guardrails/settings/recognisers.ts'
import { moderationFields } from './fields/moderation.ts'
import type { Path } from './problems.ts'
import type { References } from './references.ts'
import { type Resolved, resolved } from './resolved.ts'
import { guardrail } from './schema/guardrail-filters.ts'
import type { RawConfig } from './schema/root.ts'
import type { Source } from './source.ts'
import { hint } from './suggest.ts'

/** Of the file; those of the store have the same fields, but for scope and engine. */
export type RawGuardrail = Static<typeof guardrail>

export type GuardrailConfig = ReturnType<typeof guardrailConfig>

/** A guardrail of the file or of the store. */
export function guardrailConfig(written: RawGuardrail) {
  const { name, scope, engine, ...settings } = resolved(guardrail, written)
  const { limitUsd: limit, action } = settings
  // `enforce_zdr` stands for the groups that have no field of their own.
  const zdr = ZDR_GROUPS.filter((group) => written[`enforce_zdr_${group}`] ?? written.enforce_zdr)
  return {
    name,
    /** As written, without name, scope, and the address and key of an engine. */
    fields: shownFields(written),
    /** Names of keys; absent: every request. */
    ...(scope === undefined ? {} : { keys: scope.keys }),
    settings,
    ...(engine === undefined ? {} : { engine: engineSettings(engine, action) }),
    /** Groups of authors whose models need zero retention. */
    zdr,
    /** True where it bounds which models and endpoints a request reaches. */
    bounds:
      zdr.length > 0 ||
      BOUNDING.some((field) => written[field] !== undefined && written[field] !== fieldDefault(guardrail.properties[field])),
    /** Nano-dollars for each key, and the window in which they count. */
    ...(limit === undefined ? {} : { budget: { limit: nanoFromUsdNumber(limit) ?? 0, limitReset: settings.resetInterval ?? null } }),
  }
}

const fieldDefault = (field: TSchema): unknown => (field as { default?: unknown }).default

/** Fields that bound the endpoints by themselves: those of zero retention do so together. */
const BOUNDING = (Object.keys({ ...ENDPOINTS, ...PRICE }) as (keyof typeof ENDPOINTS | keyof typeof PRICE)[]).filter(
  (field) => !field.startsWith('enforce_zdr'),
)

function shownFields({ name: _, scope: __, engine: written, ...fields }: RawGuardrail): JsonObject {
  const shown = written === undefined ? fields : { ...fields, engine: { type: written.type, on_error: resolved(engine, written).onError } }
  return shown as JsonObject
}

export function checkGuardrails(raw: RawConfig, main: Source, references: References): void {
  const keys = raw.auth?.keys?.map((key) => key.name) ?? (raw.auth?.issuers || raw.auth?.certificates ? [] : ['dev'])
  const isElsewhere = raw.auth?.keys === undefined && (main.isMisnamed([]) || main.mayHave(['auth'], 'keys'))
  const hasAllKeys = !isElsewhere && !keys.some((_, index) => main.isWrong(['auth', 'keys', index, 'name']))
  const names = new Set<string>()
  for (const [index, guardrail] of (raw.guardrails ?? []).entries()) {
    const at: Path = ['guardrails', index]
    if (names.has(guardrail.name)) main.report([...at, 'name'], 'a second guardrail of this name, expected another')
    names.add(guardrail.name)
    for (const [place, key] of (guardrail.scope?.keys ?? []).entries()) {
      if (hasAllKeys && !keys.includes(key)) main.report([...at, 'scope', 'keys', place], `no such key${hint(key, keys)}`)
    }
    if (guardrail.scope?.keys.length === 0 && !isNamedByRule(guardrail.name, raw) && !main.isWrong(['policies']))
      main.report(
        [...at, 'scope', 'keys'],
        'it would hold for no caller, expected a key, or a policy or a rule of auth.issuers or auth.certificates that names this guardrail',
      )
    main.check(() => checkLists(guardrail, at, { raw, main, references }))
    main.check(() => checkFields(guardrail, at, main))
  }
}

function isNamedByRule(name: string, { auth, policies = [] }: RawConfig): boolean {
  if (policies.some(({ guardrails }) => guardrails?.includes(name))) return true
  const rules = [...(auth?.issuers ?? []), ...(auth?.certificates ? [auth.certificates] : [])].flatMap((each) => each.rules)
  return rules.some(({ guardrails }) => guardrails?.includes(name))
}

interface Place {
  raw: RawConfig
  main: Source
  references: References
}

function checkLists(guardrail: RawGuardrail, at: Path, { raw, main, references }: Place): void {
  for (const list of ['allowed_models', 'ignored_models'] as const) {
    for (const [place, slug] of (guardrail[list] ?? []).entries()) {
      if (!slug.includes('*') && !references.hasModel(slug))
        main.report([...at, list, place], `no such model${hint(slug, Object.keys(raw.models ?? {}))}`)
    }
  }
  for (const list of ['allowed_providers', 'ignored_providers'] as const) {
    for (const [place, entry] of (guardrail[list] ?? []).entries()) {
      const provider = entry.replace(/\/.*$/s, '')
      if (!references.hasProvider(provider)) main.report([...at, list, place], `no such provider${references.nearestProvider(provider)}`)
    }
  }
}

/** Settings that say nothing without another one. */
function checkFields(guardrail: RawGuardrail, at: Path, main: Source): void {
  const { reset_interval: reset, limit_usd: limit, engine, direction, restore } = guardrail
  if (restore === true && direction === 'output')
    main.report([...at, 'restore'], 'only redactions in requests can be restored, expected direction input or both', 'key')
  if (reset !== undefined && limit === undefined && !main.mayHave(at, 'limit_usd'))
    main.report([...at, 'reset_interval'], 'a reset without a limit, expected limit_usd as well', 'key')
  if (limit !== undefined && nanoFromUsdNumber(limit) === undefined) main.report([...at, 'limit_usd'], 'expected at most 9 decimals')
  const builtins = guardrail.content_filter_builtins ?? []
  for (const [place, { slug, scan_scope: scope }] of builtins.entries()) {
    const here = [...at, 'content_filter_builtins', place]
    if (builtins.findIndex((each) => each.slug === slug) !== place)
      main.report([...here, 'slug'], 'this filter is named twice, expected it once')
    if (scope !== undefined && slug !== INJECTION_SLUG && !main.isWrong([...here, 'slug']))
      main.report([...here, 'scan_scope'], 'this is a setting of regex-prompt-injection, expected no such key', 'key')
  }
  const injects = builtins.some(
    ({ slug }, place) => slug === INJECTION_SLUG || main.isWrong([...at, 'content_filter_builtins', place, 'slug']),
  )
  if (guardrail.allowed_phrases !== undefined && !injects && !main.mayHave(at, 'content_filter_builtins'))
    main.report([...at, 'allowed_phrases'], 'needs regex-prompt-injection among the filters', 'key')
  if (engine) checkEngine(engine, [...at, 'engine'], main)
}

type RawEngine = Static<typeof engine>

/** The engine of a guardrail, from what is written to plain data. */
function engineSettings(settings: Resolved<typeof engine>, action: Action): EngineSettings {
  const { type, timeout, onError, url, key } = settings
  const terms = { open: onError === 'open', action }
  if (type !== 'moderation') {
    const { entities, threshold, language } = settings
    return { ...terms, type, url: url ?? '', timeout, language, ...defined({ key, entities, threshold }) }
  }
  const { engine, model, thresholds, ignoredCategories: ignored, lexicon } = settings
  return { ...terms, type, moderation: { engine, timeout, ...defined({ url, key, model, thresholds, ignored, lexicon }) } }
}

function defined<T extends object>(fields: T): Partial<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>
}

/** @param at path of the engine. */
function checkEngine(engine: RawEngine, at: Path, main: Source): void {
  const { type } = engine
  // Which settings belong to it is not known.
  if (main.isWrong([...at, 'type'])) return
  const foreign = (keys: readonly (keyof RawEngine)[], whose: string): void => {
    for (const key of keys)
      if (engine[key] !== undefined) main.report([...at, key], `this is a setting of ${whose}, expected no such key`, 'key')
  }
  if (type !== 'presidio') foreign(OF_PRESIDIO, 'presidio')
  if (type === 'moderation') checkModeration(engine, at, main)
  else {
    foreign(OF_MODERATION, 'moderation')
    if (engine.url === undefined && !main.mayHave(at, 'url')) main.report(at, `${type} without an address, expected url`)
  }
}

function checkModeration(raw: RawEngine, at: Path, main: Source): void {
  const { engine = moderationFields.engine.default } = raw
  if (main.isWrong([...at, 'engine'])) return
  // OpenAI's own endpoint, which is the default address, requires a key.
  const needed = {
    openai: raw.url === undefined && !main.mayHave(at, 'url') ? (['key'] as const) : [],
    classifier: ['url', 'model'],
    lexicon: ['lexicon'],
  } as const
  const useless = { openai: ['lexicon'], classifier: ['lexicon', 'thresholds'], lexicon: ['url', 'key', 'model', 'thresholds'] } as const
  for (const key of needed[engine])
    if (raw[key] === undefined && !main.mayHave(at, key)) main.report(at, `moderation by ${engine} needs ${key}, expected it as well`)
  for (const key of useless[engine])
    if (raw[key] !== undefined) main.report([...at, key], `moderation by ${engine} has no use for it, expected no such key`, 'key')
}
