/** Budgets that keys spend together: a table on the page of all keys, and the one of a key. */
import { call } from '../api.ts'
import type { BudgetsReply } from '../api-types.ts'
import { Choice } from '../components/field.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Badge, Section, Time } from '../components/values.tsx'
import { formatCount, formatShare, formatUsd } from '../format.ts'
import { type Resource, useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'

type Budget = BudgetsReply['data'][number]
type Window = Budget['windows'][number]

const WINDOWS: Meanings<Window['window'], string> = { daily: 'Day', weekly: 'Week', monthly: 'Month', lifetime: 'In all' }

export function useBudgets(inputs: readonly (string | number)[] = []): Resource<BudgetsReply> {
  return useResource<BudgetsReply>((signal) => call('/v1/budgets', { query: { kind: 'budget' }, signal }), inputs)
}

interface Row extends Window {
  readonly budget: Budget
}

const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'budget',
    title: 'Budget',
    cell: ({ budget }) => (
      <>
        {budget.name} {budget.parent !== null && <span class="quiet">in {budget.parent}</span>}{' '}
        {!budget.is_defined && <Badge tone="bad">Not in the configuration</Badge>}
      </>
    ),
    sortBy: ({ budget }) => budget.name,
  },
  { name: 'window', title: 'Window', cell: ({ window }) => wordMeaning(WINDOWS, window) ?? plainWord(window) },
  {
    name: 'limit',
    title: 'Limit',
    isNumber: true,
    cell: ({ limit_usd: limit }) => formatUsd(limit),
    sortBy: ({ limit_usd: limit }) => limit,
  },
  { name: 'used', title: 'Used', isNumber: true, cell: ({ used }) => formatUsd(used), sortBy: ({ used }) => used },
  {
    name: 'left',
    title: 'Left',
    isNumber: true,
    cell: ({ remaining, limit_usd: limit }) => (
      <>
        {formatUsd(remaining)} {limit > 0 && <span class="quiet">{formatShare(remaining / limit)}</span>}
      </>
    ),
    sortBy: ({ remaining }) => remaining,
  },
  { name: 'resets', title: 'Begins anew', cell: ({ resets_at: at }) => (at === null ? 'Never' : <Time iso={at} />) },
  { name: 'keys', title: 'Keys', isNumber: true, cell: ({ budget }) => formatCount(budget.key_count) },
]

/** Nothing where there are none. @param changes of keys: each has them read again. */
export function SharedBudgets({ changes }: { changes: number }) {
  const budgets = useBudgets([changes])
  if (budgets.data?.data.length === 0) return null
  return (
    <Section title="Shared budgets">
      <Table
        caption="Shared budgets"
        rows={budgets.data?.data.flatMap((budget) => budget.windows.map((window) => ({ ...window, budget })))}
        error={budgets.data ? undefined : budgets.error}
        onRetry={budgets.reload}
        rowKey={({ budget, window }) => `${budget.name} ${window}`}
        columns={COLUMNS}
      />
    </Section>
  )
}

/** Other keys that are named beside one. */
const MAX_OTHERS = 5

/** Rest of the budget of one key, and the other keys that draw on it. */
export function ParentKey({ name, hash }: { name: string; hash: string }) {
  const budget = useBudgets([name]).data?.data.find((each) => each.name === name)
  const others = budget?.keys.filter((each) => each.hash !== hash).slice(0, MAX_OTHERS) ?? []
  const more = (budget?.key_count ?? 1) - 1 - others.length
  return (
    <>
      {name}
      {budget && budget.parent !== null && (
        <span class="under">
          In {budget.parent}: {formatUsd(budget.remaining)} left at all
        </span>
      )}
      {budget?.windows.map(({ window, limit_usd: limit, remaining }) => (
        <span class="under" key={window}>
          {wordMeaning(WINDOWS, window) ?? plainWord(window)}: {formatUsd(remaining)} of {formatUsd(limit)} left
        </span>
      ))}
      {others.length > 0 && (
        <span class="under">
          With{' '}
          {others.map((each, at) => (
            <span key={each.hash}>
              {at > 0 && ', '}
              <a href={pathTo(['keys', each.hash])}>{each.name}</a>
            </span>
          ))}
          {more > 0 && (
            <>
              {' and '}
              <a href={pathTo(['keys'], { parent: name })}>{formatCount(more)} more</a>
            </>
          )}
        </span>
      )}
    </>
  )
}

interface ParentChoiceProps {
  /** That of the key now. */
  readonly parent: string | null
  readonly value: string
  readonly error: Error | undefined
  readonly onChange: (value: string) => void
}

/** Nothing where there are no budgets. */
export function ParentChoice({ parent, value, error, onChange }: ParentChoiceProps) {
  const budgets = useBudgets().data?.data ?? []
  const names = [...new Set([...budgets.map(({ name }) => name), ...(parent ? [parent] : [])])]
  if (names.length === 0) return null
  return (
    <Choice
      name="parent"
      label="Shared budget"
      error={error}
      value={value}
      onChange={onChange}
      options={[['', 'None'], ...names.map((name) => [name, name] as const)]}
      hint="It draws on that as well, together with other keys."
    />
  )
}
