/** Limits of organizations, workspaces and members: what is spent of them in lists, and a form to set and clear each. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { BudgetsReply } from '../api-types.ts'
import { Dialog } from '../components/dialog.tsx'
import { Field, FormError } from '../components/field.tsx'
import { ErrorNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { toast, toastError } from '../components/toast.tsx'
import { Money, Section, Time } from '../components/values.tsx'
import { formatShare, formatUsd } from '../format.ts'
import { type Resource, useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { plainWord, wordMeaning } from '../words.ts'
import { NEAR } from './keys-state.tsx'
import { type Budget, KINDS, type Kind, type Level, levelName, WINDOWS, type Window } from './teams-levels.ts'

/** Limits of those levels by their ids, with the spent part; levels without a limit have no entry. */
export function useLimits(levels: readonly { readonly id: string }[] | undefined): Resource<BudgetsReply> {
  const ids = levels?.map(({ id }) => id).join(',') ?? ''
  return useResource<BudgetsReply>((signal) => call('/v1/budgets', { query: { level_ids: ids }, signal }), [ids], { enabled: ids !== '' })
}

export const budgetAt = (limits: Resource<BudgetsReply>, id: string): Budget | undefined =>
  limits.data?.data.find(({ level_id: level }) => level === id)

/** A limit as lists show it. */
export function WindowLimits({ limits, id }: { limits: Resource<BudgetsReply>; id: string }) {
  const budget = budgetAt(limits, id)
  if (!budget) return <span class="quiet">{limits.isLoading && !limits.data ? '…' : limits.error ? 'Not known' : 'None'}</span>
  return (
    <div class="team-limits">
      {budget.windows.map(({ window, limit_usd: limit, used, remaining }) => {
        const name = wordMeaning(WINDOWS, window) ?? plainWord(window)
        return (
          <span class="limit" key={window}>
            <span class="number">
              {name}: {formatUsd(used)} of {formatUsd(limit)}
            </span>
            <Spent name={name} limit={limit} remaining={remaining} />
          </span>
        )
      })}
    </div>
  )
}

function Spent({ name, limit, remaining }: { name: string; limit: number; remaining: number }) {
  const share = limit > 0 ? (limit - remaining) / limit : 1
  return (
    <meter
      class={share >= 1 ? 'bad' : share >= NEAR ? 'warn' : undefined}
      min={0}
      max={1}
      value={Math.min(1, share)}
      aria-label={`${name}: ${formatShare(share)} of the limit is spent or held`}
    />
  )
}

interface LevelProps {
  readonly kind: Kind
  readonly level: Level
}

interface Row {
  readonly window: Window
  readonly found: Budget['windows'][number] | undefined
}

/** All windows of one level, each with its limit or without. */
export function Limits({ kind, level, onChanged }: LevelProps & { readonly onChanged: () => void }) {
  const limits = useLimits([level])
  const [chosen, choose] = useState<Row>()
  const budget = budgetAt(limits, level.id)
  const set = useControl(KINDS[kind].setLimit)
  const clear = useControl(KINDS[kind].clearLimit)
  const rows = (Object.keys(WINDOWS) as Window[]).map((window) => ({
    window,
    found: budget?.windows.find((each) => each.window === window),
  }))
  const reload = (): void => {
    limits.reload()
    onChanged()
  }
  const remove = ({ window }: Row): Promise<void> =>
    call(`${KINDS[kind].address(level.id)}/budgets/${window}`, { method: 'DELETE' }).then(() => {
      toast(`The limit of ${levelName(level)} is cleared`)
      reload()
    }, toastError)
  return (
    <Section title="Limits">
      {limits.data && limits.error && <ErrorNote error={limits.error} onRetry={limits.reload} />}
      <Table
        caption={`Limits of the ${KINDS[kind].noun}`}
        rows={limits.data && rows}
        error={limits.data ? undefined : limits.error}
        onRetry={limits.reload}
        rowKey={({ window }) => window}
        columns={[
          { name: 'window', title: 'Window', cell: ({ window }) => WINDOWS[window] },
          { name: 'limit', title: 'Limit', isNumber: true, cell: ({ found }) => (found ? <Money usd={found.limit_usd} /> : 'None') },
          { name: 'used', title: 'Used', isNumber: true, cell: ({ found }) => <Money usd={found?.used} /> },
          { name: 'left', title: 'Left', isNumber: true, cell: ({ found }) => <Money usd={found?.remaining} /> },
          {
            name: 'reset',
            title: 'Begins anew',
            cell: ({ found }) => (found && !found.resets_at ? 'Never' : <Time iso={found?.resets_at} />),
          },
          {
            name: 'do',
            title: 'Change',
            cell: (row) => (
              <span class="actions">
                <button
                  type="button"
                  class="button small"
                  aria-label={`Set the limit: ${WINDOWS[row.window]}`}
                  onClick={() => choose(row)}
                  {...set}
                >
                  Set
                </button>
                {row.found && (
                  <button
                    type="button"
                    class="button small"
                    aria-label={`Clear the limit: ${WINDOWS[row.window]}`}
                    onClick={() => remove(row)}
                    {...clear}
                  >
                    Clear
                  </button>
                )}
              </span>
            ),
          },
        ]}
      />
      {budget?.parent && (
        <p class="quiet">
          With all that is above it, {formatUsd(budget.remaining)} are left at all: it draws on {budget.parent} as well.
        </p>
      )}
      <Dialog title={chosen ? `Limit: ${WINDOWS[chosen.window]}` : 'Limit'} isOpen={chosen !== undefined} onClose={() => choose(undefined)}>
        {chosen && (
          <LimitForm
            kind={kind}
            level={level}
            row={chosen}
            onClose={() => choose(undefined)}
            onDone={() => {
              choose(undefined)
              reload()
            }}
          />
        )}
      </Dialog>
    </Section>
  )
}

interface LimitFormProps extends LevelProps {
  readonly row: Row
  readonly onClose: () => void
  readonly onDone: () => void
}

function LimitForm({ kind, level, row: { window, found }, onClose, onDone }: LimitFormProps) {
  const [value, setValue] = useState(found ? String(found.limit_usd) : '')
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    const body = { limit_usd: Number(value) }
    try {
      await call(`${KINDS[kind].address(level.id)}/budgets/${window}`, { method: 'PUT', body })
      toast(`The limit of ${levelName(level)} is set`)
      onDone()
    } catch (thrown) {
      setError(thrown as Error)
      setBusy(false)
    }
  }
  return (
    <form class="form" onSubmit={send}>
      <Field
        name="limit_usd"
        label="Limit in USD"
        type="number"
        min="0"
        step="any"
        required
        value={value}
        error={error}
        onInput={setValue}
        hint="All below it spend no more together. It is lower than the limit of each longer window."
      />
      <FormError error={error} fields={['limit_usd']} />
      <p class="actions">
        <button type="submit" class="button primary" disabled={isBusy}>
          {isBusy ? 'Sending…' : 'Set it'}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}
