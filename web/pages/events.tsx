/** The page "Events": what has happened, the newest first, and how far its receivers have it. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { EventReceiversReply, EventsReply } from '../api-types.ts'
import { Choice } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { RangeChoice } from '../components/range-choice.tsx'
import { type Column, Table } from '../components/table.tsx'
import { toast, toastError } from '../components/toast.tsx'
import { Badge, PageHead, Section, Time, type Tone } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useRange } from '../range.ts'
import { useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { useQuery } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'

type Happened = EventsReply['data'][number]
type Receiver = EventReceiversReply['data'][number]
type Delivery = NonNullable<Happened['deliveries']>[number]

/** The description of the API does not list the types, since they name the program: `test/control-room/events.test.ts` holds that all are here. */
const TYPES: Readonly<Record<string, readonly [tone: Tone, text: string]>> = {
  'headgate.key.created': ['neutral', 'Key made'],
  'headgate.key.rotated': ['neutral', 'Key has a new secret'],
  'headgate.key.changed': ['neutral', 'Key changed'],
  'headgate.key.disabled': ['warn', 'Key disabled'],
  'headgate.key.enabled': ['neutral', 'Key enabled'],
  'headgate.key.expiring': ['warn', 'Key ends soon'],
  'headgate.key.revoked': ['warn', 'Key removed'],
  'headgate.budget.share_reached': ['warn', 'Share of a limit spent'],
  'headgate.budget.limit_reached': ['bad', 'Limit spent'],
  'headgate.provider.ejected': ['bad', 'Endpoint set aside'],
  'headgate.provider.restored': ['good', 'Endpoint serves again'],
  'headgate.provider.account': ['bad', 'Account at a provider refused'],
  'headgate.configuration.reloaded': ['neutral', 'Configuration changed'],
  'headgate.configuration.refused': ['bad', 'Configuration refused'],
  'headgate.guardrail.hit': ['warn', 'Guardrail found something'],
  'headgate.ledger.problem': ['bad', 'Problem of the ledger'],
  'headgate.ledger.loss': ['bad', 'Usage that no key is charged for'],
  'headgate.drain.begun': ['neutral', 'Process is ending'],
}

function WhatHappened({ type }: Pick<Happened, 'type'>) {
  const [tone, text] = wordMeaning(TYPES, type) ?? ['neutral', plainWord(type)]
  return <Badge tone={tone}>{text}</Badge>
}

/** Members of an event are names, numbers and words; lists of them are joined. */
function valueText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–'
  if (Array.isArray(value)) return value.map(valueText).join(', ')
  if (typeof value !== 'object') return String(value)
  // An actor is shown as people know it.
  return 'name' in value && typeof value.name === 'string' ? value.name : JSON.stringify(value)
}

function Facts({ data }: Pick<Happened, 'data'>) {
  const known = Object.entries(data).filter(([, value]) => value !== null && value !== '')
  return (
    <ul class="event-facts">
      {known.map(([name, value]) => (
        <li key={name}>
          <span class="quiet">{plainWord(name)}:</span> {valueText(value)}
        </li>
      ))}
    </ul>
  )
}

export const EVENT_COLUMNS: readonly Column<Happened>[] = [
  { name: 'time', title: 'Time', cell: ({ time }) => <Time iso={time} /> },
  { name: 'what', title: 'What', cell: ({ type }) => <WhatHappened type={type} /> },
  { name: 'facts', title: 'Facts', cell: ({ data }) => <Facts data={data} /> },
  { name: 'sent', title: 'Sent to', cell: (event) => <Deliveries event={event} /> },
]

const DELIVERED: Meanings<Delivery['state'], readonly [tone: Tone, text: string]> = {
  delivered: ['good', 'delivered'],
  pending: ['warn', 'not delivered yet'],
  dead: ['bad', 'given up'],
}

