/** From what the file or the store says of guardrails to what the chain holds: one model, whichever of the two it is from. */

import type { KnownNames } from '../api/guardrail-body.ts'
import type { Config } from '../config/config.ts'
import type { GuardrailConfig } from '../config/guardrails.ts'
import { guardrailConfig, type RawGuardrail } from '../config/guardrails.ts'
import { Fault } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { personName } from '../core/levels.ts'
import { arePrepared, compileRules, externalEngine, type GuardrailName, preparePatterns } from '../guardrails/index.ts'
import type { GuardrailSetting } from '../pipeline/guard/guardrail-setting.ts'
import type { Catalog } from '../routing/catalog/catalog.ts'
import type { GuardrailSnapshot, StoredGuardrail } from '../store/guardrails.ts'

export function fileGuardrails({ guardrails }: Pick<Config, 'guardrails'>): GuardrailSetting[] {
  return guardrails.map((guardrail, i) => {
    const { name, keys, settings } = guardrail
    const who: GuardrailName = { id: name, name, scope: keys ? 'api-key' : 'account', full: settings.audit === 'full' }
    return compileSetting(who, guardrail, { keys: keys ? new Set(keys) : undefined, path: `guardrails[${i}]` })
  })
}

interface Kept {
  readonly version: number
  readonly setting: GuardrailSetting
}

/** Compiles what is stored; what has not changed since is compiled once. */
export class StoredSettings {
  private kept = new Map<string, Kept>()

  /**
   * Compiles the patterns of those that have changed and are assigned, so that `of` has none to compile.
   * @returns undefined where there is nothing to do, so that a change is in force at once in the process that has tried it out.
   */
  prepare({ guardrails, assignments }: GuardrailSnapshot): Promise<void> | undefined {
    const held = new Set(assignments.map(({ guardrail }) => guardrail))
    const changed = guardrails.filter(({ id, version }) => held.has(id) && this.kept.get(id)?.version !== version)
    const missing = changed.map(guardrailPatterns).filter((patterns) => !arePrepared(patterns))
    return missing.length === 0 ? undefined : prepareAll(missing)
  }

  /** Those that are assigned. @throws Fault for one that this program cannot put in force. */
  of({ guardrails, assignments }: GuardrailSnapshot): GuardrailSetting[] {
    const subjects = {
      key: new Map<string, Set<string>>(),
      workspace: new Map<string, Set<string>>(),
      member: new Map<string, Set<string>>(),
    }
    for (const { kind, subject, guardrail } of assignments) {
      const named = subjects[kind].get(guardrail) ?? new Set()
      subjects[kind].set(guardrail, named.add(kind === 'member' ? personName(subject) : subject))
    }
    const kept = new Map<string, Kept>()
    const settings: GuardrailSetting[] = []
    for (const guardrail of guardrails) {
      const { id, version } = guardrail
      const [identities, levels, users] = [subjects.key.get(id), subjects.workspace.get(id), subjects.member.get(id)]
      if (!identities && !levels && !users) continue
      const scope = levels ? 'account' : 'api-key'
      const before = this.kept.get(id)
      const same = before?.version === version && before.setting.scope === scope
      const setting = same ? before.setting : storedSetting(guardrail, scope)
      kept.set(id, { version, setting })
      settings.push({ ...setting, identities, levels, users })
    }
    this.kept = kept
    return settings
  }
}

/** One that cannot be compiled is reported where it is put in force. */
async function prepareAll(lists: readonly (readonly string[])[]): Promise<void> {
  for (const patterns of lists) await preparePatterns(patterns)
}

/**
 * Says whether what is about to be stored can be put in force. What it compiles is kept for that.
 * @throws Fault 400 naming the field: `invalid_regex_pattern` where a pattern cannot be compiled.
 */
export async function tryOut(name: string, fields: JsonObject): Promise<void> {
  const refused = await preparePatterns(guardrailPatterns({ name, fields }))
  if (!refused) return
  const field = `content_filters[${refused.index}].pattern`
  throw new Fault('bad_request', {
    message: `${field}: invalid_regex_pattern: ${refused.problem}`,
    metadata: { field, reason: 'invalid_regex_pattern' },
  })
}

function guardrailPatterns(guardrail: Pick<StoredGuardrail, 'name' | 'fields'>): string[] {
  return guardrailFields(guardrail).settings.contentFilters.map(({ pattern }) => pattern)
}

function storedSetting(guardrail: StoredGuardrail, scope: GuardrailName['scope']): GuardrailSetting {
  const { id, name } = guardrail
  const config = guardrailFields(guardrail)
  return compileSetting({ id, name, scope, full: config.settings.audit === 'full' }, config, { keys: undefined, path: `guardrail ${id}` })
}

/** The fields were checked when they were stored: they are those of the file's schema, with null where there is nothing. */
function guardrailFields({ name, fields }: Pick<StoredGuardrail, 'name' | 'fields'>): GuardrailConfig {
  return guardrailConfig({ ...(withoutNulls(fields) as JsonObject), name } as unknown as RawGuardrail)
}

function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, each]) => (each === null || each === undefined ? [] : [[key, withoutNulls(each)]])),
  )
}

/** @param place the keys of the file, and where it stands, for messages. */
function compileSetting(
  who: GuardrailName,
  { settings, engine, zdr, bounds, budget }: GuardrailConfig,
  { keys, path }: { keys: ReadonlySet<string> | undefined; path: string },
): GuardrailSetting {
  return {
    ...who,
    keys,
    settings,
    rules: compileRules(who, { ...settings, builtins: settings.contentFilterBuiltins }, path),
    engine: engine && externalEngine(engine),
    zdr: new Set(zdr),
    bounds,
    budget: budget && { guardrail: who.name, ...budget },
  }
}

/** Names that lists of guardrails may have: an alias or a variant stands for its model. */
export function knownNames(catalog: Pick<Catalog, 'find' | 'providers'>): KnownNames {
  return {
    model: (name) => catalog.find(name)?.model.slug,
    provider: (slug) => catalog.providers.has(slug),
  }
}
