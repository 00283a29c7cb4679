/**
 * GET /v1/budgets: the budgets of the configuration, and the levels of organisations that have limits; what the keys under each have spent,
 * and which keys those are.
 */

import { badField } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import { LEVEL_KINDS, type LevelTree, levelName } from '../core/levels.ts'
import { usd } from '../core/money.ts'
import { budgetLevels, budgetNamed, ownAllowances, type SharedBudget } from '../core/shared-budget.ts'
import { windowEnd } from '../core/windows.ts'
import type { CreditBook } from '../ledger/allowance.ts'
import { placesIn } from '../ledger/placed-keys.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import { allKeys, type KeySource, type LevelSource } from './key-entry.ts'
import { choice, list } from './parameters.ts'
import { type ApiReply, ok } from './reply.ts'

export type BudgetSource = Pick<KeySource, 'budgets' | 'offered' | 'levels' | 'configured' | 'store' | 'credit' | 'clock'>

/** Keys that are named with a budget: `GET /v1/keys?parent=` lists all of them. */
const MAX_SHOWN_KEYS = 100
/** Levels that a query names. */
const MAX_LEVELS = 100

export const BUDGET_KINDS = ['budget', ...LEVEL_KINDS] as const

const ofKind = choice('kind', 'Only those of this kind; `budget`: those of the configuration.', BUDGET_KINDS, 'workspace')
const ofLevels = list(
  'level_ids',
  `Only those of the organizations, workspaces and members with these ids, ${MAX_LEVELS} at most, with commas between them.`,
)
export const BUDGETS_QUERY = [ofKind, ofLevels]

interface ListedBudget {
  /** Id of the organisation, workspace or member; null for a budget of the configuration. */
  readonly level: string | null
  readonly budget: SharedBudget
  readonly isDefined: boolean
  readonly keys: readonly ApiKey[]
}

/**
 * Amounts are USD. A budget that keys still name and the configuration no more has is listed with nothing to spend.
 * @param query with `BUDGETS_QUERY`. @throws Fault 400 naming the query parameter.
 */
export async function listBudgets(source: BudgetSource, query = new URLSearchParams()): Promise<ApiReply> {
  const { credit, levels, clock } = source
  const isWanted = wantedBudgets(query)
  const keys = await allKeys(source)
  const tree = levels?.tree
  const listed = [...writtenBudgets(source, keys), ...(levels ? levelBudgets(levels, keys) : [])]
  const shown = listed.filter(isWanted)
  // What is left of one is also what those above it leave.
  await credit.refresh?.([...new Set(shown.flatMap(({ budget }) => budgetLevels(budget).map(({ identity }) => identity)))])
  const now = clock.now()
  const byIdentity = new Map(listed.map(({ budget }) => [budget.identity, budget]))
  // Levels without limits are not listed.
  const parents = new Map(listed.map(({ budget }) => [budget, budget.above.find(({ identity }) => byIdentity.has(identity))]))
  const children = Map.groupBy(byIdentity.values(), (budget) => parents.get(budget)?.identity)
  return ok({ data: shown.map((each) => budgetEntry(each, { parents, children, tree, credit, now })) })
}

/** @throws Fault 400 naming the query parameter. */
function wantedBudgets(query: URLSearchParams): (listed: ListedBudget) => boolean {
  const kind = ofKind.read(query)
  const named = ofLevels.read(query)
  if (named && named.length > MAX_LEVELS) throw badField('level_ids', `expected at most ${MAX_LEVELS} ids`)
  const ids = named && new Set(named)
  return ({ budget, level }) => (kind === undefined || budget.kind === kind) && (ids === undefined || (level !== null && ids.has(level)))
}

function writtenBudgets({ budgets, offered = budgets }: BudgetSource, keys: readonly ApiKey[]): ListedBudget[] {
  const drawing = Map.groupBy(keys, ({ parent }) => parent)
  const gone = keys.flatMap(({ parent }) => (parent === undefined || Object.hasOwn(budgets, parent) ? [] : [parent]))
  const names = new Set([...Object.keys(offered), ...gone])
  return Array.from(names, (name) => ({
    level: null,
    budget: budgetNamed(name, budgets),
    isDefined: Object.hasOwn(budgets, name),
    keys: drawing.get(name) ?? [],
  }))
}

/** Those with a limit: an installation may have thousands of members without one. */
function levelBudgets({ tree, placing = tree }: LevelSource, keys: readonly ApiKey[]): ListedBudget[] {
  const limited = LEVEL_KINDS.flatMap((kind) => tree.list(kind)).filter(({ fields }) => Object.keys(fields.limits).length > 0)
  const places = placesIn(placing)
  // Those right below a level: no other one comes between.
  const below = Map.groupBy(keys, ({ levels }) => levels && (levels.members[0] ?? levels.workspace))
  return limited.flatMap((level) => {
    const budget = places.budgetAt(level)
    return budget ? [{ level: level.id, budget, isDefined: true, keys: below.get(level.id) ?? [] }] : []
  })
}

interface Listing {
  readonly parents: ReadonlyMap<SharedBudget, SharedBudget | undefined>
  /** By the identity of the budget above. */
  readonly children: ReadonlyMap<string | undefined, readonly SharedBudget[]>
  readonly tree: LevelTree | undefined
  readonly credit: CreditBook
  /** Milliseconds since the epoch. */
  readonly now: number
}

function budgetEntry({ level, budget, isDefined, keys }: ListedBudget, { parents, children, tree, credit, now }: Listing): JsonObject {
  const account = credit.account(budget.identity)
  const above = parents.get(budget)
  return {
    name: shownName(budget, tree),
    kind: budget.kind,
    level_id: level,
    is_defined: isDefined,
    parent: above ? shownName(above, tree) : null,
    children: (children.get(budget.identity) ?? []).map((each) => shownName(each, tree)),
    remaining: usd(Math.min(...budgetLevels(budget).flatMap((level) => budgetLeft(level, credit) ?? []))),
    windows: ownAllowances(budget).map(({ limit, limitReset }) => ({
      window: limitReset ?? 'lifetime',
      limit_usd: usd(limit),
      used: usd(account.counted(limitReset)),
      remaining: usd(account.tightest([{ limit, limitReset }])?.left ?? 0),
      resets_at: limitReset ? new Date(windowEnd(limitReset, now)).toISOString() : null,
    })),
    held: usd(account.held),
    key_count: keys.length,
    keys: keys.slice(0, MAX_SHOWN_KEYS).map(({ hash, name }) => ({ hash, name })),
  }
}

/** Names of levels have a word and a colon in front, which no budget of the configuration has: two of them never look alike. */
function shownName({ kind, name, identity }: SharedBudget, tree: LevelTree | undefined): string {
  if (kind === 'budget') return name
  const level = kind === 'member' ? tree?.get(kind, identity.slice(kind.length + 1)) : undefined
  const group = level && (tree?.get('workspace', level.parent ?? '') ?? tree?.get('organization', level.parent ?? ''))
  return group ? `${kind}:${levelName(group)}/${name}` : `${kind}:${name}`
}

/** Nano-dollars that its own limits leave to all that is under it, open requests with what they hold; undefined where it has none. */
export function budgetLeft(budget: SharedBudget, credit: CreditBook): number | undefined {
  const own = ownAllowances(budget).map(({ limit, limitReset }) => ({ limit, limitReset }))
  return credit.account(budget.identity).tightest(own)?.left
}
