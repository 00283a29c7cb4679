/** Keys as a caller with a place sees and changes them: another one is not there. */
import { badField, Fault } from '../../core/faults.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import { issuerHash } from '../../store/issued-keys.ts'
import { type AttributedKeys, isKey, type KeyRecord, type StoredKey } from '../../store/keys.ts'
import type { Within } from './within.ts'

interface Keys {
  readonly store: AttributedKeys
  readonly configured: readonly ApiKey[]
}

/** Thrown within a change to leave the key as it is. */
const NOT_THERE = new Fault('not_found', { message: 'No such key' })

export function boundedConfigured({ configured }: Keys, within: Within): readonly ApiKey[] {
  return configured.map((key) => within.placed(key)).filter((key) => within.has(key))
}

export function boundedKeys({ store, configured }: Keys, within: Within): AttributedKeys {
  const find = async (hash: string, isSuspect?: boolean): Promise<StoredKey | undefined> => {
    // A secret that stands in both is the configuration's.
    const found = configured.some((key) => key.hash === hash) ? undefined : await store.find(hash, isSuspect)
    return found && (await isThere(found)) ? found : undefined
  }
  /** Also of an issued key, which lies where the key lies that issued it. */
  const isThere = async (key: StoredKey): Promise<boolean> => {
    if (!isKey(key)) return false
    if (!key.consent) return within.has(within.placed(key))
    const { by } = key.consent
    const issuer = configured.find(({ identity }) => identity === by) ?? (await store.find(issuerHash(key.consent)))
    return issuer !== undefined && within.has(within.placed<ApiKey>(issuer))
  }
  const list = async (): Promise<StoredKey[]> => (await within.keys()).filter((key): key is StoredKey => 'createdAt' in key)
  const refuseMaking = async (key: KeyRecord): Promise<void> => {
    refuseElsewhere(key, within)
    refuseGrants(key, undefined, { within, ids: await givenIds(within) })
  }
  return {
    find,
    list,
    put: async (key, by) => {
      await refuseMaking(key)
      return store.put(key, by)
    },
    add: async (key, by) => {
      await refuseMaking(key)
      return store.add(key, by)
    },
    change: async (hash, how, by) => {
      if (!(await find(hash))) return undefined
      const ids = await givenIds(within)
      try {
        return await store.change(
          hash,
          (key) => {
            // It may have been moved meanwhile.
            if (!key.consent && !within.has(within.placed(key))) throw NOT_THERE
            const next = how(key)
            if (!next.consent) refuseElsewhere(next, within)
            refuseGrants(next, key, { within, ids })
            return next
          },
          by,
        )
      } catch (thrown) {
        if (thrown === NOT_THERE) return undefined
        throw thrown
      }
    },
    remove: async (hash, by) => (await find(hash)) !== undefined && store.remove(hash, by),
    issuedBy: async (by, now) => ((await within.identities()).has(by) ? store.issuedBy(by, now) : []),
    listAfter: async (hash, most) => (await list()).filter((key) => key.hash > hash).slice(0, most),
  }
}

/** @throws Fault 400: a key neither leaves the place nor begins outside of it. A place that is not there and one of others read alike. */
function refuseElsewhere(key: KeyRecord, within: Within): void {
  if (!within.has(within.placed(key))) throw badField('workspace_id', `no such workspace in the ${within.reach.kind} of this key`)
}

/** Ids of providers that keys of the place have been given. */
async function givenIds(within: Within): Promise<ReadonlySet<string>> {
  return new Set((await within.keys()).flatMap(({ providerIds = [] }) => providerIds))
}

/**
 * Refuses what reaches beyond the place: it is given by those who govern the whole gateway. @param before undefined of a new key.
 * @throws Fault 400 naming the field.
 */
function refuseGrants(key: KeyRecord, before: KeyRecord | undefined, { within, ids }: { within: Within; ids: ReadonlySet<string> }): void {
  const { kind } = within.reach
  // Keys of providers may be for the users of others.
  const users = new Set(within.levels().members.map(({ userId }) => userId.toLowerCase()))
  if (key.creator !== null && key.creator !== before?.creator && !users.has(key.creator.toLowerCase()))
    throw badField('creator_user_id', `expected the user_id of a member in the ${kind} of this management key`)
  const known = new Set([...ids, ...(before?.providerIds ?? [])])
  const beyond = (key.providerIds ?? []).findIndex((id) => !known.has(id))
  if (beyond >= 0) throw badField(`provider_ids[${beyond}]`, `expected one that a key in the ${kind} of this management key has`)
  if (key.passThrough && !before?.passThrough)
    throw badField('pass_through', 'a management key of the whole gateway gives it: it reaches all that the gateway keeps at a provider')
}
