/** Plans of the last recorded requests under the text, beside their plans of today. */
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { RehearsalReply } from '../api-types.ts'
import { Choice, Field } from '../components/field.tsx'
import { EmptyNote, ErrorNote } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { announce } from '../components/toast.tsx'
import { Badge, Figure, Figures, Money, Section, Time } from '../components/values.tsx'
import { formatCount, formatUsd } from '../format.ts'
import { useControl } from '../rights.ts'
import { pathTo } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { Problems } from './policy-results.tsx'

type Rehearsal = RehearsalReply['data']
type Rehearsed = Rehearsal['requests'][number]
type Difference = Rehearsed['differences'][number]

const NUMBERS = [
  ['20', 'the last 20'],
  ['50', 'the last 50'],
  ['200', 'the last 200'],
] as const

export function RehearsalPart({ text }: { text: string }) {
  const [limit, setLimit] = useState('50')
  const [model, setModel] = useState('')
  const [found, setFound] = useState<{ text: string; rehearsal: Rehearsal }>()
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const control = useControl('POST /v1/configuration/rehearse', isBusy || text.trim() === '')
  const rehearse = async (): Promise<void> => {
    setBusy(true)
    setError(undefined)
    try {
      const body = { text, limit: Number(limit), ...(model !== '' && { model }) }
      const { data } = await call<RehearsalReply>('/v1/configuration/rehearse', { method: 'POST', body })
      setFound({ text, rehearsal: data })
      announce(data.summary ? `Of ${data.summary.requests} requests ${data.summary.differ} would differ` : 'The text has problems')
    } catch (thrown) {
      setError(thrown as Error)
    }
    setBusy(false)
  }
  return (
    <Section
      title="What recorded requests would do"
      actions={
        <button type="button" class="button primary" onClick={rehearse} {...control}>
          {isBusy ? 'Planning…' : 'Plan them'}
        </button>
      }
    >
      <div class="filters policy-filter">
        <Choice name="limit" label="Requests" value={limit} options={NUMBERS} onChange={setLimit} />
        <Field
          name="model"
          label="Model that served"
          type="search"
          placeholder="any"
          error={error}
          onChange={(slug) => setModel(slug.trim())}
        />
      </div>
      {error && <ErrorNote error={error} />}
      {found ? (
        <Found rehearsal={found.rehearsal} isStale={found.text !== text} />
      ) : (
        <p class="quiet">Each is planned under the running configuration and under the text above. Nothing is sent to a provider.</p>
      )}
    </Section>
  )
}

function Found({ rehearsal, isStale }: { rehearsal: Rehearsal; isStale: boolean }) {
  const { problems, requests, summary, left_out: out, approximate } = rehearsal
  if (!summary) return <Problems caption="Problems that leave nothing to plan" problems={problems} isOfText />
  const without = out.no_inputs + out.key_gone
  return (
    <>
      <p class="verdict" role="status">
        {summary.differ === 0 ? (
          <Badge tone="good">The same</Badge>
        ) : (
          <Badge tone="warn">
            Different: {formatCount(summary.differ)} of {formatCount(summary.requests)}
          </Badge>
        )}
        {summary.by.refused > 0 && <Badge tone="bad">Refused: {formatCount(summary.by.refused)}</Badge>}
        {isStale && <Badge tone="warn">The text has changed since</Badge>}
      </p>
      <Figures label="Costs of the recorded tokens">
        <Figure label="Planned today" value={formatUsd(summary.cost.today)} detail={`charged ${formatUsd(summary.cost.happened)}`} />
        <Figure label="Under the text" value={formatUsd(summary.cost.planned)} detail={`requests: ${formatCount(summary.cost.requests)}`} />
      </Figures>
      {summary.changes.length > 0 && <Changes changes={summary.changes} />}
      <Table
        caption="Requests"
        showsCaption
        rows={requests}
        rowKey={({ id }) => id}
        empty={<EmptyNote title="No recorded request can be planned" />}
        columns={[
          {
            name: 'at',
            title: 'Request',
            cell: ({ id, created_at: at, api_key_name: key }) => (
              <>
                <a href={pathTo(['requests', id])}>
                  <Time iso={at} />
                </a>
                <span class="under">{key}</span>
              </>
            ),
            sortBy: ({ created_at: at }) => at,
          },
          {
            name: 'happened',
            title: 'Served by',
            cell: ({ happened }) => (
              <>
                {happened.endpoint ?? '–'}
                <span class="under">
                  <Money usd={happened.usage} />
                </span>
              </>
            ),
          },
          { name: 'today', title: 'Planned today', cell: ({ today }) => <Planned outcome={today} /> },
          { name: 'planned', title: 'Under the text', cell: ({ planned }) => <Planned outcome={planned} /> },
          {
            name: 'differences',
            title: 'Differs in',
            cell: ({ differences }) => (differences.length === 0 ? '–' : differences.map(({ what }) => whatText(what)).join(', ')),
            sortBy: ({ differences }) => differences.length,
          },
        ]}
      />
      <details class="unseen">
        <summary>
          What the plans do without{without + out.no_time > 0 && `, and left out: ${formatCount(without + out.no_time)} requests`}
        </summary>
        <ul>
          {approximate.map((line) => (
            <li key={line}>{line}</li>
          ))}
          {out.no_inputs > 0 && <li>Records without inputs of a plan: {formatCount(out.no_inputs)}</li>}
          {out.key_gone > 0 && <li>Requests whose key is gone: {formatCount(out.key_gone)}</li>}
          {out.no_time > 0 && <li>Not planned, since the time was over: {formatCount(out.no_time)}</li>}
        </ul>
      </details>
    </>
  )
}

const WHAT: Meanings<Difference['what'], string> = {
  model: 'model',
  endpoint: 'endpoint',
  price: 'price',
  refused: 'refused',
  served: 'served again',
}

const whatText = (what: Difference['what']): string => wordMeaning(WHAT, what) ?? plainWord(what)

function Changes({ changes }: Pick<NonNullable<Rehearsal['summary']>, 'changes'>) {
  return (
    <Table
      caption="What differs, the most frequent first"
      showsCaption
      rows={changes}
      rowKey={({ what, was, would_be: now }) => [what, was, now].join(' ')}
      columns={[
        { name: 'what', title: 'What', cell: ({ what }) => whatText(what) },
        { name: 'was', title: 'Today', cell: ({ was }) => was ?? 'none' },
        { name: 'now', title: 'Under the text', cell: ({ would_be: now }) => now ?? 'none' },
        { name: 'count', title: 'Requests', isNumber: true, cell: ({ count }) => formatCount(count), sortBy: ({ count }) => count },
      ]}
    />
  )
}

function Planned({ outcome }: { outcome: Rehearsed['today'] }) {
  if (!outcome) return <span class="quiet">not known</span>
  const { endpoint, cost, refused } = outcome
  if (refused)
    return (
      <>
        <Badge tone="bad">Refused with {refused.status}</Badge>
        <span class="under">{refused.message}</span>
      </>
    )
  return (
    <>
      {endpoint ?? 'none'}
      <span class="under">
        <Money usd={cost} />
      </span>
    </>
  )
}
