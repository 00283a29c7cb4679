/** Sums of the page "Usage": those of all that is sought as figures, and those of what stands apart as a table that the gateway puts in order. */
import type { SlicesReply } from '../api-types.ts'
import { type Column, Table } from '../components/table.tsx'
import { Duration, Figure, Figures, Money, Time } from '../components/values.tsx'
import { formatCount, formatMs, formatShare, formatShort, formatUsd } from '../format.ts'
import { pathTo, useQuery } from '../router.ts'
import { plainWord } from '../words.ts'
import { COLUMNS, FILTERS, filterValue, type Slice, SUMS, shownValue } from './usage-views.ts'

const share = (part: number, all: number): number => (all === 0 ? 0 : part / all)

export function Totals({ total }: Pick<SlicesReply, 'total'>) {
  const { latency_ms: whole, time_to_first_token_ms: first } = total
  return (
    <Figures label="All together">
      <Figure label="Spent" value={formatUsd(total.usage)} />
      <Figure label="Requests" value={formatCount(total.requests)} />
      <Figure
        label="Failed"
        value={formatShare(share(total.failed_requests, total.requests))}
        detail={`${formatCount(total.failed_requests)} requests`}
      />
      <Figure
        label="Tokens in"
        value={formatShort(total.prompt_tokens)}
        detail={`${formatShare(share(total.cached_tokens, total.prompt_tokens))} from a cache`}
      />
      <Figure label="Tokens out" value={formatShort(total.completion_tokens)} />
      <Figure
        label="First token, half"
        value={formatMs(first?.p50)}
        detail={`95 % ${formatMs(first?.p95)}, 99 % ${formatMs(first?.p99)}`}
      />
      <Figure label="Whole, half" value={formatMs(whole?.p50)} detail={`95 % ${formatMs(whole?.p95)}, 99 % ${formatMs(whole?.p99)}`} />
    </Figures>
  )
}

/** Columns of figures; each has the name that the API orders by. */
const FIGURES: readonly Column<Slice>[] = [
  { name: 'usage', title: 'Spent', cell: ({ usage }) => <Money usd={usage} /> },
  { name: 'requests', title: 'Requests', cell: ({ requests }) => formatCount(requests) },
  { name: 'failed', title: 'Failed', cell: ({ failed_requests: failed }) => formatCount(failed) },
  { name: 'failed_share', title: 'Share', cell: ({ failed_requests: failed, requests }) => formatShare(share(failed, requests)) },
  { name: 'prompt', title: 'Tokens in', cell: ({ prompt_tokens: count }) => formatShort(count) },
  { name: 'completion', title: 'Tokens out', cell: ({ completion_tokens: count }) => formatShort(count) },
  { name: 'cached', title: 'From a cache', cell: ({ cached_tokens: count }) => formatShort(count) },
  { name: 'first_p50', title: 'First, half', cell: ({ time_to_first_token_ms: ms }) => <Duration ms={ms?.p50} /> },
  { name: 'whole_p50', title: 'Whole, half', cell: ({ latency_ms: ms }) => <Duration ms={ms?.p50} /> },
  { name: 'whole_p95', title: '95 %', cell: ({ latency_ms: ms }) => <Duration ms={ms?.p95} /> },
  { name: 'whole_p99', title: '99 %', cell: ({ latency_ms: ms }) => <Duration ms={ms?.p99} /> },
  { name: 'last', title: 'Last', cell: ({ last_at: at }) => <Time iso={at} /> },
]

/** Rows that are shown until the visitor wants all that have come. */
const MOST = 25

/** By the gateway: a page has only some of the groups. */
const sortable = (column: Column<Slice>): Column<Slice> => ({ ...column, isNumber: true, sortBy: () => 0 })

const SINCE: Column<Slice> = { name: 'first', title: 'Since', cell: ({ first_at: at }) => <Time iso={at} /> }

interface UsageTableProps {
  readonly view: string
  readonly slices: readonly Slice[]
  readonly groups: number
}

export function UsageTable({ view, slices, groups }: UsageTableProps) {
  const [query, set] = useQuery()
  const { by = [], sort: usual = 'usage', title = '' } = SUMS[view] ?? {}
  const { sort = usual, order } = query
  // The first names of an error tell little without the time of its first one.
  const figures = view === 'errors' ? [SINCE, ...FIGURES] : FIGURES
  return (
    <>
      <Table
        caption={`Usage by ${by.map((word) => FILTERS[COLUMNS[word]].toLowerCase()).join(' and ')}`}
        rows={view === 'errors' ? slices.filter(({ error }) => error) : slices}
        rowKey={(slice) => by.map((word) => filterValue(slice, COLUMNS[word])).join('\n')}
        columns={[...by.map((word) => nameColumn(word, query)), ...figures.map((column) => (column === SINCE ? column : sortable(column)))]}
        isSorted
        most={MOST}
        sorting={{ column: sort, descending: order !== 'asc' }}
        onSort={({ column, descending }) => set({ sort: column, order: descending ? undefined : 'asc' })}
      />
      {groups > slices.length && (
        <p class="quiet">
          {formatCount(slices.length)} of {formatCount(groups)} {title.toLowerCase()}, those that come first.
        </p>
      )}
    </>
  )
}

/** A name leads to all that is of it. */
function nameColumn(word: keyof typeof COLUMNS, query: Readonly<Record<string, string>>): Column<Slice> {
  const field = COLUMNS[word]
  const { sort: _, order: __, ...rest } = query
  return {
    name: word,
    title: FILTERS[field],
    cell: (slice) => {
      if (word === 'key') return <KeyLink slice={slice} />
      const value = slice[field]
      const text = shownValue(word === 'error' || word === 'status' ? value && plainWord(value) : value)
      return (
        <a href={pathTo(['usage'], { ...rest, view: word === 'error' ? 'model' : 'key', [field]: filterValue(slice, field) })}>{text}</a>
      )
    },
  }
}

function KeyLink({ slice: { api_key_hash: hash = '', api_key_name: name } }: { slice: Slice }) {
  return <a href={pathTo(['keys', hash])}>{name ?? <code>{hash.slice(0, 12)}</code>}</a>
}
