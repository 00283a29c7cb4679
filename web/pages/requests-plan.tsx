/**
 * The request as a plan of today: the gateway keeps no text of a request, so that the plan is of one for the same model, with as many
 * tokens, asked for with the visitor's key.
 */
import { useState } from 'preact/hooks'
import { call, type Session } from '../api.ts'
import { CallerKey, callerHeaders, canCall } from '../components/caller-key.tsx'
import { ErrorNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { announce } from '../components/toast.tsx'
import { Badge } from '../components/values.tsx'
import { formatCount, formatShare, formatUsd } from '../format.ts'
import type { Plan, RequestDetail } from './requests-types.ts'

/** Tokens of the made-up text: a body of a few hundred kilobytes. */
const MOST_TOKENS = 200_000

export function Replay({ request, session }: { request: RequestDetail; session: Session }) {
  const [plan, setPlan] = useState<Plan>()
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const [, redraw] = useState(0)
  const ask = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    await call<Plan>('/v1/plan', { method: 'POST', body: bodyFor(request), query: formatOf(request), headers: callerHeaders() }).then(
      (found) => {
        setPlan(found)
        announce('The plan is there')
      },
      (thrown) => {
        setPlan(undefined)
        setError(thrown as Error)
      },
    )
    setBusy(false)
  }
  return (
    <>
      <p class="quiet">
        A plan for <code>{slugOf(request)}</code> with {formatCount(request.tokens?.prompt ?? 1)} tokens in. Nothing is sent to a provider
        and nothing is charged. The text, the tools and the provider preferences of the request are not kept, so that those of the plan are
        none, and the rules are those of the key below.
      </p>
      <form class="plan-form" onSubmit={ask}>
        <CallerKey session={session} label="Key of the plan" error={undefined} onChange={() => redraw((last) => last + 1)} />
        <button type="submit" class="button primary" disabled={isBusy || !canCall(session)}>
          {isBusy ? 'Planning…' : 'Plan it'}
        </button>
      </form>
      {error && (
        <>
          <h3>Today it would be refused</h3>
          <ErrorNote error={error} />
        </>
      )}
      {plan && <Planned plan={plan} request={request} />}
    </>
  )
}

const slugOf = ({ router, model }: RequestDetail): string => router ?? model

/** Embeddings have a format of their own; all others are planned alike. */
const formatOf = ({ api_type: type }: RequestDetail): { format: string } => ({ format: type === 'embeddings' ? 'embeddings' : 'chat' })

function bodyFor(request: RequestDetail): object {
  const text = 'a '.repeat(Math.min(MOST_TOKENS, Math.max(1, request.tokens?.prompt ?? 1)))
  if (request.api_type === 'embeddings') return { model: slugOf(request), input: text }
  return { model: slugOf(request), stream: request.streamed === true, messages: [{ role: 'user', content: text }] }
}

function Planned({ plan, request }: { plan: Plan; request: RequestDetail }) {
  const differences = differencesOf(plan, request)
  return (
    <>
      <h3>What differs</h3>
      {differences.length === 0 ? (
        <p>
          <Badge tone="good">The same</Badge> The model, the first provider and the money held would be the same.
        </p>
      ) : (
        <Table
          caption="What differs today"
          rows={differences}
          rowKey={({ what }) => what}
          columns={[
            { name: 'what', title: 'What', cell: ({ what }) => what },
            { name: 'then', title: 'Then', cell: ({ then }) => then },
            { name: 'today', title: 'Today', cell: ({ today }) => <strong>{today}</strong> },
          ]}
        />
      )}
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

const DECIDED: Readonly<Record<string, string>> = {
  only_one: 'The only one',
  order: 'By the given order',
  session: 'The session was there last',
  tier: 'By its tier',
  draw: 'By a draw, the cheaper the likelier',
  quality: 'By quality',
  price: 'By price',
  throughput: 'By throughput',
  latency: 'By latency',
  exacto: 'By tool quality',
}

function Why({ candidate: { why } }: { candidate: Plan['candidates'][number] }) {
  return (
    <>
      {DECIDED[why.by] ?? why.by}
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

interface Difference {
  readonly what: string
  readonly then: string
  readonly today: string
}

function differencesOf({ candidates: [first], key, hold }: Plan, request: RequestDetail): Difference[] {
  const pairs: readonly (readonly [what: string, then: string | null, today: string | undefined])[] = [
    ['First provider', request.attempts[0]?.provider_name ?? null, first?.provider],
    ['Model', request.model, first?.model],
    ['Key', request.api_key_name, key],
    ['Held', formatUsd(request.held), formatUsd(Number(hold.usd))],
  ]
  return pairs.flatMap(([what, then, today = 'none']) => (then === null || then === today ? [] : [{ what, then, today }]))
}
