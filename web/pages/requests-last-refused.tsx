/** Requests that the gateway itself has refused, beside other things: the last ones of all keys, and those of one key by limit. */
import { call } from '../api.ts'
import type { RefusalsReply } from '../api-types.ts'
import { EmptyNote } from '../components/notes.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Section, Time } from '../components/values.tsx'
import { formatCount } from '../format.ts'
import { useResource } from '../resource.ts'
import { pathTo } from '../router.ts'
import { plainWord } from '../words.ts'
import { RefusalKey, RefusedText, WhyRefused } from './requests-refusals.tsx'

type Refusal = RefusalsReply['data'][number]
type Latest = Refusal['latest'][number]
type NamedLimit = NonNullable<Latest['limit']>

/** Milliseconds between two readings, and rows that are shown. */
const EVERY = 10_000
const SHOWN = 5
/** Minutes of a key that are added up, the newest. */
const MOST = 500

const LAST: readonly Column<Refusal>[] = [
  { name: 'last', title: 'Last', cell: ({ last_at: at }) => <Time iso={at} /> },
  { name: 'why', title: 'Why', cell: (row) => <WhyRefused {...row} /> },
  { name: 'key', title: 'Key', cell: (row) => <RefusalKey {...row} /> },
  { name: 'count', title: 'Requests', isNumber: true, cell: ({ count }) => formatCount(count) },
  { name: 'latest', title: 'What the caller read', cell: ({ latest: [newest] }) => newest && <RefusedText refused={newest} /> },
]

/** The last ones of all keys. */
export function LastRefused() {
  const found = useResource<RefusalsReply>((signal) => call('/v1/refusals', { query: { limit: SHOWN }, signal }), [], { every: EVERY })
  return (
    <Section title="Refused by the gateway" actions={<a href={pathTo(['requests', 'refused'])}>All of them</a>}>
      <Table
        caption="The last refused requests"
        rows={found.data?.data}
        error={found.data ? undefined : found.error}
        onRetry={found.reload}
        rowKey={({ minute, reason, api_key_hash: hash, last_at: at }) => [minute, reason, hash, at].join(' ')}
        empty={<EmptyNote title="Nothing was refused in the last 24 hours" />}
        columns={LAST}
      />
    </Section>
  )
}

/** Refusals of one key with one reason and by one limit. */
interface Together {
  readonly name: string
  readonly reason: Refusal['reason']
  readonly status: number
  readonly limit: NamedLimit | undefined
  readonly count: number
  readonly last: string
  readonly newest: Latest | undefined
}

const BY_LIMIT: readonly Column<Together>[] = [
  { name: 'limit', title: 'Limit', cell: ({ limit }) => limitText(limit), sortBy: ({ limit }) => limitText(limit) },
  { name: 'why', title: 'Why', cell: (row) => <WhyRefused {...row} />, sortBy: ({ reason }) => reason },
  { name: 'count', title: 'Requests', isNumber: true, cell: ({ count }) => formatCount(count), sortBy: ({ count }) => count },
  { name: 'last', title: 'Last', cell: ({ last }) => <Time iso={last} />, sortBy: ({ last }) => last },
  {
    name: 'latest',
    title: 'What the caller read last',
    cell: ({ newest }) => newest && <RefusedText refused={newest} />,
  },
]

/** Those of one key in the last 24 hours. */
export function RefusedOfKey({ hash }: { hash: string }) {
  const query = { api_key_hash: hash, limit: MOST }
  const found = useResource<RefusalsReply>((signal) => call('/v1/refusals', { query, signal }), [hash])
  return (
    <Section
      title="Refused by the gateway"
      actions={<a href={pathTo(['requests', 'refused'], { api_key_hash: hash })}>By minute, and earlier ones</a>}
    >
      <p class="quiet">
        {found.data?.next ? `The newest ${formatCount(MOST)} minutes with refusals of the last 24 hours.` : 'The last 24 hours.'}
      </p>
      <Table
        caption="Refused requests by limit and reason"
        rows={found.data && together(found.data.data)}
        error={found.error}
        onRetry={found.reload}
        rowKey={({ name }) => name}
        empty={<EmptyNote title="Nothing was refused in this time" />}
        columns={BY_LIMIT}
      />
    </Section>
  )
}

/** @param rows the newest first. */
function together(rows: readonly Refusal[]): readonly Together[] {
  const found = new Map<string, Together>()
  const add = ({ reason, status, last_at: at, latest }: Refusal, limit: NamedLimit | undefined, count: number): void => {
    if (count <= 0) return
    const text = limitText(limit)
    const name = `${reason} ${status} ${text}`
    const before = found.get(name)
    const newest = before?.newest ?? latest.find((each) => limitText(each.limit ?? undefined) === text)
    found.set(name, { name, reason, status, limit, count: (before?.count ?? 0) + count, last: before?.last ?? newest?.at ?? at, newest })
  }
  for (const row of rows) {
    let rest = row.count
    for (const { count, ...limit } of row.limits) {
      add(row, limit, count)
      rest -= count
    }
    add(row, undefined, rest)
  }
  return [...found.values()].sort((a, b) => b.count - a.count)
}

const SCOPES: Readonly<Record<string, string>> = {
  key: 'The key’s own',
  issuer: 'Of the key that issued it',
  guardrail: 'Budget of a guardrail',
  provider: 'At the provider',
}

function limitText(limit: NamedLimit | undefined): string {
  if (!limit) return 'No limit'
  const { scope, kind, per } = limit
  const whose = scope === null ? 'Not known' : (SCOPES[scope] ?? plainWord(scope))
  if (kind === null) return whose
  return `${whose}: ${kind === 'usd' ? 'US dollars' : plainWord(kind)}${per === null ? '' : ` per ${per}`}`
}
