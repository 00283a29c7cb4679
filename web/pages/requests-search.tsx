/** The search: its fields, which the address keeps, and what is found, the newest first. */
import { apiAddress } from '../api.ts'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Badge, DownloadLink, Duration, Money, PageHead, Section, Time, type Tone } from '../components/values.tsx'
import { formatCount, formatTime } from '../format.ts'
import { useRange } from '../range.ts'
import { navigate, pathTo, useQuery } from '../router.ts'
import { type Meanings, plainWord, wordMeaning } from '../words.ts'
import { Filters } from './requests-filters.tsx'
import { type Found, useSearch } from './requests-found.ts'
import type { RequestEntry, RequestStatus } from './requests-types.ts'

export const STATUS: Meanings<RequestStatus, readonly [tone: Tone, text: string]> = {
  completed: ['good', 'Completed'],
  incomplete: ['warn', 'Incomplete'],
  failed: ['bad', 'Failed'],
  aborted: ['warn', 'Aborted'],
  unknown: ['bad', 'Unknown'],
  open: ['accent', 'Open'],
}

export function RequestState({ status, error }: { status: RequestStatus; error: string | null }) {
  const [tone, text] = wordMeaning(STATUS, status) ?? ['neutral', plainWord(status)]
  return (
    <>
      <Badge tone={tone}>{text}</Badge>
      {error && <span class="under">{error}</span>}
    </>
  )
}

/** Parameters of the address that the API knows under the same name. */
const PLAIN = ['api_key_hash', 'model', 'provider', 'endpoint', 'status', 'error', 'session_id', 'min_cost', 'max_cost', 'streamed']

export function Search() {
  const [query, setQuery] = useQuery()
  const range = useRange('')
  const wanted: Record<string, string> = { ...range.times }
  for (const name of PLAIN) if (query[name]) wanted[name] = query[name]
  const found = useSearch(wanted)
  const again = (): void => {
    range.refresh()
    found.reload()
  }
  return (
    <>
      <PageHead
        title="Requests"
        actions={
          <>
            <a href={pathTo(['requests', 'refused'])}>Refused requests</a>
            <DownloadLink href={apiAddress('/v1/generations', { ...wanted, format: 'csv' })} name="">
              Save as CSV
            </DownloadLink>
            <button type="button" class="button" onClick={again} disabled={found.isSearching}>
              Search again
            </button>
          </>
        }
      >
        Where each request went, what it cost and how long it took.
      </PageHead>
      <Section title="Search" actions={<OpenById />}>
        <Filters query={query} setQuery={setQuery} error={found.error} />
      </Section>
      <section class="card" aria-label="What is found">
        <Rows found={found} isFiltered={Object.keys(wanted).length > 0} onRetry={again} />
        <Progress found={found} />
      </section>
    </>
  )
}

function OpenById() {
  const open = (event: SubmitEvent): void => {
    event.preventDefault()
    const id = new FormData(event.currentTarget as HTMLFormElement).get('id')
    if (typeof id === 'string' && id.trim() !== '') navigate(pathTo(['requests', id.trim()]))
  }
  return (
    <form class="open-by-id" onSubmit={open}>
      <input name="id" aria-label="Id of a request" placeholder="gen-… id of a request" spellcheck={false} autocomplete="off" required />
      <button type="submit" class="button">
        Open
      </button>
    </form>
  )
}

export const REQUEST_COLUMNS: readonly Column<RequestEntry>[] = [
  {
    name: 'time',
    title: 'Time',
    cell: ({ id, created_at: at }) => (
      <a href={pathTo(['requests', id])} title={id}>
        <Time iso={at} />
      </a>
    ),
  },
  { name: 'model', title: 'Model', cell: ({ model }) => <span class="model-name">{model}</span> },
  { name: 'status', title: 'Status', cell: (row) => <RequestState {...row} /> },
  {
    name: 'provider',
    title: 'Provider',
    cell: ({ provider_name: name, attempts }) => (
      <>
        {name ?? '–'}
        {attempts > 1 && <span class="under">{attempts} attempts</span>}
      </>
    ),
  },
  { name: 'key', title: 'Key', cell: ({ api_key_name: name, api_key_hash: hash }) => name ?? <code>{hash.slice(0, 10)}</code> },
  { name: 'in', title: 'Tokens in', isNumber: true, cell: ({ tokens_prompt: count }) => formatCount(count) },
  { name: 'out', title: 'Tokens out', isNumber: true, cell: ({ tokens_completion: count }) => formatCount(count) },
  { name: 'first', title: 'First token', isNumber: true, cell: ({ latency }) => <Duration ms={latency} /> },
  { name: 'whole', title: 'Whole', isNumber: true, cell: ({ generation_time: ms }) => <Duration ms={ms} /> },
  { name: 'cost', title: 'Cost', isNumber: true, cell: ({ usage }) => <Money usd={usage} /> },
]

function Rows({ found: { rows, error, isSearching }, isFiltered, onRetry }: { found: Found; isFiltered: boolean; onRetry: () => void }) {
  if (error && !rows) return <ErrorNote error={error} onRetry={onRetry} />
  if (!rows || (rows.length === 0 && isSearching)) return <Loading what="Searching" />
  if (rows.length === 0)
    return isFiltered ? (
      <EmptyNote title="No request is like that">Take a filter away, or look further back.</EmptyNote>
    ) : (
      <EmptyNote title="No requests yet">
        <a href={pathTo(['models', 'playground'])}>Send the first one in the playground</a>
      </EmptyNote>
    )
  return <Table caption="Requests found" rows={rows} rowKey={({ id }) => id} columns={REQUEST_COLUMNS} error={error} onRetry={onRetry} />
}

function Progress({ found }: { found: Found & { more: () => void; stop: () => void } }) {
  const { rows, isSearching, scannedUntil, hasMore } = found
  if (scannedUntil === undefined) return null
  const count = rows?.length ?? 0
  return (
    <div class="search-end">
      <p class="quiet">
        {formatCount(count)} {count === 1 ? 'request' : 'requests'}
        {hasMore ? <>, searched back to {formatTime(scannedUntil)}</> : ', all that there are'}
      </p>
      {isSearching ? (
        <button type="button" class="button small" onClick={found.stop}>
          Stop searching
        </button>
      ) : (
        hasMore && (
          <button type="button" class="button small" onClick={found.more}>
            Search further back
          </button>
        )
      )}
    </div>
  )
}
