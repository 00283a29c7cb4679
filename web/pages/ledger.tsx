/** The page "Ledger": totals, the check of the ledger, what the start recovered, sums made anew, and the export. */
import { useState } from 'preact/hooks'
import { apiAddress, call } from '../api.ts'
import type { ProgressReply, RebuiltReply, RecoveryReply, VerdictReply } from '../api-types.ts'
import { ErrorNote, Loading } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { announce, toast, toastError } from '../components/toast.tsx'
import { Badge, DownloadLink, Figure, Figures, Money, PageHead, Section, Time } from '../components/values.tsx'
import { formatCount, formatUsd } from '../format.ts'
import type { PageProps } from '../page.ts'
import { type Resource, useResource } from '../resource.ts'
import { opens, useControl } from '../rights.ts'
import { Entries } from './ledger-entries.tsx'
import { RangeExport } from './ledger-export.tsx'

/** Nano-dollars; a text where they are more than 2^53. */
type Nano = VerdictReply['charged']

/** Milliseconds between two looks at a check. */
const LOOK = 1_000

const usd = (nano: Nano): number => Number(nano) / 1e9

/** With what was checked before. */
const total = (verdict: VerdictReply, of: 'charged' | 'providers' | 'fees'): string =>
  formatUsd(usd(verdict[of]) + usd(verdict.before?.[of] ?? 0))

/** Scope of the check: recent rows, new rows, every row. */
type Extent = 'kept' | 'new' | 'all'

export default function LedgerPage({ session }: PageProps) {
  const [extent, setExtent] = useState<Extent>('kept')
  const verdict = useResource<VerdictReply>(
    (signal) =>
      call(extent === 'all' ? '/ledger/verify/full' : '/ledger/verify', {
        signal,
        ...(extent !== 'kept' && { headers: { 'cache-control': 'no-cache' } }),
      }),
    [extent],
  )
  const recovery = useResource<RecoveryReply>((signal) => call('/ledger/recovery', { signal }), [])
  const verify = (wanted: Extent): void => {
    announce('The ledger is checked')
    if (extent === wanted) verdict.reload()
    else setExtent(wanted)
  }
  return (
    <>
      <PageHead title="Ledger">What was charged, whether it adds up, and every row of it to take along.</PageHead>
      <Totals verdict={verdict} />
      <div class="columns">
        <Section
          title="Check"
          actions={
            <>
              <button type="button" class="button" onClick={() => verify('all')} disabled={verdict.isLoading}>
                Check every row
              </button>
              <button type="button" class="button" onClick={() => verify('new')} disabled={verdict.isLoading}>
                {verdict.isLoading ? 'Checking…' : 'Check now'}
              </button>
            </>
          }
        >
          {verdict.isLoading && <Progress />}
          <Check verdict={verdict} />
        </Section>
        <Section title="Recovered at the start">
          <Recovered recovery={recovery} />
        </Section>
        <Section title="Sums of use">
          <p>
            Activity, credits and spend by day are read from sums that are kept beside the rows. They can be made anew from the rows;
            figures stay right meanwhile.
          </p>
          <Rebuild />
        </Section>
        {opens(session, 'GET /ledger/export') && (
          <Section title="Export">
            <p>
              One row per request with its cost, tokens, provider and timings, in the order of admission. No prompts, no answers, no keys.
            </p>
            <p class="actions">
              <DownloadLink href={apiAddress('/ledger/export')} name="ledger.jsonl">
                Save as JSON lines
              </DownloadLink>
            </p>
            <RangeExport />
          </Section>
        )}
      </div>
      <Entries title="Entries beside the requests" />
    </>
  )
}

function Totals({ verdict: { data } }: { verdict: Resource<VerdictReply> }) {
  return (
    <Figures label="Totals of the ledger">
      <Figure
        label="Requests"
        value={formatCount(data && data.generations + (data.before?.generations ?? 0))}
        detail={data && `${formatCount(data.open)} without a settlement yet`}
      />
      <Figure label="Charged" value={data ? total(data, 'charged') : '–'} detail="to all keys" />
      <Figure label="Providers" value={data ? total(data, 'providers') : '–'} detail="what they cost" />
      <Figure label="Fees" value={data ? total(data, 'fees') : '–'} detail="added by the gateway" />
      <Figure label="Removed rows" value={data ? formatUsd(usd(data.carried)) : '–'} detail="charged; removed by retention" />
    </Figures>
  )
}

