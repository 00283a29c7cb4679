/** Commands of `headgate ledger` on entries of the ledger, at the admin listener and on a store at rest. */
import { badField } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import { listEntries } from './ledger-entries.ts'
import type { EntrySource } from './ledger-entry.ts'
import { hashNamed } from './named-key.ts'
import type { ChangeSource } from './origin.ts'
import { addEntry } from './refunds.ts'

/** @param command `list`, or `add` with the fields of the operation. Its `key` is a name, a hash or the beginning of one. */
export async function runEntryCommand(command: JsonObject, source: EntrySource & ChangeSource): Promise<JsonObject> {
  const { verb, fields = {}, key } = command
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) throw badField('fields', 'expected an object')
  const hash: Json | undefined = typeof key === 'string' ? await hashNamed(key, source) : undefined
  if (verb === 'add')
    return (await addEntry({ ...fields, ...(hash === undefined ? {} : { api_key_hash: hash }) }, source, 'command line')).body
  if (verb !== 'list') throw badField('verb', 'expected list or add')
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(fields)) query.set(name, String(value))
  if (typeof hash === 'string') query.set('api_key_hash', hash)
  return (await listEntries(query, source)).body
}
