/** The management of keys of providers that teams bring: /v1/byok. What is changed is in force here at once, and everywhere within a second. */
import { randomUUID } from 'node:crypto'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { AttributedByokKeys, StoredByokKey } from '../store/byok-keys.ts'
import { type ByokTargets, byokChanges, makingByok } from './byok-body.ts'
import type { KnownNames } from './guardrail-body.ts'
import { PAGING, pageBy, workspace } from './guardrails.ts'
import type { KeySource } from './key-entry.ts'
import type { ChangeSource } from './origin.ts'
import { text } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

/** Encryption of keys at rest; `KeyEncryption` is it. */
export interface ByokEncryption {
  /** False where the operator has given no key. */
  readonly isReady: boolean
  encrypt(secret: string, owner: { readonly id: string; readonly provider: string }): string
  /** True where the operator's first key has wrapped it. */
  isCurrent(text: string): boolean
  /** @returns undefined where no key of the operator's opens it. */
  rewrap(text: string, owner: { readonly id: string; readonly provider: string }): string | undefined
}

/** Dependencies of the management of keys that teams bring. */
export interface ByokSource extends Pick<KeySource, 'store' | 'configured' | 'clock'> {
  readonly byok: AttributedByokKeys
  readonly encryption: ByokEncryption
  readonly there: KnownNames
  /** True for a provider that is configured and whose calls carry a key. */
  takesKey(provider: string): boolean
}

/** Entries: requests look at those of their provider. */
const MAX_KEYS = 1000
/** Tries of a change: each fails only because another one went through. */
const MAX_TRIES = 100

const ofProvider = text('provider', 'Only keys of this provider.')
export const BYOK_QUERY = [...PAGING, workspace, ofProvider]

/** @param query with `BYOK_QUERY`. @throws Fault 400 naming the query parameter. */
export async function listByok(query: URLSearchParams, source: ByokSource): Promise<ApiReply> {
  const page = pageBy(query)
  const provider = ofProvider.read(query)
  const keys = (workspace.read(query) ?? WORKSPACE) === WORKSPACE ? await source.byok.all() : []
  const entries = await byokEntries(keys, source)
  return page(provider ? entries.filter((entry) => entry.provider === provider) : entries)
}

/** Keys as they are shown: never the key, nor its encrypted form. */
export async function byokEntries(keys: readonly StoredByokKey[], source: CallerKeys): Promise<JsonObject[]> {
  const places = new Map<string, number>()
  const hashes = keys.some(({ terms }) => terms.allowedKeys) ? await hashesNow(source) : undefined
  return keys.map((key) => {
    const place = places.get(key.provider) ?? 0
    places.set(key.provider, place + 1)
    return byokEntry(key, place, hashes)
  })
}

type CallerKeys = Pick<ByokSource, 'store' | 'configured'>

/** Hashes that keys of the gateway have today, by identity. */
async function hashesNow({ store, configured }: CallerKeys): Promise<ReadonlyMap<string, string>> {
  return new Map([...(await store.list()), ...configured].map(({ identity, hash }) => [identity, hash]))
}

function byokEntry(
  { id, provider, terms, createdAt, updatedAt }: StoredByokKey,
  place: number,
  hashes: ReadonlyMap<string, string> | undefined,
): JsonObject {
  const { name, label, isFallback, disabled, allowedModels, allowedUsers, allowedKeys } = terms
  return {
    id,
    provider,
    name,
    label,
    is_fallback: isFallback,
    disabled,
    allowed_models: allowedModels && [...allowedModels],
    allowed_user_ids: allowedUsers && [...allowedUsers],
    // Keys that are gone have none.
    allowed_api_key_hashes: allowedKeys === null ? null : allowedKeys.flatMap((identity) => hashes?.get(identity) ?? []),
    sort_order: place,
    workspace_id: WORKSPACE,
    created_at: new Date(createdAt).toISOString(),
    updated_at: updatedAt === null ? null : new Date(updatedAt).toISOString(),
  }
}

/** @throws Fault 404. */
export async function oneByok(id: string, source: CallerKeys & Pick<ByokSource, 'byok'>): Promise<ApiReply> {
  const entry = (await byokEntries(await source.byok.all(), source)).find((each) => each.id === id)
  if (!entry) throw noByok()
  return ok({ data: entry })
}

/** @throws Fault 400 naming the field, 409 where there is no key to encrypt with. */
export async function createByok(body: JsonObject, source: ByokSource & ChangeSource): Promise<ApiReply> {
  const { provider, key, terms } = await makingByok(body, targets(source))
  refuseWithoutEncryption(source)
  if ((await source.byok.all()).length >= MAX_KEYS) throw badField('provider', `there are ${MAX_KEYS} keys, which is the most`)
  const id = randomUUID()
  const encrypted = source.encryption.encrypt(key, { id, provider })
  const made = { id, version: 1, provider, encrypted, terms, createdAt: Math.floor(source.clock.now()), updatedAt: null }
  await source.byok.put(made, 0, source.origin)
  return { status: 201, body: (await oneByok(id, source)).body }
}

/** Lists are replaced as a whole; another key takes the place of the one that is there. @throws Fault 400 naming the field, 404, 409. */
export async function changeByok(id: string, body: JsonObject, source: ByokSource & ChangeSource): Promise<ApiReply> {
  const changes = await byokChanges(body, targets(source))
  if (changes.key !== undefined) refuseWithoutEncryption(source)
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const found = (await source.byok.all()).find((each) => each.id === id)
    if (!found) throw noByok()
    const { provider } = found
    const next = {
      ...found,
      version: found.version + 1,
      encrypted: changes.key === undefined ? found.encrypted : source.encryption.encrypt(changes.key, { id, provider }),
      terms: { ...found.terms, ...changes.terms },
      updatedAt: Math.floor(source.clock.now()),
    }
    if (await source.byok.put(next, found.version, source.origin)) return oneByok(id, source)
  }
  throw new Fault('unavailable', { message: 'The key is changed too often', retryAfter: 1 })
}

/** Its encrypted form is erased. @throws Fault 404. */
export async function removeByok(id: string, source: Pick<ByokSource, 'byok'> & ChangeSource): Promise<ApiReply> {
  if (!(await source.byok.remove(id, source.origin))) throw noByok()
  return ok({ deleted: true })
}

/** Without a key of the operator's nothing is stored, not even for a moment. */
export function refuseWithoutEncryption({ encryption }: Pick<ByokSource, 'encryption'>): void {
  if (encryption.isReady) return
  throw new Fault('conflict', {
    message: 'This gateway stores no keys of providers: the operator has to set byok.encryption_keys first (docs/byok.md)',
    metadata: { setting: 'byok.encryption_keys' },
  })
}

function targets({ there, store, configured, ...source }: ByokSource): ByokTargets {
  return {
    there,
    takesKey: (provider) => source.takesKey(provider),
    keyIdentity: async (hash) => (configured.find((key) => key.hash === hash) ?? (await store.find(hash)))?.identity,
  }
}

function noByok(): Fault {
  return new Fault('not_found', { message: 'No such key of a provider' })
}
