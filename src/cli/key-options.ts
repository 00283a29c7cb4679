/** Options of the commands that make and change keys: one for each field that the configuration and the API have. */
import { badField } from '../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import type { KeyField } from '../core/key-fields.ts'

/** Texts as they are given; `none` removes what is there. */
export interface KeyFieldFlags {
  user?: string
  limit?: string
  reset?: string
  parent?: string
  role?: string
  management?: boolean
  workspace?: string
  member?: string
  expires?: string
  models?: string
  rates?: string
  'provider-ids'?: string
  tags?: string
  /** Further fields, as the API has them. */
  set?: string
}

type Reader = (flags: KeyFieldFlags) => Json | undefined

const NONE = 'none'

const reading =
  (name: Exclude<keyof KeyFieldFlags, 'management'>, read: (text: string, option: string) => Json = (text) => text): Reader =>
  ({ [name]: text }) =>
    text === undefined ? undefined : text === NONE ? null : read(text, `--${name}`)

/** `verb`: it has a command of its own. `set`: it is one of the further fields. */
const READERS: Readonly<Record<KeyField, Reader | 'verb' | 'set'>> = {
  creator_user_id: reading('user'),
  limit: reading('limit', dollarAmount),
  limit_reset: reading('reset'),
  parent: reading('parent'),
  role: keyRole,
  disabled: 'verb',
  expires_at: reading('expires'),
  allowed_models: reading('models', words),
  provider: 'set',
  limits: reading('rates', rates),
  default_max_output: 'set',
  pass_through: 'set',
  provider_ids: reading('provider-ids', words),
  error_code: 'set',
  capture_content: 'set',
  tags: reading('tags', tags),
}

/** Fields that the configuration names otherwise. */
const PLACE_READERS: Readonly<Record<string, Reader>> = { workspace_id: reading('workspace'), member_id: reading('member') }

/** The fields of a body that the options name; what is not given is left to its default, or as it is. @throws Fault naming the option. */
export function keyFields(flags: KeyFieldFlags): JsonObject {
  const fields: JsonObject = {}
  for (const [field, read] of Object.entries({ ...READERS, ...PLACE_READERS })) {
    const value = typeof read === 'string' ? undefined : read(flags)
    if (value !== undefined) fields[field] = value
  }
  return flags.set === undefined ? fields : { ...fields, ...objectIn(flags.set, '--set') }
}

/** @throws Fault where both options name a role, and not the same. */
function keyRole({ role, management }: KeyFieldFlags): Json | undefined {
  if (role !== undefined && management && role !== 'owner') throw badField('--role', '--management is the role owner, expected one of both')
  return role !== undefined || management ? (role ?? 'owner') : undefined
}

/** @throws Fault where the text is no amount of USD. */
export function dollars(option: string, text: string): number {
  if (!/^\d{1,7}(\.\d{1,9})?$/.test(text)) throw badField(option, 'expected an amount of USD such as 10.00')
  return Number(text)
}

function dollarAmount(text: string, option: string): number {
  return dollars(option, text)
}

function words(text: string): string[] {
  return text.split(',').map((each) => each.trim())
}

function pairs(text: string, option: string, example: string): [string, string][] {
  return words(text).map((each) => {
    const at = each.indexOf('=')
    if (at <= 0) throw badField(option, `expected pairs such as ${example}`)
    return [each.slice(0, at).trim(), each.slice(at + 1).trim()]
  })
}

function tags(text: string, option: string): JsonObject {
  return Object.fromEntries(pairs(text, option, 'team=growth,env=production'))
}

function rates(text: string, option: string): JsonObject {
  const example = 'requests=60,tokens=100000,streams=4'
  return Object.fromEntries(pairs(text, option, example).map(([name, value]) => [name, wholeNumber(value, option)]))
}

function wholeNumber(text: string, option: string): number {
  if (!/^\d{1,15}$/.test(text)) throw badField(option, 'expected a whole number')
  return Number(text)
}

function objectIn(text: string, option: string): JsonObject {
  try {
    const value = JSON.parse(text) as Json
    if (isObject(value)) return value
  } catch {
    // Said below.
  }
  throw badField(option, 'expected a JSON object such as {"pass_through":true}')
}
