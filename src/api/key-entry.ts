/** A key as the management operations show it: never its secret. */

import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import { LOSSES } from '../core/ledger-entries.ts'
import type { LevelTree } from '../core/levels.ts'
import { usd } from '../core/money.ts'
import { reachWord } from '../core/reach.ts'
import { isManager } from '../core/roles.ts'
import { type Budgets, budgetNamed } from '../core/shared-budget.ts'
import { WORKSPACE } from '../core/workspace.ts'
import type { Allowance, CreditBook } from '../ledger/allowance.ts'
import type { EntrySum, LedgerEntries } from '../ledger/entries.ts'
import { keyAccounts, keyPayer, payerAllowances } from '../ledger/payer.ts'
import { placesIn } from '../ledger/placed-keys.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { ApiKey, RateLimits } from '../plugin-api/key.ts'
import type { FileStore } from '../services/files/types.ts'
import { isIssuer, issuerHash, underIssuer } from '../store/issued-keys.ts'
import { type AttributedKeys, isKey, type KeyRecord, type KeyStore, type StoredKey } from '../store/keys.ts'
import type { AttributedLevels } from '../store/levels.ts'
import { foundBy, hashesBy } from '../store/rotated-keys.ts'
import type { SignInPolicy } from './auth-callback.ts'
import { type ByokSum, type ByokSums, byokSums, NO_BYOK } from './byok-use.ts'

/** The levels of a store, with all of them as they hold now. */
export type LevelSource = AttributedLevels & {
  readonly tree: LevelTree
  /** The tree by which keys are placed, where `tree` has a part of it alone. */
  readonly placing?: LevelTree
  /** Reads what other processes have changed by now: operations that name a level may follow at once on the one that made it. */
  renew(): Promise<void>
}

/** Dependencies of the management of keys. */
export interface KeySource {
  readonly store: AttributedKeys
  /** Keys of the configuration: shown, and changed only there. */
  readonly configured: readonly ApiKey[]
  readonly credit: CreditBook
  /** Budgets of the configuration. */
  readonly budgets: Budgets
  /** Those that the caller sees, and may name for a key; absent: all. */
  readonly offered?: Budgets | undefined
  /** Organisations, workspaces and members; absent: no key has a place. */
  readonly levels?: LevelSource | undefined
  /** Word of the white label: part of every new secret. */
  readonly brand: string
  readonly clock: Pick<Clock, 'now'>
  /** Absent: applications cannot sign in. */
  readonly signIn?: SignInPolicy | undefined
  /** Entries of the ledger beside its generations; absent where nothing keeps any. */
  readonly entries?: Pick<LedgerEntries, 'sums' | 'add'> | undefined
  /** Use of keys of providers that teams have brought; absent: none is shown. */
  readonly ledger?: Pick<LedgerReader, 'byokUse' | 'lastUses'> | undefined
  /** Files that go with a key. */
  readonly files?: Pick<FileStore, 'forget'> | undefined
}

/** A file says nothing of when a key was written; clients require a time. */
const UNKNOWN_TIME = new Date(0).toISOString()

/** Keys as they are shown, with what they have spent up to now. */
export async function keyEntries(
  keys: readonly (ApiKey | StoredKey)[],
  source: Pick<KeySource, 'credit' | 'configured' | 'store' | 'entries' | 'budgets' | 'levels' | 'ledger' | 'clock'>,
): Promise<JsonObject[]> {
  const { store } = source
  const issued = await Promise.all(keys.map((key) => withIssuer(key, source, (hash) => store.find(hash))))
  const complete = issued.map((key) => withPayers(key, source))
  await source.credit.refresh?.(complete.flatMap(keyAccounts))
  const lost = new Map(
    (await source.entries?.sums(complete.map(({ identity }) => identity)))?.map((sum) => [`${sum.kind} ${sum.key}`, sum]),
  )
  const byok = await byokSums(
    complete.map(({ identity }) => identity),
    source,
  )
  const used = await lastUses(complete, source)
  return complete.map((key) => ({
    ...keyEntry(key, source, byok.get(key.identity)),
    last_used_at: timeText(used.get(key.identity)),
    ...apiKeyLosses(key, lost),
  }))
}

