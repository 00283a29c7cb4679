/** A request without a record: what guardrails have found in it, where one of them had it refused. */
import { ErrorNote, Loading } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Badge, Section, Time } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { ActionOf, type FindingsReply, hadRefused, readFindings, What } from './guardrails-found.tsx'

/** @param error that of the record. */
export function Refused({ id, error, onRetry }: { id: string; error: Error; onRetry: () => void }) {
  const found = useResource<FindingsReply>((signal) => readFindings({ generation: id }, signal), [id])
  if (!found.data && !found.error) return <Loading />
  const findings = found.data?.data ?? []
  if (findings.length === 0) return <ErrorNote error={error} onRetry={onRetry} />
  const isRefused = findings.some(hadRefused)
  return (
    <Section title={isRefused ? 'Refused by a guardrail' : 'Found by guardrails'}>
      <p>
        <Badge tone="bad">{isRefused ? 'Not sent' : 'No record'}</Badge>{' '}
        {isRefused
          ? 'The request was sent to no provider and cost nothing, so it has no record. This is what was found in it.'
          : 'There is no record of the request, or none any more. This is what was found in it.'}
      </p>
      <Table
        caption="What guardrails have found in it"
        rows={findings}
        rowKey={(each) => [each.at, each.guardrail_id, each.direction, each.stage].join(' ')}
        columns={[
          { name: 'guardrail', title: 'Guardrail', cell: ({ guardrail }) => guardrail },
          { name: 'action', title: 'Action', cell: ({ action }) => <ActionOf action={action} /> },
          { name: 'what', title: 'What', cell: (each) => <What finding={each} /> },
          {
            name: 'key',
            title: 'Key',
            cell: ({ key, key_name: name }) =>
              name === null ? <code>{key.slice(0, 12)}</code> : <a href={pathTo(['requests'], { api_key_hash: key })}>{name}</a>,
          },
          { name: 'at', title: 'Time', cell: ({ at }) => <Time iso={at} /> },
        ]}
      />
    </Section>
  )
}
