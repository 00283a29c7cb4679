/** The requests that the gateway itself has refused, the newest first: how many, of which key, why, and the last ones in full. */
import { useEffect, useState } from 'preact/hooks'
import { apiAddress, call } from '../api.ts'
import type { RefusalsReply } from '../api-types.ts'
import { Field } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { RangeChoice } from '../components/range-choice.tsx'
import { type Column, Table } from '../components/table.tsx'
import { toastError } from '../components/toast.tsx'
import { Badge, DownloadLink, PageHead, Time } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useRange } from '../range.ts'
import { useResource } from '../resource.ts'
import { pathTo, useQuery } from '../router.ts'
import { plainWord } from '../words.ts'

type Refusal = RefusalsReply['data'][number]
type Latest = Refusal['latest'][number]

/** A status of 500 and more is the gateway's own matter. */
export function WhyRefused({ status, reason }: Pick<Refusal, 'status' | 'reason'>) {
  return (
    <>
      <Badge tone={status >= 500 ? 'bad' : 'warn'}>{status}</Badge> {plainWord(reason)}
    </>
  )
}

export function RefusalKey({ api_key_hash: hash, api_key_name: name }: Pick<Refusal, 'api_key_hash' | 'api_key_name'>) {
  if (hash === null) return <span class="quiet">not known</span>
  return <a href={pathTo(['requests', 'refused'], { api_key_hash: hash })}>{name ?? <code>{hash.slice(0, 12)}</code>}</a>
}

export const REFUSAL_COLUMNS: readonly Column<Refusal>[] = [
  { name: 'last', title: 'Last', cell: ({ last_at: at }) => <Time iso={at} />, sortBy: ({ last_at: at }) => at },
  { name: 'why', title: 'Why', cell: (row) => <WhyRefused {...row} />, sortBy: ({ reason }) => reason },
  { name: 'key', title: 'Key', cell: (row) => <RefusalKey {...row} />, sortBy: ({ api_key_name: name }) => name },
  { name: 'count', title: 'Requests', isNumber: true, cell: ({ count }) => formatCount(count), sortBy: ({ count }) => count },
  { name: 'latest', title: 'What the callers read', cell: ({ latest }) => <LatestRequests latest={latest} /> },
]

function LatestRequests({ latest }: Pick<Refusal, 'latest'>) {
  if (latest.length === 0) return <span class="quiet">counted alone</span>
  return (
    <ul class="refused-latest">
      {latest.map((each) => (
        <li key={`${each.generation_id} ${each.at}`}>
          <RefusedText refused={each} />
        </li>
      ))}
    </ul>
  )
}

export function RefusedText({ refused: { generation_id: id, at, message, model, field } }: { refused: Latest }) {
  return (
    <>
      {message}
      <span class="under">
        {id === null ? <Time iso={at} /> : <a href={pathTo(['requests', id])}>{<Time iso={at} />}</a>}
        {model !== null && <> · {model}</>}
        {field !== null && field !== 'model' && (
          <>
            {' '}
            · <code>{field}</code>
          </>
        )}
      </span>
    </>
  )
}

export function Refusals() {
  const [query, set] = useQuery()
  const { reason = '', api_key_hash: key = '' } = query
  const range = useRange('24h')
  const [more, setMore] = useState<readonly RefusalsReply[]>([])
  const wanted = { ...range.times, ...(reason && { reason }), ...(key && { api_key_hash: key }) }
  const first = useResource<RefusalsReply>(
    (signal) => call('/v1/refusals', { query: wanted, signal }),
    [range.times.since, range.times.until, reason, key],
  )
  useEffect(() => setMore([]), [first.data])
  const pages = first.data ? [first.data, ...more] : []
  const next = pages.at(-1)?.next
  return (
    <>
      <PageHead
        title="Refused requests"
        actions={
          <>
            <a href={pathTo(['requests'])}>Recorded requests</a>
            <DownloadLink href={apiAddress('/v1/refusals', { ...wanted, format: 'csv' })} name="">
              Save as CSV
            </DownloadLink>
          </>
        }
      >
        Requests that the gateway itself refused, by minute, key and reason. They were sent to no provider and cost nothing.
      </PageHead>
      <RangeChoice range={range} />
      <search class="filters keys-filters">
        <Field
          name="reason"
          label="Reason"
          type="search"
          value={reason}
          onChange={(value) => set({ reason: value })}
          placeholder="no_credit"
        />
        <Field
          name="key"
          label="Key"
          type="search"
          value={key}
          onChange={(value) => set({ api_key_hash: value })}
          placeholder="Hash of the key"
        />
      </search>
      <section class="card" aria-label="What is found">
        <Table
          caption="Refused requests"
          rows={first.data && pages.flatMap(({ data }) => data)}
          error={first.error}
          onRetry={first.reload}
          rowKey={({ minute, reason: why, api_key_hash: hash, last_at: at, count }) => [minute, why, hash, at, count].join(' ')}
          empty={<EmptyNote title="Nothing was refused in this time" />}
          columns={REFUSAL_COLUMNS}
        />
        {next && (
          <p class="actions findings-more">
            <button
              type="button"
              class="button"
              onClick={() =>
                call<RefusalsReply>('/v1/refusals', { query: { ...wanted, cursor: next } }).then(
                  (page) => setMore((last) => [...last, page]),
                  toastError,
                )
              }
            >
              Show more
            </button>
          </p>
        )}
      </section>
    </>
  )
}
