/** The page "Changes": the audit log, the newest first: the actor of each change, its address, and the fields before and after. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { AuditEntriesReply } from '../api-types.ts'
import { Choice, Field } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { RangeChoice } from '../components/range-choice.tsx'
import { type Column, Table } from '../components/table.tsx'
import { toastError } from '../components/toast.tsx'
import { Badge, PageHead, Time, type Tone } from '../components/values.tsx'
import { useRange } from '../range.ts'
import { useResource } from '../resource.ts'
import { useQuery } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'

type Entry = AuditEntriesReply['data'][number]

const ACTIONS: Meanings<Entry['action'], readonly [tone: Tone, text: string]> = {
  'key.created': ['neutral', 'Key made'],
  'key.changed': ['neutral', 'Key changed'],
  'key.rotated': ['neutral', 'Key has a new secret'],
  'key.deleted': ['warn', 'Key removed'],
  'sign_in_code.created': ['neutral', 'Application may get a key'],
  'session.opened': ['neutral', 'Signed in'],
  'session.refused': ['bad', 'Sign-in refused'],
  'session.ended': ['neutral', 'Signed out'],
  'guardrail.created': ['neutral', 'Guardrail made'],
  'guardrail.changed': ['neutral', 'Guardrail changed'],
  'guardrail.deleted': ['warn', 'Guardrail removed'],
  'guardrail.assigned': ['neutral', 'Guardrail assigned'],
  'guardrail.unassigned': ['warn', 'Guardrail no longer assigned'],
  'ledger.entry_added': ['warn', 'Entry of the ledger added'],
  'compaction_key.created': ['neutral', 'Key of compaction made'],
  'compaction_key.rewritten': ['neutral', 'Key of compaction encrypted anew'],
  'compaction_key.deleted': ['warn', 'Key of compaction removed'],
  'byok_key.created': ['neutral', 'Key of a provider added'],
  'byok_key.changed': ['neutral', 'Key of a provider changed'],
  'byok_key.rotated': ['neutral', 'Key of a provider replaced'],
  'byok_key.rewrapped': ['neutral', 'Key of a provider encrypted anew'],
  'byok_key.deleted': ['warn', 'Key of a provider removed'],
  'organization.created': ['neutral', 'Organization made'],
  'organization.changed': ['neutral', 'Organization changed'],
  'organization.deleted': ['warn', 'Organization removed'],
  'workspace.created': ['neutral', 'Workspace made'],
  'workspace.changed': ['neutral', 'Workspace changed'],
  'workspace.deleted': ['warn', 'Workspace removed'],
  'member.created': ['neutral', 'Member added'],
  'member.changed': ['neutral', 'Member changed'],
  'member.deleted': ['warn', 'Member removed'],
  'event.redelivered': ['neutral', 'Event delivered again'],
  'event_receiver.disabled': ['warn', 'Receiver of events disabled'],
  'event_receiver.enabled': ['neutral', 'Receiver of events enabled'],
  'configuration.loaded': ['neutral', 'Started with a configuration'],
  'configuration.reloaded': ['neutral', 'Configuration changed'],
  'configuration.refused': ['bad', 'Configuration refused'],
  'audit_log.pruned': ['warn', 'Oldest changes removed'],
}

function ActionBadge({ action }: Pick<Entry, 'action'>) {
  const [tone, text] = wordMeaning(ACTIONS, action) ?? ['neutral', plainWord(action)]
  return <Badge tone={tone}>{text}</Badge>
}

function Actor({ actor, address }: Pick<Entry, 'actor' | 'address'>) {
  return (
    <>
      {actor.name ?? actor.id ?? plainWord(actor.kind)}
      <span class="quiet">
        <br />
        {plainWord(actor.kind)}
        {address && `, ${address}`}
      </span>
    </>
  )
}

const valueText = (value: unknown): string => (typeof value === 'string' ? value : value === undefined ? 'null' : JSON.stringify(value))

function Fields({ before, after, reason }: Pick<Entry, 'before' | 'after' | 'reason'>) {
  const [old, now] = [before ?? {}, after ?? {}] as readonly Readonly<Record<string, unknown>>[]
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})])]
  // Of something new, its fields that are not set say nothing.
  const shown = names.filter((name) => before !== null || (now?.[name] ?? null) !== null)
  return (
    <ul class="change-fields">
      {shown.map((name) => (
        <li key={name}>
          <span class="quiet">{plainWord(name)}:</span> {before !== null && `${valueText(old?.[name])} → `}
          {after === null ? 'gone' : valueText(now?.[name])}
        </li>
      ))}
      {reason !== null && (
        <li>
          <span class="quiet">reason:</span> {reason}
        </li>
      )}
    </ul>
  )
}

export const CHANGE_COLUMNS: readonly Column<Entry>[] = [
  { name: 'sequence', title: 'No.', isNumber: true, cell: ({ sequence }) => sequence },
  { name: 'time', title: 'Time', cell: ({ at }) => <Time iso={at} /> },
  { name: 'action', title: 'Change', cell: ({ action }) => <ActionBadge action={action} /> },
  { name: 'actor', title: 'By', cell: ({ actor, address }) => <Actor actor={actor} address={address} /> },
  { name: 'subject', title: 'Of', cell: ({ subject }) => <span class="change-subject">{subject}</span> },
  { name: 'fields', title: 'Fields', cell: ({ before, after, reason }) => <Fields before={before} after={after} reason={reason} /> },
]

export default function ChangesPage() {
  const [query, set] = useQuery()
  const { action = '', subject = '' } = query
  const range = useRange('')
  const [more, setMore] = useState<readonly AuditEntriesReply[]>([])
  const wanted = { order: 'newest', ...range.times, ...(action && { action }), ...(subject && { subject }) }
  const first = useResource<AuditEntriesReply>((signal) => call('/v1/audit', { query: wanted, signal }), [JSON.stringify(wanted)])
  useEffect(() => setMore([]), [first.data])
  const pages = first.data ? [first.data, ...more] : []
  const next = pages.at(-1)?.next_cursor
  const actions = Object.entries(ACTIONS).map(([name, [, text]]) => [name, text] as const)
  return (
    <>
      <PageHead title="Changes">
        Changes of keys, guardrails and the configuration, and sign-ins: by whom, from where, before and after.
      </PageHead>
      <RangeChoice range={range} all />
      <search class="filters keys-filters">
        <Choice
          name="action"
          label="Change"
          value={action}
          onChange={(value) => set({ action: value })}
          options={[['', 'All'], ...actions]}
        />
        <Field
          name="subject"
          label="Of"
          type="search"
          value={subject}
          placeholder="Name of a key, id of a guardrail"
          onChange={(value) => set({ subject: value })}
        />
      </search>
      <section class="card" aria-label="Changes that are found">
        <Table
          caption="Changes"
          rows={first.data && pages.flatMap(({ data }) => data)}
          error={first.error}
          onRetry={first.reload}
          rowKey={({ sequence }) => String(sequence)}
          empty={<EmptyNote title="Nothing has changed" />}
          columns={CHANGE_COLUMNS}
        />
        {next && (
          <p class="actions findings-more">
            <button
              type="button"
              class="button"
              onClick={() =>
                call<AuditEntriesReply>('/v1/audit', { query: { ...wanted, cursor: next } }).then(
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
