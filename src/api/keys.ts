/** Changes of keys: /v1/keys and the key commands of the command line. Nothing is cached, so what is changed counts at once. */

import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { MAX_USD } from '../core/money.ts'
import { plainName } from '../core/plain-name.ts'
import { isManager } from '../core/roles.ts'
import { makeSecret } from '../core/secret.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { isKey, type KeyRecord, type StoredKey } from '../store/keys.ts'
import { checkRotation, parseChanges, parseMaking, placeIn } from './key-body.ts'
import { allKeys, type KeySource, keyEntries } from './key-entry.ts'
import { dollarNano, type KeyChanges } from './key-fields.ts'
import { placed } from './key-place.ts'
import { changedEnd, grantedEnd, type RankedKey, requireChange, requireRoleChange, requireRotation } from './key-rights.ts'
import type { ChangeSource } from './origin.ts'
import { type ApiReply, ok } from './reply.ts'

/** Of a secret; what else stands in the store of keys is no key. @throws Fault 404. */
export function hashIn({ hash }: { readonly hash: string }): string {
  if (!/^[0-9a-f]{64}$/.test(hash)) throw noKey()
  return hash
}

/** @throws Fault 404. */
export async function oneKey(hash: string, source: KeySource): Promise<ApiReply> {
  const named = await keyNamed(hash, source)
  const key = configured(named, source) ?? (await source.store.find(named))
  if (!key) throw noKey()
  return ok({ data: await shownKey(key, source) })
}

/** The hash of the key that a hash names: until the end of an overlap also that of the secret before. Any other stays as it is. */
export async function keyNamed(hash: string, source: Pick<KeySource, 'configured' | 'store' | 'clock'>): Promise<string> {
  if (configured(hash, source)) return hash
  const found = await source.store.find(hash)
  if (found?.shown === undefined) return hash
  if ((found.previous?.until ?? 0) <= source.clock.now()) throw noKey()
  return found.hash
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
  const key = await source.store.put({ ...BLANK_KEY, ...making, ...place, identity: hash, hash, label }, source.origin)
  return { status: 201, body: { data: await shownKey(key, source), key: secret } }
}

/** The key that is called so already, to the eye. */
export async function keyCalled(name: string, source: KeySource): Promise<ApiKey | StoredKey | undefined> {
  const plain = plainName(name)
  return (await allKeys(source)).find((key) => plainName(key.name) === plain)
}

export const namesakeText = ({ name, hash }: Pick<ApiKey, 'name' | 'hash'>): string =>
  `There is another key of the name ${name} (${hash.slice(0, 12)})`

export const BLANK_KEY: Omit<KeyRecord, 'identity' | 'hash' | 'label' | 'name' | 'expiresAt' | 'creator' | 'role'> = {
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
  const changes = parseChanges(body, source.clock.now())
  const named = placeIn(body)
  if (named) await source.levels?.renew()
  const key = await changed(hash, source, (found) => {
    requireChange(source.caller, found)
    const { role = found.role, expiresAt } = changes
    if (changes.role !== undefined) requireRoleChange(source.caller, found, changes.role)
    const end = expiresAt === undefined ? found.expiresAt : changedEnd(source.caller, { ...found, role }, expiresAt)
    checkParent(changes, source, found)
    checkIssued(changes, found)
    return { ...found, ...changes, expiresAt: end, ...placed(named, found, source) }
  })
  return ok({ data: await shownKey(key, source) })
}

/** Its files and the keys that it issued go with it; what they have spent stays in the ledger. @throws Fault 404, 409 for a key of the configuration. */
export async function removeKey(named: string, source: KeyChangeSource): Promise<ApiReply> {
  const hash = await keyNamed(named, source)
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
 * A new secret for the same key: limit, spend and history stay, the hash changes. The old secret, and the keys that it issued through
 * sign-in, are good for `grace_seconds` more, none without it. A secret that was replaced before ends at once: there is one of them at most.
 * @throws Fault 400 naming the field, 404, 409 for a key of the configuration.
 */
export async function rotateKey(hash: string, body: JsonObject, source: KeyChangeSource): Promise<ApiReply> {
  checkRotation(body)
  const graceMs = typeof body.grace_seconds === 'number' ? body.grace_seconds * 1000 : 0
  const { secret, ...made } = makeSecret(source.brand)
  const key = await changed(hash, source, (found) => {
    requireRotation(source.caller, found)
    const rotatedAt = Math.floor(source.clock.now())
    const previous = graceMs > 0 ? { hash: found.hash, rotatedAt, until: rotatedAt + graceMs } : undefined
    return { ...found, ...made, previous }
  })
  return ok({ data: await shownKey(key, source), key: secret })
}

/** Ends the overlap of a rotation: the secret before is refused from then on. @throws Fault 404, 409 also where there is no overlap. */
export async function endOverlap(hash: string, source: KeyChangeSource): Promise<ApiReply> {
  const key = await changed(hash, source, (found) => {
    requireChange(source.caller, found)
    if ((found.previous?.until ?? 0) <= source.clock.now())
      throw new Fault('conflict', { message: 'No earlier secret of this key is good any more' })
    return { ...found, previous: undefined }
  })
  return ok({ data: await shownKey(key, source) })
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
export function checkParent(
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

/** Terms of a key that was given to an application: they are those of the key that issued it. */
const OF_ISSUER = { allowed_models: 'allowedModels', provider: 'provider', limits: 'limits', pass_through: 'passThrough' } as const

/** @throws Fault 400 naming the field that would change nothing. */
function checkIssued(changes: KeyChanges, { consent }: Pick<KeyRecord, 'consent'>): void {
  if (!consent) return
  for (const [field, name] of Object.entries(OF_ISSUER))
    if (name in changes) throw badField(field, 'a key that was given to an application has that of the key that issued it')
}

async function changed(named: string, source: KeyChangeSource, how: (key: StoredKey) => KeyRecord): Promise<StoredKey> {
  const hash = await keyNamed(named, source)
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

function configured(hash: string, { configured: keys }: Pick<KeySource, 'configured'>): ApiKey | undefined {
  return keys.find((key) => key.hash === hash)
}

function refuseConfigured(hash: string, source: KeySource): void {
  const key = configured(hash, source)
  if (key) throw new Fault('conflict', { message: `The key ${key.name} stands in the configuration file: change it there` })
}

function noKey(): Fault {
  return new Fault('not_found', { message: 'No such key' })
}
