/** Changes of keys: /v1/keys and the key commands of the command line. Nothing is cached, so what is changed counts at once. */

import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { MAX_USD } from '../core/money.ts'
import { plainName } from '../core/plain-name.ts'
import { isManager } from '../core/roles.ts'
import { makeSecret } from '../core/secret.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { isKey, type KeyRecord, type StoredKey } from '../store/keys.ts'
import { dollarNano, parseChanges, parseMaking, placeIn } from './key-body.ts'
import { allKeys, type KeySource, keyEntries } from './key-entry.ts'
import { placed } from './key-place.ts'
import { grantedEnd, type RankedKey, requireChange, requireRoleChange, requireRotation } from './key-rights.ts'
import type { ChangeSource } from './origin.ts'
import { type ApiReply, ok } from './reply.ts'

/** Of a secret; what else stands in the store of keys is no key. @throws Fault 404. */
export function hashIn({ hash }: { readonly hash: string }): string {
  if (!/^[0-9a-f]{64}$/.test(hash)) throw noKey()
  return hash
}

/** @throws Fault 404. */
export async function oneKey(hash: string, source: KeySource): Promise<ApiReply> {
  const key = configured(hash, source) ?? (await source.store.find(hash))
  if (!key) throw noKey()
  return ok({ data: await shownKey(key, source) })
}

/** Input of the operations that make or change keys. */
export interface KeyChangeSource extends KeySource, ChangeSource {
  readonly caller: RankedKey
}

/**
 * The reply alone holds the secret; it cannot be read again. Here a name is a label, as for other gateways of this API: several keys may
 * have it, and none is looked for.
 * @throws Fault 400 naming the field, 403 for a role that the caller may not give.
 */
export async function createKey(body: JsonObject, source: KeyChangeSource): Promise<ApiReply> {
  const { role = 'member', ...parsed } = parseMaking(body, source.clock.now())
  const making = { ...parsed, role, expiresAt: grantedEnd(source.caller, { role, expiresAt: parsed.expiresAt }) }
  checkParent(making, source, making)
  const named = placeIn(body)
  if (named) await source.levels?.renew()
  const place = placed(named, {}, source)
  const { secret, hash, label } = makeSecret(source.brand)
  const key = await source.store.put({ ...BLANK, ...making, ...place, identity: hash, hash, label }, source.origin)
  return { status: 201, body: { data: await shownKey(key, source), key: secret } }
}

/** The key that is called so already, to the eye. */
export async function keyCalled(name: string, source: KeySource): Promise<ApiKey | StoredKey | undefined> {
  const plain = plainName(name)
  return (await allKeys(source)).find((key) => plainName(key.name) === plain)
}

export const namesakeText = ({ name, hash }: Pick<ApiKey, 'name' | 'hash'>): string =>
  `There is another key of the name ${name} (${hash.slice(0, 12)})`

const BLANK: Omit<KeyRecord, 'identity' | 'hash' | 'label' | 'name' | 'expiresAt' | 'creator' | 'role'> = {
  disabled: false,
  limit: null,
  limitReset: null,
  includeByokInLimit: false,
  allowedModels: undefined,
  provider: undefined,
  limits: {},
  passThrough: false,
}

/** @throws Fault 400 naming the field, 403 for a key or a role beyond the rights of the caller, 404, 409 for a key of the configuration. */
export async function changeKey(hash: string, body: JsonObject, source: KeyChangeSource): Promise<ApiReply> {
  const changes = parseChanges(body)
  const named = placeIn(body)
  if (named) await source.levels?.renew()
  const key = await changed(hash, source, (found) => {
    requireChange(source.caller, found)
    if (changes.role !== undefined) requireRoleChange(source.caller, found, changes.role)
    checkParent(changes, source, found)
    return { ...found, ...changes, ...placed(named, found, source) }
  })
  return ok({ data: await shownKey(key, source) })
}

/** Its files and the keys that it issued go with it; what they have spent stays in the ledger. @throws Fault 404, 409 for a key of the configuration. */
export async function removeKey(hash: string, source: KeyChangeSource): Promise<ApiReply> {
  refuseConfigured(hash, source)
  const key = await source.store.find(hash)
  if (key) requireChange(source.caller, key)
  if (!(await source.store.remove(hash, source.origin))) throw noKey()
  if (key) await forgetAll(key, source)
  return ok({ deleted: true })
}

/** Issued keys are worth nothing by now: they are removed so that they do not gather. */
async function forgetAll({ identity }: StoredKey, { store, files, origin }: KeySource & ChangeSource): Promise<void> {
  await files?.forget(identity)
  for (const key of await store.list()) {
    if (key.consent?.by !== identity || !isKey(key)) continue
    await store.remove(key.hash, origin)
    await files?.forget(key.identity)
  }
}

/**
 * A new secret for the same key: limit, spend and history stay, the hash changes, the old secret is refused from then on,
 * and so are the keys that it issued through sign-in.
 * @throws Fault 404, 409 for a key of the configuration.
 */
export async function rotateKey(hash: string, source: KeyChangeSource): Promise<ApiReply> {
  const { secret, ...made } = makeSecret(source.brand)
  const key = await changed(hash, source, (found) => {
    requireRotation(source.caller, found)
    return { ...found, ...made }
  })
  return ok({ data: await shownKey(key, source), key: secret })
}

/**
 * Raises the limit of a key.
 * @param dollars USD. @throws Fault 400 where the key has no limit, or it would pass what can be counted; 404, 409.
 */
export async function addCredit(hash: string, dollars: number, source: KeyChangeSource): Promise<ApiReply> {
  const key = await changed(hash, source, (found) => {
    if (found.limit === null) throw badField('key', 'has no limit that could be raised')
    const limit = found.limit + dollarNano(dollars)
    if (limit > dollarNano(MAX_USD)) throw badField('amount', `a limit must be at most ${MAX_USD}`)
    return { ...found, limit }
  })
  return ok({ data: await shownKey(key, source) })
}

/** @throws Fault 400 where the key is to draw on a budget that is not there, or is a key that spends nothing. */
function checkParent(
  { parent }: Pick<KeyRecord, 'parent'>,
  { budgets }: KeySource,
  { role, consent }: Pick<KeyRecord, 'role' | 'consent'>,
): void {
  if (parent === undefined) return
  if (isManager({ role })) throw badField('parent', 'a management key spends nothing')
  if (consent) throw badField('parent', 'a key that was given to an application spends with the key that issued it')
  if (Object.hasOwn(budgets, parent)) return
  const names = Object.keys(budgets)
  throw badField(
    'parent',
    names.length === 0 ? 'the configuration has no budgets' : `no such budget, expected one of: ${names.slice(0, 20).join(', ')}`,
  )
}

async function changed(hash: string, source: KeyChangeSource, how: (key: StoredKey) => KeyRecord): Promise<StoredKey> {
  refuseConfigured(hash, source)
  const key = await source.store.change(hash, how, source.origin)
  if (!key) throw noKey()
  return key
}

async function shownKey(key: ApiKey | StoredKey, source: KeySource): Promise<JsonObject> {
  const [entry] = await keyEntries([key], source)
  if (!entry) throw noKey()
  return entry
}

function configured(hash: string, { configured: keys }: KeySource): ApiKey | undefined {
  return keys.find((key) => key.hash === hash)
}

function refuseConfigured(hash: string, source: KeySource): void {
  const key = configured(hash, source)
  if (key) throw new Fault('conflict', { message: `The key ${key.name} stands in the configuration file: change it there` })
}

function noKey(): Fault {
  return new Fault('not_found', { message: 'No such key' })
}
