/** A request without a record: why the gateway refused it, and what guardrails have found in it. */
import { call } from '../api.ts'
import type { FindingsReply, RefusalsReply } from '../api-types.ts'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { Badge, Section, Time } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { plainWord } from '../words.ts'
import { ActionBadge, type Finding, hadRefused, readFindings, What } from './guardrails-found.tsx'
import { WhyRefused } from './requests-refusals.tsx'

type Refusal = RefusalsReply['data'][number]

interface RefusedProps {
  readonly id: string
  /** Of the record. */
  readonly error: Error
  readonly onRetry: () => void
  /** Findings of guardrails are for the operator. */
  readonly seesFindings: boolean
}

export function Refused({ id, error, onRetry, seesFindings }: RefusedProps) {
  const refusals = useResource<RefusalsReply>((signal) => call('/v1/refusals', { query: { generation_id: id }, signal }), [id])
  const found = useResource<FindingsReply>((signal) => readFindings({ generation: id }, signal), [id], { enabled: seesFindings })
  const isLoading = (!refusals.data && !refusals.error) || (seesFindings && !found.data && !found.error)
  if (isLoading) return <Loading />
  const findings = found.data?.data ?? []
  const refusal = refusals.data?.data[0]
  if (!refusal && findings.length === 0) return <ErrorNote error={error} onRetry={onRetry} />
  return (
    <>
      {refusal && <WhatWasRead id={id} refusal={refusal} />}
      {findings.length > 0 && <WhatWasFound findings={findings} />}
    </>
  )
}

function WhatWasRead({ id, refusal }: { id: string; refusal: Refusal }) {
  const { api_key_hash: hash, api_key_name: name, latest, reason, status, count } = refusal
  const refused = latest.find((each) => each.generation_id === id)
  return (
    <Section title="Refused by the gateway">
      <p>
        <Badge tone="bad">Not sent</Badge> The request was sent to no provider and cost nothing, so it has no record.
      </p>
      <dl class="facts">
        <div>
          <dt>Why</dt>
          <dd>
            <WhyRefused status={status} reason={reason} />
          </dd>
        </div>
        {refused && (
          <>
            <div>
              <dt>What the caller read</dt>
              <dd>{refused.message}</dd>
            </div>
            <div>
              <dt>Time</dt>
              <dd>
                <Time iso={refused.at} />
              </dd>
            </div>
            <div>
              <dt>Model</dt>
              <dd>{refused.model ?? 'not read'}</dd>
            </div>
            {refused.field !== null && (
              <div>
                <dt>Field</dt>
                <dd>
                  <code>{refused.field}</code>
                </dd>
              </div>
            )}
            <div>
              <dt>Format</dt>
              <dd>{plainWord(refused.operation)}</dd>
            </div>
          </>
        )}
        {hash !== null && (
          <div>
            <dt>Key</dt>
            <dd>
              <a href={pathTo(['requests', 'refused'], { api_key_hash: hash })}>{name ?? hash.slice(0, 12)}</a>
              {count > 1 && <span class="under">refused {count} requests so in this minute</span>}
            </dd>
          </div>
        )}
      </dl>
    </Section>
  )
}

function WhatWasFound({ findings }: { findings: readonly Finding[] }) {
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
          { name: 'action', title: 'Action', cell: ({ action }) => <ActionBadge action={action} /> },
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
