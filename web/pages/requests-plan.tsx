/** The recorded request as a plan of today: the gateway puts one of the same form together from what the row keeps, and compares. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { ReplayReply } from '../api-types.ts'
import { ErrorNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { announce } from '../components/toast.tsx'
import { Badge } from '../components/values.tsx'
import { formatCount, formatShare, formatUsd } from '../format.ts'
import { useControl } from '../rights.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import type { Plan, Replayed } from './requests-types.ts'

export function Replay({ id }: { id: string }) {
  const [replayed, setReplayed] = useState<Replayed>()
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const control = useControl('POST /v1/generations/{id}/plan', isBusy)
  const plan = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      setReplayed((await call<ReplayReply>(`/v1/generations/${encodeURIComponent(id)}/plan`, { method: 'POST' })).data)
      announce('The plan is there')
    } catch (thrown) {
      setReplayed(undefined)
      setError(thrown as Error)
    }
    setBusy(false)
  }
  return (
    <>
      <p class="quiet">
        The same request under its key, with the catalogue, health, guardrails and credit of now. Nothing is sent to a provider and nothing
        is charged.
      </p>
      <div class="actions plan-actions">
        <button type="button" class="button primary" onClick={plan} {...control}>
          {isBusy ? 'Planning…' : 'Plan it'}
        </button>
      </div>
      {error && <ErrorNote error={error} />}
      {replayed && <Found replayed={replayed} />}
    </>
  )
}

function Found({ replayed: { plan, refused, differences, approximate } }: { replayed: Replayed }) {
  return (
    <div class="plan-found">
      {refused && (
        <p>
          <Badge tone="bad">Today it would be refused</Badge> {refused.message} <span class="quiet">(status {refused.status})</span>
        </p>
      )}
      <Differences differences={differences} />
      {plan && <Planned plan={plan} />}
      <details>
        <summary>What the plan does without: {formatCount(approximate.length)}</summary>
        <ul>
          {approximate.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </details>
    </div>
  )
}

function Differences({ differences }: Pick<Replayed, 'differences'>) {
  return (
    <>
      <h3>What differs</h3>
      {differences.length === 0 ? (
        <p>
          <Badge tone="good">The same</Badge> The endpoint that served it would be tried first.
        </p>
      ) : (
        <Table
          caption="What differs today"
          rows={differences}
          rowKey={({ what }) => what}
          columns={[
            { name: 'what', title: 'What', cell: ({ what }) => wordMeaning(NAMES, what) ?? plainWord(what) },
            { name: 'was', title: 'It was', cell: ({ was }) => was ?? 'none' },
            { name: 'now', title: 'Today, tried first', cell: ({ would_be: now }) => <strong>{now ?? 'none'}</strong> },
          ]}
        />
      )}
    </>
  )
}

const NAMES: Meanings<Replayed['differences'][number]['what'], string> = { model: 'Model', endpoint: 'Endpoint', outcome: 'Outcome' }

function Planned({ plan }: { plan: Plan }) {
  return (
    <>
      <h3>Order of the endpoints today</h3>
      <Table
        caption="Order of the endpoints today"
        rows={plan.candidates}
        rowKey={({ position }) => String(position)}
        columns={[
          { name: 'endpoint', title: 'Endpoint', cell: ({ position, provider, endpoint }) => `${position}. ${provider} (${endpoint})` },
          { name: 'model', title: 'Model', cell: ({ model }) => model },
          { name: 'why', title: 'Why here', cell: (candidate) => <Why candidate={candidate} /> },
          { name: 'dropped', title: 'Would not get', cell: ({ dropped }) => dropped?.join(', ') || '–' },
        ]}
      />
      {plan.excluded.length > 0 && (
        <>
          <h3>Endpoints that are left out</h3>
          <Table
            caption="Endpoints that are left out"
            rows={plan.excluded}
            rowKey={({ provider, endpoint, model }) => `${provider} ${endpoint} ${model}`}
            columns={[
              { name: 'endpoint', title: 'Endpoint', cell: ({ provider, endpoint }) => `${provider} (${endpoint})` },
              { name: 'model', title: 'Model', cell: ({ model }) => model },
              { name: 'filter', title: 'Left out by', cell: ({ filter }) => filter.replaceAll('_', ' ') },
              { name: 'detail', title: 'Because', cell: ({ detail }) => detail ?? '–' },
            ]}
          />
        </>
      )}
      <p class="quiet note-line">
        Key {plan.key}, {formatUsd(Number(plan.hold.usd))} held, output cap {formatCount(plan.hold.output_cap)}
        {plan.guardrails.length > 0 && `, guardrails: ${plan.guardrails.join(', ')}`}
        {plan.plugins.length > 0 && `, plugins: ${plan.plugins.join(', ')}`}
      </p>
    </>
  )
}

const DECIDED: Meanings<Plan['candidates'][number]['why']['by'], string> = {
  only_one: 'The only one',
  order: 'By the given order',
  session: 'The session was there last',
  tier: 'By its tier',
  weight: 'By a draw, as the weights say',
  draw: 'By a draw, the cheaper the likelier',
  quality: 'By quality',
  price: 'By price',
  throughput: 'By throughput',
  latency: 'By latency',
  exacto: 'By tool quality',
  least_busy: 'By running calls',
}

function Why({ candidate: { why } }: { candidate: Plan['candidates'][number] }) {
  return (
    <>
      {wordMeaning(DECIDED, why.by) ?? plainWord(why.by)}
      {why.share !== undefined && why.share < 1 && `, first in ${formatShare(why.share)} of all`}
      {why.health !== 'ok' && (
        <>
          {' '}
          <Badge tone="warn">{why.health.replaceAll('_', ' ')}</Badge>
        </>
      )}
    </>
  )
}
