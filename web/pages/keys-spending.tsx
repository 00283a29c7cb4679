/** Spending by key in the last 30 full days: a chart by day, a table, and the same as CSV. */
import { useMemo } from 'preact/hooks'
import { apiAddress, call } from '../api.ts'
import type { ActivityReply, Key } from '../api-types.ts'
import { Chart } from '../components/chart.tsx'
import { Choice } from '../components/field.tsx'
import { KeyChoice } from '../components/key-choice.tsx'
import { EmptyNote, ErrorNote, Loading } from '../components/notes.tsx'
import { Table } from '../components/table.tsx'
import { DownloadLink, Money, Section } from '../components/values.tsx'
import { formatCount, formatUsd } from '../format.ts'
import { useResource } from '../resource.ts'
import { useQuery } from '../router.ts'

type Activity = ActivityReply['data'][number]

const COLOURS = ['--chart-1', '--chart-3', '--chart-4', '--chart-5'] as const

const GROUPS = { model: 'Model', provider: 'Provider', day: 'Day', row: 'Day, model and provider' } as const
type Group = keyof typeof GROUPS

/** @param only figures of this key alone. */
export function Spending({ only }: { only?: Key }) {
  const [query, set] = useQuery()
  const hash = only?.hash ?? query.key
  const group: Group = query.by !== undefined && Object.hasOwn(GROUPS, query.by) ? (query.by as Group) : 'model'
  const activity = useResource<ActivityReply>((signal) => call('/v1/activity', { query: { api_key_hash: hash }, signal }), [hash])
  const rows = activity.data?.data
  return (
    <Section title="Who spent what" actions={rows && rows.length > 0 && <Csv of={hash} />}>
      <div class="filters spending-filters">
        {!only && <KeyChoice name="key" label="Key" value={hash ?? ''} placeholder="All keys" onChange={(value) => set({ key: value })} />}
        <Choice
          name="by"
          label="Table by"
          value={group}
          onChange={(value) => set({ by: value === 'model' ? undefined : value })}
          options={Object.entries(GROUPS)}
        />
      </div>
      {activity.error ? (
        <ErrorNote error={activity.error} onRetry={activity.reload} />
      ) : rows === undefined ? (
        <Loading />
      ) : rows.length === 0 ? (
        <EmptyNote title="Nothing spent in the last 30 full days">Today is not over, so it is not here yet (UTC).</EmptyNote>
      ) : (
        <>
          <ByDay rows={rows} />
          <Sums rows={rows} group={group} />
        </>
      )}
    </Section>
  )
}

/** The models that cost most, each by itself, and all others together. */
function ByDay({ rows }: { rows: readonly Activity[] }) {
  const { days, series } = useMemo(() => {
    const sums = new Map<string, number>()
    for (const { model, usage } of rows) sums.set(model, (sums.get(model) ?? 0) + usage)
    const order = [...sums].sort((a, b) => b[1] - a[1]).map(([model]) => model)
    const own = order.slice(0, order.length > COLOURS.length ? COLOURS.length - 1 : COLOURS.length)
    const names = order.length > own.length ? [...own, 'All others'] : own
    const first = Math.min(...rows.map(({ date }) => Date.parse(date)))
    const last = Math.max(...rows.map(({ date }) => Date.parse(date)))
    const days = Array.from({ length: (last - first) / 86_400_000 + 1 }, (_, day) => first / 1000 + day * 86_400)
    const values = new Map(names.map((name) => [name, days.map(() => 0)]))
    for (const { date, model, usage } of rows) {
      const line = values.get(own.includes(model) ? model : 'All others')
      const day = Math.round((Date.parse(date) / 1000 - (days[0] ?? 0)) / 86_400)
      if (line) line[day] = (line[day] ?? 0) + usage
    }
    return {
      days,
      series: names.map((label, at) => ({
        label,
        values: values.get(label) ?? [],
        colour: COLOURS[at] ?? '--chart-1',
        format: formatUsd,
      })),
    }
  }, [rows])
  return (
    <Chart
      title="Spent by day and model"
      times={days}
      series={series}
      height={260}
      formatTime={(seconds) => new Date(seconds * 1000).toISOString().slice(0, 10)}
    />
  )
}

type Counted = 'usage' | 'requests' | 'prompt_tokens' | 'completion_tokens' | 'reasoning_tokens'
type Sum = Pick<Activity, Counted> & { readonly name: string }

function groupSums(rows: readonly Activity[], group: Group): Sum[] {
  const activityName = ({ date, model, provider_name: provider }: Activity): string =>
    ({ model, provider, day: date, row: `${date} · ${model} · ${provider}` })[group]
  const sums = new Map<string, Sum>()
  for (const row of rows) {
    const name = activityName(row)
    const sum = sums.get(name)
    sums.set(name, {
      name,
      usage: (sum?.usage ?? 0) + row.usage,
      requests: (sum?.requests ?? 0) + row.requests,
      prompt_tokens: (sum?.prompt_tokens ?? 0) + row.prompt_tokens,
      completion_tokens: (sum?.completion_tokens ?? 0) + row.completion_tokens,
      reasoning_tokens: (sum?.reasoning_tokens ?? 0) + row.reasoning_tokens,
    })
  }
  const all = [...sums.values()]
  return group === 'model' || group === 'provider' ? all.sort((a, b) => b.usage - a.usage) : all
}

function Sums({ rows, group }: { rows: readonly Activity[]; group: Group }) {
  const number = (name: keyof Sum & string, title: string) => ({
    name,
    title,
    isNumber: true,
    cell: (sum: Sum) => formatCount(Number(sum[name])),
    sortBy: (sum: Sum) => Number(sum[name]),
  })
  return (
    <div class="spending-table">
      <Table
        caption={`Spent, by ${GROUPS[group].toLowerCase()}`}
        rows={groupSums(rows, group)}
        rowKey={({ name }) => name}
        columns={[
          { name: 'name', title: GROUPS[group], cell: ({ name }) => name, sortBy: ({ name }) => name },
          { name: 'usage', title: 'Spent', isNumber: true, cell: ({ usage }) => <Money usd={usage} />, sortBy: ({ usage }) => usage },
          number('requests', 'Requests'),
          number('prompt_tokens', 'Tokens in'),
          number('completion_tokens', 'Tokens out'),
        ]}
      />
    </div>
  )
}

/** As the API writes them: with the safety of cells, and every column. */
function Csv({ of }: { of: string | undefined }) {
  const query = { api_key_hash: of, format: 'csv' }
  return (
    <>
      <DownloadLink href={apiAddress('/v1/activity', query)} name="">
        Save as CSV
      </DownloadLink>
      <DownloadLink href={apiAddress('/v1/activity/keys', query)} name="">
        By key as CSV
      </DownloadLink>
    </>
  )
}
