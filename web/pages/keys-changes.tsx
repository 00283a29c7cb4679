/** The last changes of a key, on its page: by whom, and what was before. */
import { call } from '../api.ts'
import type { AuditEntriesReply } from '../api-types.ts'
import { EmptyNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Section } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { CHANGE_COLUMNS } from './changes.tsx'

const SHOWN = 5

/** @param updatedAt the last change that the page knows: after another one the list is loaded again. */
export function KeyChanges({ hash, updatedAt }: { hash: string; updatedAt: string | null }) {
  const query = { subject: hash, order: 'newest', limit: SHOWN }
  const found = useResource<AuditEntriesReply>((signal) => call('/v1/audit', { query, signal }), [hash, updatedAt ?? ''])
  return (
    <Section title="Changes of it" actions={<a href={pathTo(['changes'], { subject: hash })}>All of them</a>}>
      <Table
        caption="The last changes of the key"
        rows={found.data?.data}
        error={found.error}
        onRetry={found.reload}
        rowKey={({ sequence }) => String(sequence)}
        columns={CHANGE_COLUMNS}
        empty={<EmptyNote title="No change of it is in the audit log" />}
      />
    </Section>
  )
}