/** Times of last uses by identity. A ledger that cannot be read now leaves them out: keys are read and changed all the same. */
async function lastUses(keys: readonly ApiKey[], { ledger }: Pick<KeySource, 'ledger'>): Promise<ReadonlyMap<string, number>> {
  const found = await ledger?.lastUses(keys.map(({ identity }) => identity)).catch(() => [])
  return new Map(found?.map(({ key, at }) => [key, at]))
}

type IssuerSource = Pick<KeySource, 'configured'> & Partial<Pick<KeySource, 'budgets' | 'levels'>>

/** An issued key as it may be used now: disabled where its issuer is, or is no more the one that issued it. */
async function withIssuer<K extends ApiKey>(key: K, source: IssuerSource, find: KeyStore['find']): Promise<K> {
  const { consent, issuer } = key
  if (!consent || issuer) return key
  const written = source.configured.find(({ identity }) => identity === consent.by)
  const found = written ?? (await find(issuerHash(consent)))
  return found && isIssuer(consent, found) ? underIssuer<ApiKey & K>(key, withPayers<ApiKey>(found, source)) : { ...key, disabled: true }
}

/** A key of the store or the file with the budget that it names, and the levels of its place. */
export function withPayers<K extends ApiKey>(key: K, { budgets = {}, levels }: Partial<Pick<KeySource, 'budgets' | 'levels'>>): K {
  if (key.issuer || key.levels) return key
  const drawing = key.parent === undefined || key.budget ? key : { ...key, budget: budgetNamed(key.parent, budgets) }
  return levels ? placesIn(levels.placing ?? levels.tree).of(drawing) : drawing
}

/** Costs that providers reported beyond the charge of the key, and the part of them that no other entry has settled, in USD. */
function apiKeyLosses({ identity }: ApiKey, sums: ReadonlyMap<string, EntrySum>): JsonObject {
  const fields: JsonObject = {}
  for (const loss of LOSSES) {
    const { amount, settled } = sums.get(`${loss} ${identity}`) ?? { amount: 0n, settled: 0n }
    fields[loss] = usd(amount)
    fields[`${loss}_open`] = usd(amount - settled)
  }
  return fields
}

/**
 * Limit, spending and remaining credit of a key, in USD. The holds of open requests are subtracted from `limit_remaining`. Bills of providers
 * to its team count towards the limit where the key says so, and are no usage: the gateway does not charge them.
 */
export function keyAmounts(key: ApiKey | KeyRecord, credit: CreditBook, byok: ByokSums = NO_BYOK): JsonObject {
  const account = credit.account(key.identity, keyPayer(key))
  const remaining = account.tightest<Allowance>([key, ...payerAllowances(key)])?.left
  const windows = account.usage()
  return {
    limit: key.limit === null ? null : usd(key.limit),
    limit_remaining: remaining === undefined ? null : usd(remaining),
    limit_reset: key.limitReset,
    include_byok_in_limit: 'includeByokInLimit' in key && key.includeByokInLimit,
    usage: charged(account.settled, byok.total),
    usage_daily: charged(windows.daily, byok.daily),
    usage_weekly: charged(windows.weekly, byok.weekly),
    usage_monthly: charged(windows.monthly, byok.monthly),
    byok_usage: usd(byok.total.upstream),
    byok_usage_daily: usd(byok.daily.upstream),
    byok_usage_weekly: usd(byok.weekly.upstream),
    byok_usage_monthly: usd(byok.monthly.upstream),
  }
}

/** USD of what was counted without what providers have billed. */
function charged(counted: bigint, { counted: billed }: ByokSum): number {
  return usd(counted > billed ? counted - billed : 0n)
}

