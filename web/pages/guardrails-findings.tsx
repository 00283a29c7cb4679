/** The audit trail: what guardrails have found, the newest first, by guardrail, key and time. */
import { useEffect, useState } from 'preact/hooks'
import type { FindingsReply, Guardrail } from '../api-types.ts'
import { Choice, Field } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { toastError } from '../components/toast.tsx'
import { Time } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { pathTo, useQuery } from '../router.ts'
import { ActionBadge, type Finding, hadRefused, readFindings, What } from './guardrails-found.tsx'

const DAYS = { 1: 'One day', 7: 'Seven days', 30: '30 days', 0: 'All that is kept' } as const
const DAY = 86_400_000

export function Findings({ guardrails }: { guardrails: readonly Guardrail[] }) {
  const [query, set] = useQuery()
  const { guardrail = '', key = '', days = '7' } = query
  const [more, setMore] = useState<readonly FindingsReply[]>([])
  const load = (signal: AbortSignal | undefined, after: FindingsReply['next']): Promise<FindingsReply> => {
    const since = Number(days) > 0 ? Date.now() - Number(days) * DAY : undefined
    return readFindings({ ...(guardrail && { guardrail }), ...(key && { key }), ...(since && { since }), ...(after && { after }) }, signal)
  }
  const first = useResource<FindingsReply>((signal) => load(signal, null), [guardrail, key, days])
  useEffect(() => setMore([]), [first.data])
  const pages = first.data ? [first.data, ...more] : []
  const next = pages.at(-1)?.next
  return (
    <>
      <search class="filters keys-filters">
        <Choice
          name="guardrail"
          label="Guardrail"
          value={guardrail}
          onChange={(value) => set({ guardrail: value })}
          options={[['', 'All'], ...guardrails.map(({ id, name }) => [id, name] as const)]}
        />
        <Field name="key" label="Key" type="search" value={key} onChange={(value) => set({ key: value })} placeholder="Name or hash" />
        <Choice name="days" label="Of the last" value={days} onChange={(value) => set({ days: value })} options={Object.entries(DAYS)} />
      </search>
      <Table
        caption="What guardrails have found"
        rows={first.data && pages.flatMap(({ data }) => data)}
        error={first.error}
        onRetry={first.reload}
        rowKey={(each) => [each.at, each.generation, each.guardrail_id, each.direction, each.stage].join(' ')}
        empty={<EmptyNote title="Nothing found in this time" />}
        columns={[
          { name: 'at', title: 'Time', cell: ({ at }) => <Time iso={at} />, sortBy: ({ at }) => at },
          { name: 'guardrail', title: 'Guardrail', cell: (each) => each.guardrail, sortBy: (each) => each.guardrail },
          {
            name: 'action',
            title: 'Action',
            cell: ({ action }) => <ActionBadge action={action} />,
            sortBy: ({ action }) => action,
          },
          { name: 'what', title: 'What', cell: (each) => <What finding={each} /> },
          { name: 'count', title: 'Matches', isNumber: true, cell: ({ count }) => formatCount(count), sortBy: ({ count }) => count },
          {
            name: 'key',
            title: 'Key',
            cell: (each) => each.key_name ?? <code>{each.key.slice(0, 12)}</code>,
            sortBy: (each) => each.key_name,
          },
          {
            name: 'request',
            title: 'Request',
            cell: (finding) => <Request finding={finding} />,
          },
        ]}
      />
      {next && (
        <p class="actions findings-more">
          <button
            type="button"
            class="button"
            onClick={() => load(undefined, next).then((page) => setMore((last) => [...last, page]), toastError)}
          >
            Show more
          </button>
        </p>
      )}
    </>
  )
}

/** The page of a request that was refused shows what had it refused. */
function Request({ finding }: { finding: Finding }) {
  return (
    <>
      <a href={pathTo(['requests', finding.generation])}>Show it</a>
      {hadRefused(finding) && <span class="under">Refused, not sent</span>}
    </>
  )
}
