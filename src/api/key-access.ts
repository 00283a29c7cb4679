/** GET /v1/keys/{hash}/access: what a key may do: the models that its requests reach, the limits at every level, rates, guardrails, role and end. */
import { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { isManager, ROLE_TEXTS } from '../core/roles.ts'
import { budgetLevels, ownAllowances } from '../core/shared-budget.ts'
import { windowEnd } from '../core/windows.ts'
import type { Allowance, CreditAccount } from '../ledger/allowance.ts'
import { keyAccounts, keyPayer } from '../ledger/payer.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Model } from '../routing/catalog/types.ts'
import type { ListedCatalog } from './key-catalog.ts'
import { allKeys, type KeySource } from './key-entry.ts'
import { type ApiReply, ok } from './reply.ts'

/** A guardrail that holds for a key. */
export interface KeyGuardrail {
  readonly id: string
  readonly name: string
  /** `account` where it holds for every request. */
  readonly scope: string
  readonly budget: Required<Pick<Allowance, 'level' | 'limit' | 'limitReset'>> | undefined
}

export interface AccessSource extends KeySource {
  /** The catalogue as a key sees it. */
  listedFor(key: ApiKey): { readonly catalog: ListedCatalog }
  /** Models of the gateway, whether or not the key reaches them. */
  readonly modelCount: number
  /** Guardrails that hold for requests of a key, as they are in force in this process. */
  guardrailsFor(key: ApiKey): readonly KeyGuardrail[]
}

/** Amounts are USD. @throws Fault 404. */
export async function readKeyAccess(hash: string, source: AccessSource): Promise<ApiReply> {
  const key = (await allKeys(source)).find((each) => each.hash === hash)
  if (!key) throw new Fault('not_found', { message: 'No such key' })
  await source.credit.refresh?.([...keyAccounts(key), ...(key.issuer ? keyAccounts(key.issuer) : [])])
  const { models } = source.listedFor(key).catalog
  const manages = isManager(key)
  const guardrails = source.guardrailsFor(key)
  const reached = manages ? [] : models.map(modelEntry)
  const limits = keyLimits(key, guardrails, source)
  return ok({
    data: {
      hash,
      name: key.name,
      refused_because: refusals(key, limits, source),
      role: 'unknownRole' in key && key.unknownRole !== undefined ? null : key.role,
      role_text: ROLE_TEXTS[key.role],
      is_management_key: manages,
      expires_at: key.expiresAt === null ? null : new Date(key.expiresAt).toISOString(),
      models: reached,
      model_count: source.modelCount,
      allowed_models: key.allowedModels ? [...key.allowedModels] : null,
      provider: key.provider ? JSON.parse(JSON.stringify(key.provider)) : null,
      limits,
      rates: [key, key.issuer].flatMap((each) => (each ? rateEntry(each, each === key ? 'key' : 'issuer') : [])),
      guardrails: guardrails.map(({ id, name, scope }) => ({ id, name, scope })),
      pass_through: key.passThrough,
      provider_ids: [...((key.issuer ?? key).providerIds ?? [])],
      default_max_output: key.defaultMaxOutput ?? null,
    },
  })
}

/** Why each of its requests is refused. A word stands for one reason. */
function refusals(key: ApiKey, limits: readonly JsonObject[], { clock }: Pick<KeySource, 'clock'>): string[] {
  const reasons: string[] = []
  if (key.disabled) reasons.push('disabled')
  if (key.expiresAt !== null && key.expiresAt <= clock.now()) reasons.push('expired')
  if (isManager(key)) reasons.push('manages')
  if (limits.some(({ remaining }) => remaining === 0)) reasons.push('limit_spent')
  return reasons
}

const modelEntry = ({ slug, endpoints }: Model): JsonObject => ({
  id: slug,
  providers: [...new Set(endpoints.map(({ provider }) => provider.name))],
})

/** The key's own limit first, then those of its issuer, of shared budgets up to the root, and of guardrails. */
function keyLimits(key: ApiKey, guardrails: readonly KeyGuardrail[], { credit, clock }: AccessSource): JsonObject[] {
  const now = clock.now()
  const own = credit.account(key.identity, keyPayer(key))
  const entry = (level: string, name: string, limit: number, reset: ApiKey['limitReset'], account: CreditAccount): JsonObject => ({
    level,
    name,
    limit: usd(limit),
    window: reset ?? 'lifetime',
    used: usd(account.counted(reset)),
    held: usd(account.held),
    remaining: usd(account.tightest([{ limit, limitReset: reset }])?.left ?? 0),
    resets_at: reset ? new Date(windowEnd(reset, now)).toISOString() : null,
  })
  const { issuer } = key
  const issuing = issuer && credit.account(issuer.identity, keyPayer(issuer))
  const budget = (issuer ?? key).budget
  return [
    ...(key.limit === null ? [] : [entry('key', key.name, key.limit, key.limitReset, own)]),
    ...(issuer && issuing && issuer.limit !== null ? [entry('issuer', issuer.name, issuer.limit, issuer.limitReset, issuing)] : []),
    ...(budget ? budgetLevels(budget) : []).flatMap((level) =>
      ownAllowances(level).map(({ limit, limitReset }) => entry('budget', level.name, limit, limitReset, credit.account(level.identity))),
    ),
    ...guardrails.flatMap(({ name, budget: spending }) => {
      if (!spending || spending.limit === null) return []
      return [entry('guardrail', name, spending.limit, spending.limitReset, spending.level === 1 && issuing ? issuing : own)]
    }),
  ]
}

/** Nothing where no rate is set. */
function rateEntry({ limits: { requests, tokens, streams, bytes } }: ApiKey, from: 'key' | 'issuer'): JsonObject[] {
  if ((requests ?? tokens ?? streams ?? bytes) === undefined) return []
  return [{ from, requests: requests ?? null, tokens: tokens ?? null, streams: streams ?? null, bytes: bytes ?? null }]
}
