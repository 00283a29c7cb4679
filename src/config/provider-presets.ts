/**
 * Provider presets: `config/providers/<name>.yaml` has the address, the authentication and the quirks of one provider, with their
 * sources. An entry of `providers` with `preset: <name>` begins with them; what the entry sets itself comes on top.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { fileText, programFolder } from '../core/program-files.ts'
import { DIALECTS, mergeQuirks } from '../dialects/quirks.ts'
import type { Environment } from './expand.ts'
import { Source } from './source.ts'
import { hint } from './suggest.ts'

const FOLDER = fileURLToPath(new URL('../../config/providers/', import.meta.url))
const ENDING = '.yaml'

/** Names of all presets, sorted. */
export function presetNames(): string[] {
  const files = programFolder(FOLDER).filter((file) => file.endsWith(ENDING))
  return files.map((file) => file.slice(0, -ENDING.length)).sort()
}

/** One file of `config/providers`. */
export interface ProviderPreset {
  readonly name: string
  /** The provider's own name. */
  readonly title: string
  /**
   * Sources of the preset: `recorded` traffic that the provider accepted, types or an OpenAPI document that it `published`, or
   * neither: `unverified`, from pages and reports of users.
   */
  readonly evidence: 'recorded' | 'published' | 'unverified'
  readonly sources: readonly string[]
  /** Meaning of each variable of `provider`, by its name. */
  readonly variables: Readonly<Record<string, string>>
  readonly example_model: string
  /** Names of the provider in public price lists (`headgate models import`). */
  readonly price_lists?: {
    readonly models_dev?: readonly string[]
    readonly litellm?: readonly string[]
    /** True where a name with a slash stands for a region, not for a model that can be called. */
    readonly plain_names?: boolean
  }
  /** As under `providers` of a configuration, variables as written. */
  readonly provider: JsonObject
  readonly rules: readonly { readonly field: string; readonly why: string; readonly source: string }[]
  /** Losses of callers at this provider. */
  readonly losses: readonly string[]
}

/** A preset as it is written, for people. @param name one of `presetNames()`. */
export function providerPreset(name: string): ProviderPreset {
  return { name, ...(parse(fileText(presetFile(name))) as Omit<ProviderPreset, 'name'>) }
}

const presetFile = (name: string): string => join(FOLDER, `${name}${ENDING}`)

/** Stands where a preset of another name would have had one; nothing is served with it. */
const UNKNOWN_ADDRESS = 'http://unknown.invalid'

/** Replaces each entry of `providers` that names a preset by the preset with the entry on top. An unknown name is reported. */
export function applyProviderPresets(main: Source, env: Environment): void {
  const providers = isObject(main.data) ? main.data.providers : undefined
  if (!isObject(providers)) return
  const named = Object.entries(providers).filter(([, entry]) => isObject(entry) && typeof entry.preset === 'string')
  if (named.length === 0) return
  const names = presetNames()
  for (const [slug, entry] of named) {
    if (!isObject(entry) || typeof entry.preset !== 'string') continue
    if (!names.includes(entry.preset)) {
      main.report(['providers', slug, 'preset'], `there is no preset of this name${hint(entry.preset, names)}`)
      // What else is wrong with the entry depends on the preset that was meant.
      entry.dialect ??= DIALECTS[0]
      entry.base_url ??= UNKNOWN_ADDRESS
      continue
    }
    const file = presetFile(entry.preset)
    const source = new Source(file, fileText(file), env, ([section]) => section === 'provider')
    const preset = isObject(source.data) ? source.data.provider : undefined
    if (!isObject(preset)) continue
    // A key, keys and a credential are three ways to say one thing.
    const ways = ['key', 'keys', 'credential']
    const instead = ways.some((name) => entry[name] !== undefined) ? ways.filter((name) => entry[name] === undefined) : []
    main.adopt(['providers', slug], source, ['provider'], [...Object.keys(entry), ...instead])
    for (const name of instead) delete preset[name]
    const credential = joinedCredential(preset, entry)
    if (credential) main.adopt(['providers', slug, ...credential.at], source, ['provider', ...credential.at], credential.own)
    providers[slug] = { ...preset, ...entry, ...joinedQuirks(preset, entry), ...credential?.joined }
  }
}

/** The settings of an entry's credential on top of the preset's, where both are of one source: `{ aws: {} }` is the preset's. */
function joinedCredential({ credential: ofPreset }: JsonObject, { credential: own }: JsonObject) {
  if (!isObject(ofPreset) || !isObject(own)) return undefined
  const [name] = Object.keys(ofPreset)
  const [below, above] = name === undefined ? [] : [ofPreset[name], own[name]]
  if (name === undefined || !isObject(below) || !isObject(above)) return undefined
  return { at: ['credential', name], own: Object.keys(above), joined: { credential: { ...own, [name]: { ...below, ...above } } } }
}

function joinedQuirks({ quirks: ofPreset }: JsonObject, { quirks: own }: JsonObject): { quirks?: Json } {
  return isObject(ofPreset) && isObject(own) ? { quirks: mergeQuirks(ofPreset, own) } : {}
}