function keyEntry(key: ApiKey | StoredKey, { credit, clock }: Pick<KeySource, 'credit' | 'clock'>, byok: ByokSums | undefined): JsonObject {
  const stored = 'createdAt' in key ? key : undefined
  const unknown = stored?.unknownRole
  return {
    hash: key.hash,
    name: key.name,
    label: key.label,
    disabled: key.disabled,
    ...keyAmounts(key, credit, byok),
    created_at: stored ? new Date(stored.createdAt).toISOString() : UNKNOWN_TIME,
    updated_at: stored ? new Date(stored.updatedAt).toISOString() : null,
    expires_at: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
    creator_user_id: key.creator ?? null,
    external_user: null,
    ...placeFields(key),
    member_id: (key.issuer ?? key).levels?.members[0] ?? key.place?.member ?? null,
    role: unknown === undefined ? key.role : null,
    is_management_key: isManager(key),
    provider_ids: [...((key.issuer ?? key).providerIds ?? [])],
    allowed_models: key.allowedModels ? [...key.allowedModels] : null,
    provider: key.provider ? ({ ...key.provider } as JsonObject) : null,
    limits: shownLimits(key.limits),
    default_max_output: key.defaultMaxOutput ?? null,
    pass_through: key.passThrough,
    error_code: key.errorCode ?? null,
    capture_content: key.captureContent ?? false,
    tags: { ...key.tags },
    source: stored ? 'store' : 'configuration',
    parent: key.parent ?? null,
    parent_hash: key.issuer?.hash ?? key.consent?.hash ?? null,
    rotated_at: timeText(key.previous?.rotatedAt),
    previous_secret_expires_at: previousEnd(key, clock.now()),
  }
}

/** Id of the workspace of a key. */
export function keyWorkspace(key: ApiKey): string {
  const { levels, place } = key.issuer ?? key
  return levels?.workspace ?? place?.workspace ?? WORKSPACE
}

const shownLimits = (limits: RateLimits): JsonObject => {
  const { requests = null, tokens = null, streams = null, bytes = null } = limits
  return { requests, tokens, streams, bytes }
}

const timeText = (at: number | null | undefined): string | null => (typeof at === 'number' ? new Date(at).toISOString() : null)

/** End of the secret before the last rotation, as long as that is to come. */
function previousEnd({ previous, expiresAt }: ApiKey, now: number): string | null {
  if (!previous || previous.until <= now) return null
  return timeText(expiresAt === null ? previous.until : Math.min(previous.until, expiresAt))
}

/** The place of a key, and the part that it governs. Management keys of the whole gateway are shown with the default workspace, as they always were. */
export function placeFields(key: ApiKey): JsonObject {
  const { place, levels } = key.issuer ?? key
  return {
    workspace_id: place?.organization === undefined ? keyWorkspace(key) : null,
    organization_id: levels?.organization ?? place?.organization ?? null,
    reach: reachWord(key),
    scopes: key.scopes ? [...key.scopes] : null,
  }
}

/** Those of the configuration first, in its order, then those of the store in the order of their making; issued ones as they may be used. */
export async function allKeys(
  source: Pick<KeySource, 'configured' | 'store'> & Partial<Pick<KeySource, 'budgets' | 'levels' | 'clock'>>,
): Promise<(ApiKey | StoredKey)[]> {
  const ofFile = new Set(source.configured.map((key) => key.hash))
  // A secret that stands in both is the configuration's, as it is for callers.
  const stored = (await source.store.list()).filter((key) => !ofFile.has(key.hash) && isKey(key))
  const isIssued = stored.some((key) => key.consent)
  const byHash = new Map(
    isIssued
      ? foundBy(
          stored.flatMap((key) => hashesBy(key)),
          stored,
        ).map((key) => [key.shown ?? key.hash, key] as const)
      : [],
  )
  const complete: (ApiKey | StoredKey)[] = source.configured.map((key) => withPayers(key, source))
  for (const key of stored) {
    const issued = key.consent ? await withIssuer(key, source, (hash) => byHash.get(hash)) : key
    complete.push(withPayers(issued, source))
  }
  return complete
}
