/** The page "Usage": spend, tokens, errors and times of any range, by what the visitor chooses, with the dearest and slowest requests. */
import type { ComponentChildren } from 'preact'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { RangeChoice } from '../components/range-choice.tsx'
import { PageHead, Section } from '../components/values.tsx'
import type { PageProps } from '../page.ts'
import { useRange } from '../range.ts'
import { opens } from '../rights.ts'
import { pathTo, useQuery } from '../router.ts'
import { UsageChart } from './usage-chart.tsx'
import { Happened } from './usage-happened.tsx'
import { ExtremeRequests } from './usage-requests.tsx'
import { Cover, useSlices } from './usage-slices.tsx'
import { Totals, UsageTable } from './usage-sums.tsx'
import { FILTER_NAMES, FILTERS, type FilterName, HAPPENED, REQUESTS, SUMS, shownValue } from './usage-views.ts'

type Filters = Partial<Record<FilterName, string>>

export default function UsagePage({ session }: PageProps) {
  const [query, set] = useQuery()
  const range = useRange('today')
  const view = query.view && (query.view in SUMS || query.view in REQUESTS || query.view === HAPPENED) ? query.view : 'key'
  const filters: Filters = Object.fromEntries(FILTER_NAMES.flatMap((name) => (query[name] ? [[name, query[name]]] : [])))
  const views = [
    ...Object.entries(SUMS).map(([word, { title }]) => [word, title] as const),
    ...(opens(session, 'GET /v1/slices/generations') ? Object.entries(REQUESTS).map(([word, { title }]) => [word, title] as const) : []),
    [HAPPENED, 'What happened'] as const,
  ]
  const link = (word: string): string => pathTo(['usage'], { ...query, view: word, sort: undefined, order: undefined })
  return (
    <>
      <PageHead title="Usage">Spend, tokens, errors and times of requests, as they are settled.</PageHead>
      <RangeChoice range={range} />
      <nav class="segments usage-views" aria-label="Views">
        {views.map(([word, title]) => (
          <a key={word} href={link(word)} aria-current={word === view ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <ActiveFilters filters={filters} onRemove={(name) => set({ [name]: undefined })} />
      {view in REQUESTS ? (
        <ExtremeRequests view={view} times={range.times} filters={filters} />
      ) : (
        <Sums view={view === HAPPENED ? 'errors' : view} times={range.times} filters={filters}>
          {view === HAPPENED && <Happened times={range.times} session={session} />}
        </Sums>
      )}
    </>
  )
}

function ActiveFilters({ filters, onRemove }: { filters: Filters; onRemove: (name: FilterName) => void }) {
  const names = FILTER_NAMES.filter((name) => filters[name])
  if (names.length === 0) return null
  return (
    <p class="actions usage-filters">
      {names.map((name) => (
        <button key={name} type="button" class="button small" onClick={() => onRemove(name)}>
          {FILTERS[name]}: {shownValue(filters[name]?.slice(0, 40))} <span aria-hidden="true">✕</span>
          <span class="hidden">, take this filter away</span>
        </button>
      ))}
    </p>
  )
}

interface SumsProps {
  readonly view: string
  readonly times: { readonly since?: string; readonly until?: string }
  readonly filters: Filters
  /** Stands between the chart and the table. */
  readonly children?: ComponentChildren
}

function Sums({ view, times, filters, children }: SumsProps) {
  const slices = useSlices(view, times, filters)
  const { data, error, reload } = slices
  if (!data) return error ? <ErrorNote error={error} onRetry={reload} /> : <Loading />
  return (
    <>
      {error && <ErrorNote error={error} onRetry={reload} />}
      <Cover {...data} />
      <Totals total={data.total} />
      <section class="card" aria-label="Over time">
        <UsageChart points={data.points} />
      </section>
      {children}
      <Section title={SUMS[view]?.title ?? ''}>
        {data.total.requests === 0 ? (
          <EmptyNote title="No settled request in this time" />
        ) : (
          <UsageTable view={view} slices={data.data} groups={data.groups} />
        )}
      </Section>
    </>
  )
}
