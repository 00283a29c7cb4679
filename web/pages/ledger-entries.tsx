/** Entries of the ledger beside its requests: what was not recovered or is disputed, and what operators have corrected, given back or written off. */
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { LedgerEntriesReply, LedgerEntry } from '../api-types.ts'
import { Choice } from '../components/field.tsx'
import { EmptyNote } from '../components/notes.tsx'
import { type Column, Table } from '../components/table.tsx'
import { toastError } from '../components/toast.tsx'
import { Badge, Money, Section, Time, type Tone } from '../components/values.tsx'
import { useResource } from '../resource.ts'
import { useControl } from '../rights.ts'
import { pathTo } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { type About, AddEntry } from './ledger-entry-form.tsx'

type Kind = LedgerEntry['kind']

const KINDS: Meanings<Kind, readonly [tone: Tone, text: string]> = {
  unrecovered: ['bad', 'Not recovered'],
  disputed: ['warn', 'Disputed'],
  correction: ['accent', 'Correction'],
  refund: ['accent', 'Refund'],
  write_off: ['neutral', 'Written off'],
}

/** Entries that the gateway notes by itself, and an operator can settle. */
const isLoss = (kind: Kind): boolean => kind === 'unrecovered' || kind === 'disputed'

const PAGE = 50

export interface EntriesProps {
  readonly title?: string
  /** Only those of this key; an entry can be added to it. */
  readonly hash?: string
  /** Only those about this request; an entry can be added to it. */
  readonly generation?: string
  /** Of the key: shown before an entry is added. */
  readonly keyName?: string | undefined
  /** Is called after one was added. */
  readonly onAdded?: () => void
}

export function Entries({ title = 'Corrections and refunds', hash, generation, keyName, onAdded }: EntriesProps) {
  const [kind, setKind] = useState('')
  const add = useControl('POST /v1/ledger/entries')
  const [about, setAbout] = useState<About>()
  const [more, setMore] = useState<readonly LedgerEntriesReply[]>([])
  const load = (signal?: AbortSignal, cursor?: string): Promise<LedgerEntriesReply> =>
    call('/v1/ledger/entries', {
      query: { order: 'newest', limit: PAGE, api_key_hash: hash, generation_id: generation, kind, cursor },
      signal,
    })
  const first = useResource(load, [hash, generation, kind])
  useEffect(() => setMore([]), [first.data])
  const pages = first.data ? [first.data, ...more] : []
  const next = pages.at(-1)?.next_cursor
  const own: About | undefined = generation ? { generation, keyName } : hash ? { hash, keyName } : undefined
  return (
    <Section
      title={title}
      actions={
        own && (
          <button type="button" class="button" onClick={() => setAbout(own)} {...add}>
            Correct or refund
          </button>
        )
      }
    >
      {!own && (
        <div class="filters keys-filters">
          <Choice
            name="kind"
            label="Kind"
            value={kind}
            onChange={setKind}
            options={[['', 'All'], ...Object.entries(KINDS).map(([word, [, text]]) => [word, text] as const)]}
          />
        </div>
      )}
      <Table
        caption="Entries of the ledger"
        rows={first.data && pages.flatMap(({ data }) => data)}
        error={first.error}
        onRetry={first.reload}
        rowKey={({ id }) => id}
        empty={<EmptyNote title={generation ? 'Nothing was corrected or given back' : 'No entries'} />}
        columns={entryColumns(own, setAbout, add)}
      />
      {next != null && (
        <p class="actions findings-more">
          <button
            type="button"
            class="button"
            onClick={() => load(undefined, next).then((page) => setMore((last) => [...last, page]), toastError)}
          >
            Show more
          </button>
        </p>
      )}
      <AddEntry
        about={about}
        onClose={() => setAbout(undefined)}
        onAdded={() => {
          setAbout(undefined)
          first.reload()
          onAdded?.()
        }}
      />
    </Section>
  )
}

/** Facts that the page itself states are no columns. */
function entryColumns(
  own: About | undefined,
  settle: (about: About) => void,
  add: ReturnType<typeof useControl>,
): readonly Column<LedgerEntry>[] {
  const columns: (Column<LedgerEntry> | false)[] = [
    { name: 'at', title: 'Time', cell: ({ created_at: at }) => <Time iso={at} />, sortBy: ({ created_at: at }) => at },
    { name: 'kind', title: 'Kind', cell: (entry) => <EntryKind {...entry} />, sortBy: ({ kind }) => kind },
    { name: 'amount', title: 'Amount', isNumber: true, cell: ({ amount }) => <Money usd={amount} />, sortBy: ({ amount }) => amount },
    own === undefined && {
      name: 'key',
      title: 'Key',
      cell: ({ api_key_hash: of, api_key_name: name }) => <a href={pathTo(['keys', of])}>{name ?? <code>{of.slice(0, 12)}</code>}</a>,
      sortBy: ({ api_key_name: name }) => name,
    },
    own?.generation === undefined && {
      name: 'request',
      title: 'Request',
      cell: ({ generation_id: id }) => (id === null ? '–' : <a href={pathTo(['requests', id])}>Show it</a>),
    },
    { name: 'reason', title: 'Reason', cell: ({ reason, settles }) => <Reason reason={reason} settles={settles} /> },
    { name: 'actor', title: 'Made by', cell: ({ actor }) => actor, sortBy: ({ actor }) => actor },
    {
      name: 'settle',
      title: 'Settle',
      cell: ({ id, kind, amount, api_key_name: keyName }) =>
        isLoss(kind) ? (
          <button
            type="button"
            class="button small"
            onClick={() => settle({ settles: id, amount, keyName: keyName ?? undefined })}
            {...add}
          >
            Settle
          </button>
        ) : (
          '–'
        ),
    },
  ]
  return columns.filter((column) => column !== false)
}

function EntryKind({ kind }: Pick<LedgerEntry, 'kind'>) {
  const [tone, text] = wordMeaning(KINDS, kind) ?? ['warn', plainWord(kind)]
  return <Badge tone={tone}>{text}</Badge>
}

function Reason({ reason, settles }: Pick<LedgerEntry, 'reason' | 'settles'>) {
  return (
    <>
      {reason || '–'}
      {settles !== null && (
        <span class="under">
          settles <code>{settles}</code>
        </span>
      )}
    </>
  )
}
