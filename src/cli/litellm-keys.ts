/**
 * Keys as LiteLLM's proxy has them: rows of the table "LiteLLM_VerificationToken" (litellm-proxy-extras, migrations/0_init), whose `token` is
 * the SHA-256 of the secret, hexadecimal (`hash_token` of litellm/proxy/_types.py). Both as PyPI litellm 1.110.2 has them.
 */
import { badField } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { TAG_NAME } from '../core/key-fields.ts'

export function isLitellm(row: JsonObject): boolean {
  return 'token' in row && !('hash' in row)
}

/** `budget_duration`, by the window that is the same here. */
const WINDOWS: Readonly<Record<string, string>> = {
  '24h': 'daily',
  '1d': 'daily',
  '7d': 'weekly',
  '1w': 'weekly',
  '30d': 'monthly',
  '1mo': 'monthly',
}

/** Words among `models` that name no model. */
const ALL_MODELS: ReadonlySet<string> = new Set(['all-proxy-models', '*'])
const TEAM_MODELS = 'all-team-models'
const NO_MODELS = 'no-default-models'

/** Columns that are read, and those that say nothing about what a key may do. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['token', 'key_name', 'key_alias', 'spend', 'expires', 'models', 'user_id', 'team_id', 'max_parallel_requests', 'metadata', 'blocked'],
  ...['tpm_limit', 'rpm_limit', 'max_budget', 'budget_duration', 'budget_reset_at', 'created_at', 'created_by', 'updated_at', 'updated_by'],
  ...['last_active', 'soft_budget_cooldown', 'model_spend', 'last_rotation_at', 'key_rotation_at', 'rotation_count'],
])

/**
 * Returns the fields of the import. A key never gets more than it had: a restriction that has no place here is an error where it bounds the
 * key as a whole, and is noted else.
 * @param note is called with the name of a column that is left out. @throws Fault 400 naming the column.
 */
export function fromLitellm(row: JsonObject, note: (column: string) => void): JsonObject {
  const { token, key_alias: alias, key_name: mask, spend, expires, user_id: user, max_budget: budget, blocked } = row
  if (typeof token !== 'string' || !/^[0-9a-f]{64}$/.test(token))
    throw badField('token', 'expected the SHA-256 of the key, 64 hexadecimal digits')
  for (const [column, value] of Object.entries(row)) if (!KNOWN.has(column) && !isEmpty(value)) note(column)
  const limits = {
    ...rate('requests', row.rpm_limit),
    ...rate('tokens', row.tpm_limit),
    ...rate('streams', row.max_parallel_requests),
  }
  return {
    hash: token,
    name: typeof alias === 'string' && alias.trim() !== '' ? alias : `imported ${token.slice(0, 12)}`,
    ...(typeof mask === 'string' && mask.includes('...') ? { label: mask.slice(0, 32) } : {}),
    ...(typeof spend === 'number' && spend > 0 ? { usage: spend } : {}),
    ...(isEmpty(expires) ? {} : { expires_at: utc(expires) }),
    ...allowedModels(row.models),
    ...(typeof user === 'string' && user !== '' ? { creator_user_id: user } : {}),
    ...(typeof budget === 'number' ? { limit: budget, ...window(row.budget_duration) } : {}),
    ...(Object.keys(limits).length > 0 ? { limits } : {}),
    ...(blocked === true ? { disabled: true } : {}),
    ...tagsIn(row, note),
  }
}

function isEmpty(value: Json | undefined): boolean {
  if (value === undefined || value === null || value === '' || value === false) return true
  if (Array.isArray(value)) return value.length === 0
  return isObject(value) && Object.keys(value).length === 0
}

const rate = (name: string, value: Json | undefined): JsonObject => (typeof value === 'number' ? { [name]: value } : {})

function allowedModels(value: Json | undefined): JsonObject {
  const models = Array.isArray(value) ? value.map(String) : []
  if (models.length === 0 || models.some((model) => ALL_MODELS.has(model))) return {}
  if (models.includes(TEAM_MODELS)) throw badField('models', `${TEAM_MODELS} is the list of a team: name its models instead`)
  if (models.includes(NO_MODELS)) throw badField('models', `${NO_MODELS} leaves the key no model of its own: name those that it may use`)
  return { allowed_models: models }
}

function window(duration: Json | undefined): JsonObject {
  if (isEmpty(duration)) return {}
  const reset = typeof duration === 'string' && Object.hasOwn(WINDOWS, duration) ? WINDOWS[duration] : undefined
  if (reset === undefined) throw badField('budget_duration', `expected one of: ${Object.keys(WINDOWS).join(', ')}`)
  return { limit_reset: reset }
}

/** Times of the table are UTC without a zone, as `2027-01-31 00:00:00` or with a T. */
function utc(value: Json | undefined): string {
  const [, day, time, fraction = '', zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]00(?::?00)?)?$/.exec(String(value)) ?? []
  if (day === undefined) throw badField('expires', 'expected a time in UTC such as 2027-01-31 00:00:00')
  return `${day}T${time}${fraction}${zone === 'Z' ? 'Z' : '+00:00'}`
}

/** The team of a key, and tags of its metadata, which have no values there. */
function tagsIn({ team_id: team, metadata }: JsonObject, note: (column: string) => void): JsonObject {
  const tags: JsonObject = typeof team === 'string' && team !== '' ? { team_id: team } : {}
  const { tags: words, ...more } = isObject(metadata) ? metadata : {}
  const form = new RegExp(TAG_NAME)
  for (const word of Array.isArray(words) ? words.map(String) : []) {
    if (form.test(word)) tags[word] = 'true'
    else note('metadata.tags')
  }
  for (const [name, value] of Object.entries(more)) if (!isEmpty(value)) note(`metadata.${name}`)
  return Object.keys(tags).length > 0 ? { tags } : {}
}
