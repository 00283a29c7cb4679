/** Refusals, events and changes of a range, beside its requests on the page "Usage". */
import { call, type Session } from '../api.ts'
import type { AuditEntriesReply, EventsReply, RefusalsReply } from '../api-types.ts'
import { EmptyNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Section } from '../components/values.tsx'
import { lastRange } from '../range.ts'
import { useResource } from '../resource.ts'
import { opens } from '../rights.ts'
import { pathTo } from '../router.ts'
import { CHANGE_COLUMNS } from './changes.tsx'
import { EVENT_COLUMNS } from './events.tsx'
import { REFUSAL_COLUMNS } from './requests-refusals.tsx'

/** Rows of each that are shown. */
const SHOWN = 10

interface HappenedProps {
  readonly times: { readonly since?: string; readonly until?: string }
  readonly session: Session
}

export function Happened({ times, session }: HappenedProps) {
  return (
    <>
      {opens(session, 'GET /v1/refusals') && <Refused times={times} />}
      {opens(session, 'GET /v1/events') && <Events times={times} />}
      {opens(session, 'GET /v1/audit') && <Changes times={times} />}
    </>
  )
}

type Times = Pick<HappenedProps, 'times'>

const timeText = ({ since = '', until = '' }: HappenedProps['times']): readonly string[] => [since, until]

function Refused({ times }: Times) {
  const query = { ...times, limit: SHOWN }
  const found = useResource<RefusalsReply>((signal) => call('/v1/refusals', { query, signal }), timeText(times))
  return (
    <Section title="Refused by the gateway" actions={<a href={pathTo(['requests', 'refused'], lastRange())}>All of this time</a>}>
      <Table
        caption="Refused requests of this time"
        rows={found.data?.data}
        error={found.error}
        onRetry={found.reload}
        rowKey={({ minute, reason, api_key_hash: hash, last_at: at }) => [minute, reason, hash, at].join(' ')}
        columns={REFUSAL_COLUMNS}
        empty={<EmptyNote title="Nothing was refused in this time" />}
      />
    </Section>
  )
}

function Events({ times }: Times) {
  const query = { ...times, order: 'newest', include_deliveries: true, limit: SHOWN }
  const found = useResource<EventsReply>((signal) => call('/v1/events', { query, signal }), timeText(times))
  return (
    <Section title="Events" actions={<a href={pathTo(['events'], lastRange())}>All of this time</a>}>
      <Table
        caption="Events of this time"
        rows={found.data?.data}
        error={found.error}
        onRetry={found.reload}
        rowKey={({ id }) => id}
        columns={EVENT_COLUMNS}
        empty={<EmptyNote title="No event in this time" />}
      />
    </Section>
  )
}

function Changes({ times }: Times) {
  const query = { ...times, order: 'newest', limit: SHOWN }
  const found = useResource<AuditEntriesReply>((signal) => call('/v1/audit', { query, signal }), timeText(times))
  return (
    <Section title="Changes" actions={<a href={pathTo(['changes'], lastRange())}>All of this time</a>}>
      <Table
        caption="Changes of this time"
        rows={found.data?.data}
        error={found.error}
        onRetry={found.reload}
        rowKey={({ sequence }) => String(sequence)}
        columns={CHANGE_COLUMNS}
        empty={<EmptyNote title="Nothing was changed in this time" />}
      />
    </Section>
  )
}
