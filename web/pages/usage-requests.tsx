/** The dearest or the slowest requests of a range, on the page "Usage". */
import { call } from '../api.ts'
import type { ExtremesReply } from '../api-types.ts'
import { EmptyNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Section } from '../components/values.tsx'
import { REQUEST_COLUMNS } from './requests-search.tsx'
import { Cover, useWhole } from './usage-slices.tsx'
import { type FilterName, REQUESTS } from './usage-views.ts'

/** Requests that are shown. */
const SHOWN = 50

interface ExtremeRequestsProps {
  readonly view: string
  readonly times: { readonly since?: string; readonly until?: string }
  readonly filters: Readonly<Partial<Record<FilterName, string>>>
}

export function ExtremeRequests({ view, times, filters }: ExtremeRequestsProps) {
  const { title = '', sort = '' } = REQUESTS[view] ?? {}
  const query = { ...times, ...filters, sort, limit: SHOWN }
  const { data, error, reload } = useWhole<ExtremesReply>(
    (signal) => call('/v1/slices/generations', { query, signal }),
    [JSON.stringify(query)],
  )
  return (
    <Section title={`${title} requests`}>
      {data && <Cover {...data} />}
      <Table
        caption={`${title} requests, in order`}
        rows={data?.data}
        error={error}
        onRetry={reload}
        rowKey={({ id }) => id}
        columns={REQUEST_COLUMNS}
        empty={<EmptyNote title="No settled request in this time" />}
      />
    </Section>
  )
}