/** State of the event at each receiver. */
function Deliveries({ event: { id, deliveries = [] } }: { event: Happened }) {
  if (deliveries.length === 0) return <span class="quiet">no receiver</span>
  return (
    <ul class="event-facts">
      {deliveries.map(({ receiver, state, attempts, status, problem, updated_at: at }) => {
        const [tone, text] = wordMeaning(DELIVERED, state) ?? ['neutral', plainWord(state)]
        return (
          <li key={receiver}>
            {receiver}: <Badge tone={tone}>{text}</Badge>
            <span class="under">
              <Time iso={at} />, {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
              {status !== null && `, status ${status}`}
              {problem !== null && `: ${problem}`}
            </span>
            {state === 'dead' && <SendAgain id={id} receiver={receiver} />}
          </li>
        )
      })}
    </ul>
  )
}

/** For one receiver that has given up an event. */
function SendAgain({ id, receiver }: { id: string; receiver: string }) {
  const [isSent, setSent] = useState(false)
  const send = useControl('POST /v1/events/{id}/redeliver', isSent)
  const again = (): Promise<void> => {
    setSent(true)
    return call(`/v1/events/${id}/redeliver`, { method: 'POST', body: { receiver } }).then(
      () => toast(`The event is sent to ${receiver} again`),
      (error: unknown) => {
        setSent(false)
        toastError(error)
      },
    )
  }
  return (
    <button type="button" class="button small" aria-label={`Send again to ${receiver}`} onClick={again} {...send}>
      {isSent ? 'On its way' : 'Send again'}
    </button>
  )
}

function Enable({ name, onDone }: { name: string; onDone: () => void }) {
  const enable = useControl('POST /v1/events/receivers/{name}/enable')
  const take = (): Promise<void> =>
    call(`/v1/events/receivers/${encodeURIComponent(name)}/enable`, { method: 'POST' }).then(() => {
      toast(`${name} takes events again`)
      onDone()
    }, toastError)
  return (
    <button type="button" class="button small" aria-label={`Enable ${name}`} onClick={take} {...enable}>
      Enable
    </button>
  )
}

const receiverColumns = (onEnabled: () => void): readonly Column<Receiver>[] => [
  { name: 'name', title: 'Receiver', cell: ({ name }) => name },
  {
    name: 'state',
    title: 'State',
    cell: ({ name, disabled_at: at, dead }) =>
      at === null ? (
        <Badge tone={dead > 0 ? 'warn' : 'good'}>{dead > 0 ? 'Some not delivered' : 'Takes events'}</Badge>
      ) : (
        <>
          <Badge tone="bad">Disabled</Badge> since <Time iso={at} /> <Enable name={name} onDone={onEnabled} />
        </>
      ),
  },
  { name: 'pending', title: 'Waiting', isNumber: true, cell: ({ pending }) => formatCount(pending) },
  { name: 'dead', title: 'Given up', isNumber: true, cell: ({ dead }) => formatCount(dead) },
]

export default function EventsPage() {
  const [query, set] = useQuery()
  const { type = '' } = query
  const range = useRange('')
  const [more, setMore] = useState<readonly EventsReply[]>([])
  const wanted = { order: 'newest', include_deliveries: true, ...range.times, ...(type && { type }) }
  const first = useResource<EventsReply>((signal) => call('/v1/events', { query: wanted, signal }), [JSON.stringify(wanted)])
  const receivers = useResource<EventReceiversReply>((signal) => call('/v1/events/receivers', { signal }), [])
  useEffect(() => setMore([]), [first.data])
  const pages = first.data ? [first.data, ...more] : []
  const next = pages.at(-1)?.next_cursor
  const types = Object.entries(TYPES).map(([name, [, text]]) => [name, text] as const)
  return (
    <>
      <PageHead title="Events">What happened to keys, budgets, providers, guardrails, the configuration and the ledger.</PageHead>
      <RangeChoice range={range} all />
      <search class="filters keys-filters">
        <Choice name="type" label="What" value={type} onChange={(value) => set({ type: value })} options={[['', 'All'], ...types]} />
      </search>
      <section class="card" aria-label="What is found">
        <Table
          caption="Events"
          rows={first.data && pages.flatMap(({ data }) => data)}
          error={first.error}
          onRetry={first.reload}
          rowKey={({ id }) => id}
          empty={<EmptyNote title="Nothing has happened" />}
          columns={EVENT_COLUMNS}
        />
        {next && (
          <p class="actions findings-more">
            <button
              type="button"
              class="button"
              onClick={() =>
                call<EventsReply>('/v1/events', { query: { ...wanted, cursor: next } }).then(
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
      <Section title="Receivers">
        <Table
          caption="Receivers of events"
          rows={receivers.data?.data}
          error={receivers.error}
          onRetry={receivers.reload}
          rowKey={({ name }) => name}
          empty={<EmptyNote title="No receiver">Events are sent to the receivers of the configuration.</EmptyNote>}
          columns={receiverColumns(receivers.reload)}
        />
      </Section>
    </>
  )
}
