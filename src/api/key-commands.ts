/** Key commands of the command line, in one form: sent to the running gateway, or run on a file without an owner. */

import { Type } from 'typebox'
import { checker } from '../core/check.ts'
import { badField, Fault } from '../core/faults.ts'
import { isObject, type JsonObject } from '../core/json.ts'
import { MAX_USD } from '../core/money.ts'
import { ROLES } from '../core/roles.ts'
import { listBudgets } from './budgets.ts'
import { readCredits } from './credits.ts'
import type { KeySource } from './key-entry.ts'
import { importKeys } from './key-import.ts'
import { findKeys } from './key-list.ts'
import { OPERATOR_RIGHTS } from './key-rights.ts'
import { addCredit, changeKey, createKey, endOverlap, type KeyChangeSource, keyCalled, namesakeText, removeKey, rotateKey } from './keys.ts'
import { hashNamed } from './named-key.ts'
import type { ChangeSource } from './origin.ts'

export type KeyVerb =
  | 'list'
  | 'create'
  | 'import'
  | 'change'
  | 'disable'
  | 'enable'
  | 'rotate'
  | 'revoke-old'
  | 'role'
  | 'delete'
  | 'credits'
  | 'add'
  | 'budgets'

export interface KeyCommand {
  verb: KeyVerb
  /** A key's name, its hash, or the beginning of the hash. */
  key?: string
  /** The body of the operation: of `create` that of `POST /v1/keys`, of `change` that of the change, of `rotate` that of the rotation. */
  fields?: JsonObject
  /** Of `create`: the role `owner`, where the fields state none. */
  management?: boolean
  /** Of `role`: the new one. */
  role?: string
  /** Of `add`: USD. */
  amount?: number
  /** Of `list`: as of `GET /v1/keys`, with disabled keys unless it says otherwise. */
  query?: Readonly<Record<string, string>>
}

const VERBS: readonly KeyVerb[] = [
  ...([
    'list',
    'create',
    'import',
    'change',
    'disable',
    'enable',
    'rotate',
    'revoke-old',
    'role',
    'delete',
    'credits',
    'add',
    'budgets',
  ] as const),
]

const checkCommand = checker(
  Type.Object(
    {
      verb: Type.Enum([...VERBS]),
      key: Type.Optional(Type.String({ minLength: 1 })),
      fields: Type.Optional(Type.Object({})),
      management: Type.Optional(Type.Boolean()),
      role: Type.Optional(Type.Enum([...ROLES])),
      amount: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_USD })),
      query: Type.Optional(Type.Record(Type.String(), Type.String())),
    },
    { additionalProperties: false },
  ),
)

/** @param command as it was sent, not checked yet. @throws Fault 400 naming the field, 404 and 409 as the operations on keys. */
export async function runKeyCommand(command: unknown, given: KeySource & ChangeSource): Promise<JsonObject> {
  const source = { ...given, caller: OPERATOR_RIGHTS }
  checkCommand(command)
  const { verb, key, fields, management, role, amount, query } = command as KeyCommand
  if (verb === 'list') return (await findKeys(new URLSearchParams({ include_disabled: 'true', ...query }), source)).body
  if (verb === 'budgets') return (await listBudgets(source)).body
  if (verb === 'credits') return (await readCredits(source)).body
  if (verb === 'create') return create({ ...(management ? { role: 'owner' } : {}), ...(isObject(fields) ? fields : {}) }, source)
  if (verb === 'import') return (await importKeys(isObject(fields) ? fields : {}, source)).body
  const hash = await hashNamed(key, source)
  if (verb === 'change') return (await changeKey(hash, isObject(fields) ? fields : {}, source)).body
  if (verb === 'rotate') return (await rotateKey(hash, isObject(fields) ? fields : {}, source)).body
  if (verb === 'revoke-old') return (await endOverlap(hash, source)).body
  if (verb === 'role') {
    if (role === undefined) throw badField('role', 'is required')
    return (await changeKey(hash, { role }, source)).body
  }
  if (verb === 'delete') return (await removeKey(hash, source)).body
  if (verb === 'add') {
    if (amount === undefined) throw badField('amount', 'is required')
    return (await addCredit(hash, amount, source)).body
  }
  return (await changeKey(hash, { disabled: verb === 'disable' }, source)).body
}

/** Commands find keys by their names, so they make none of a name that stands for another. @throws Fault 409. */
async function create(fields: JsonObject, source: KeyChangeSource): Promise<JsonObject> {
  const namesake = typeof fields.name === 'string' ? await keyCalled(fields.name, source) : undefined
  if (namesake) {
    const hash = namesake.hash.slice(0, 12)
    throw new Fault('conflict', {
      message: `${namesakeText(namesake)}: choose another name, or give that key a new secret with headgate keys rotate ${hash}, or delete it: headgate keys delete ${hash}`,
    })
  }
  return (await createKey(fields, source)).body
}