function Check({ verdict: { data, error, reload } }: { verdict: Resource<VerdictReply> }) {
  if (error) return <ErrorNote error={error} onRetry={reload} />
  if (!data) return <Loading what="Checking" />
  return (
    <>
      <p class="verdict" role="status">
        {data.ok ? <Badge tone="good">Adds up</Badge> : <Badge tone="bad">Does not add up</Badge>}
        <span>
          {formatCount(data.generations + (data.before?.generations ?? 0))} requests,{' '}
          {data.problems.length === 0 ? 'no problem found' : `${data.problems.length} problems`}
        </span>
      </p>
      <p class="quiet">
        Every request once and in order, at most one settlement each, entries that sum to zero, and the balance of each key equal to the sum
        of its entries.
      </p>
      {data.before && (
        <p class="quiet">
          Of these {formatCount(data.generations)} were read now; {formatCount(data.before.generations)} that were admitted before{' '}
          <Time iso={data.before.until} /> were found right <Time iso={data.before.checked_at} />. “Check every row” reads all of them
          again.
        </p>
      )}
      {data.problems.length > 0 && (
        <ul class="problems">
          {data.problems.map((problem) => (
            <li key={problem}>{problem}</li>
          ))}
        </ul>
      )}
    </>
  )
}

/** Progress of the check, once it takes longer than a moment. */
function Progress() {
  const { data } = useResource<ProgressReply>((signal) => call('/ledger/verify/progress', { signal }), [], { every: LOOK })
  const running = data?.running
  if (!running || running.generations === 0) return null
  const { generations, of, full } = running
  const share = full && of !== null && of > 0 ? Math.min(1, generations / of) : undefined
  return (
    <p class="progress">
      {share !== undefined && <progress value={share} aria-label="Rows that are checked" />}
      <span class="quiet">
        {formatCount(generations)}
        {share !== undefined && ` of about ${formatCount(Math.max(of ?? 0, generations))}`} requests read
      </span>
    </p>
  )
}

function Recovered({ recovery: { data, error, reload } }: { recovery: Resource<RecoveryReply> }) {
  if (error) return <ErrorNote error={error} onRetry={reload} />
  if (!data) return <Loading />
  if (data.count === 0)
    return (
      <p>
        <Badge tone="good">Nothing to recover</Badge> The last run ended in order.
      </p>
    )
  return (
    <>
      <p>
        {formatCount(data.count)} requests were open when the last run ended. They are settled, for <Money usd={usd(data.charged)} />, from{' '}
        <Time iso={data.oldest} /> to <Time iso={data.newest} />.
      </p>
      <Table
        caption="Recovered requests by key"
        rows={data.keys}
        rowKey={({ key }) => key}
        columns={[
          { name: 'key', title: 'Key', cell: ({ key }) => key, sortBy: ({ key }) => key },
          { name: 'count', title: 'Requests', isNumber: true, cell: ({ count }) => formatCount(count), sortBy: ({ count }) => count },
          {
            name: 'charged',
            title: 'Charged',
            isNumber: true,
            cell: ({ charged }) => <Money usd={usd(charged)} />,
            sortBy: ({ charged }) => charged,
          },
        ]}
      />
    </>
  )
}

function Rebuild() {
  const [isBusy, setBusy] = useState(false)
  const control = useControl('POST /ledger/rebuild', isBusy)
  const rebuild = async (): Promise<void> => {
    setBusy(true)
    await call<RebuiltReply>('/ledger/rebuild', { method: 'POST' }).then(
      ({ from }) => toast(`The sums are made anew from ${from} on`),
      toastError,
    )
    setBusy(false)
  }
  return (
    <p class="actions">
      <button type="button" class="button" onClick={rebuild} {...control}>
        {isBusy ? 'Starting…' : 'Make them anew'}
      </button>
    </p>
  )
}
