/**
 * Groups and filters of slices of the ledger. Names that keys have in common (the member, the shared budget) come from the keys as they
 * are now; a further level of them is one more row of `KEY_NAMES`.
 */
import type { JsonObject } from '../core/json.ts'
import type { SliceFilter, SliceGroup } from '../ledger/slices/slice-types.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { StoredKey } from '../store/keys.ts'
import type { allKeys } from './key-entry.ts'
import { shortText } from './parameters.ts'

type Key = ApiKey | StoredKey
type Keys = Awaited<ReturnType<typeof allKeys>>

interface KeyName {
  /** The member of a sum, and the parameter by which is filtered. */
  readonly field: string
  readonly text: string
  /** Undefined for a key that has none. */
  read(key: Key): string | null | undefined
}

/** Names that keys have in common, by the word in `group_by`. */
const KEY_NAMES: Readonly<Record<string, KeyName>> = {
  parent: { field: 'parent', text: 'shared budget that the key draws on', read: (key) => (key.issuer ?? key).parent },
  member: { field: 'creator_user_id', text: 'user for whom the key was made', read: (key) => key.creator },
}

/** Columns of the ledger, by the word in `group_by`. */
const COLUMNS: Readonly<Record<string, { readonly column: SliceGroup; readonly field: string; readonly text: string }>> = {
  key: { column: 'key', field: 'api_key_hash', text: 'key' },
  model: { column: 'model', field: 'model', text: 'slug of the model that served' },
  provider: { column: 'provider', field: 'provider_name', text: 'name of the provider' },
  status: { column: 'status', field: 'status', text: 'outcome' },
  error: { column: 'error', field: 'error', text: 'code of the error that ended it' },
  user: { column: 'user', field: 'external_user', text: 'user as the request named it' },
  app: { column: 'app', field: 'app_title', text: 'name that the application gave itself' },
}

export const SLICE_WORDS = [...Object.keys(COLUMNS), ...Object.keys(KEY_NAMES)]

const MAX_NAME_LENGTH = 512

/** Filters by a name; an empty one with `-` is that of rows without a value. */
const NONE = '-'
export const SLICE_FILTERS = [...Object.values(COLUMNS), ...Object.values(KEY_NAMES)].map(({ field, text }) =>
  shortText(field, `Only this ${text}; \`${NONE}\` for none.`, MAX_NAME_LENGTH),
)

/** The column that a word stands for. */
export const sliceColumn = (word: string): SliceGroup => COLUMNS[word]?.column ?? 'key'

/** Names in the place of keys, where the word stands for one that keys have in common. */
export function keyNamesFor(words: readonly string[], keys: Keys): ReadonlyMap<string, string> | undefined {
  const named = words.map((word) => KEY_NAMES[word]).find((each) => each !== undefined)
  return named && new Map(keys.map((key) => [key.identity, named.read(key) ?? '']))
}

/** @throws Fault 400 naming the query parameter. */
export function sliceFilter(query: URLSearchParams, keys: Keys): SliceFilter {
  const values = new Map(SLICE_FILTERS.map((parameter) => [parameter.name, parameter.read(query)]))
  const filter: Partial<Record<SliceGroup, readonly string[]>> = {}
  for (const { column, field } of Object.values(COLUMNS)) {
    const value = values.get(field)
    if (value !== undefined) filter[column] = [value === NONE ? '' : value]
  }
  let wanted: Keys | undefined
  const hash = values.get('api_key_hash')
  if (hash !== undefined) {
    wanted = keys.filter((key) => key.hash === hash)
    // A key that is gone is known by the hash that it was made with.
    filter.key = wanted.length > 0 ? wanted.map(({ identity }) => identity) : [hash]
  }
  for (const { field, read } of Object.values(KEY_NAMES)) {
    const value = values.get(field)
    if (value === undefined) continue
    wanted = (wanted ?? keys).filter((key) => (read(key) ?? NONE) === value)
    filter.key = wanted.map(({ identity }) => identity)
  }
  return filter
}

/** The names of a sum as the reply has them. */
export function groupFields(words: readonly string[], names: readonly string[], byIdentity: ReadonlyMap<string, Key>): JsonObject {
  const fields: JsonObject = {}
  for (const [at, word] of words.entries()) {
    const name = names[at] ?? ''
    const field = COLUMNS[word]?.field ?? KEY_NAMES[word]?.field ?? word
    if (word === 'key') {
      const key = byIdentity.get(name)
      fields.api_key_hash = key?.hash ?? name
      fields.api_key_name = key?.name ?? null
    } else fields[field] = name === '' ? null : name
  }
  return fields
}
