/** The chart of the page "Usage": one measure over the range. */
import { useState } from 'preact/hooks'
import type { SlicesReply } from '../api-types.ts'
import { Chart } from '../components/chart.tsx'
import type { Series } from '../components/chart-canvas.ts'
import { Choice } from '../components/field.tsx'
import { formatCount, formatMs, formatShort, formatTime, formatUsd } from '../format.ts'

type Point = SlicesReply['points'][number]

interface Measure {
  readonly title: string
  readonly series: readonly (Omit<Series, 'values'> & { readonly value: (point: Point) => number | null | undefined })[]
}

const MEASURES: Readonly<Record<string, Measure>> = {
  spent: {
    title: 'Spent',
    series: [{ label: 'Spent', colour: '--chart-1', format: formatUsd, kind: 'area', value: ({ usage }) => usage }],
  },
  requests: {
    title: 'Requests and errors',
    series: [
      { label: 'Requests', colour: '--chart-1', format: formatCount, kind: 'area', value: ({ requests }) => requests },
      { label: 'Failed', colour: '--chart-2', format: formatCount, value: ({ failed_requests: failed }) => failed },
    ],
  },
  tokens: {
    title: 'Tokens',
    series: [
      { label: 'In', colour: '--chart-1', format: formatShort, value: ({ prompt_tokens: count }) => count },
      { label: 'From a cache', colour: '--chart-4', format: formatShort, value: ({ cached_tokens: count }) => count },
      { label: 'Out', colour: '--chart-3', format: formatShort, value: ({ completion_tokens: count }) => count },
    ],
  },
  times: {
    title: 'Time of replies',
    series: [
      { label: 'First token, half', colour: '--chart-3', format: formatMs, value: ({ time_to_first_token_ms: ms }) => ms?.p50 },
      { label: 'Whole, half', colour: '--chart-1', format: formatMs, value: ({ latency_ms: ms }) => ms?.p50 },
      { label: 'Whole, 95 %', colour: '--chart-5', format: formatMs, value: ({ latency_ms: ms }) => ms?.p95 },
      { label: 'Whole, 99 %', colour: '--chart-4', format: formatMs, value: ({ latency_ms: ms }) => ms?.p99 },
    ],
  },
}

export function UsageChart({ points }: { points: readonly Point[] }) {
  const [name, setName] = useState('spent')
  const { title, series } = MEASURES[name] ?? (MEASURES.spent as Measure)
  return (
    <>
      <div class="usage-measure">
        <Choice
          name="measure"
          label="Over time"
          value={name}
          options={Object.entries(MEASURES).map(([word, { title }]) => [word, title] as const)}
          onChange={setName}
        />
      </div>
      <Chart
        title={title}
        times={points.map(({ at }) => Date.parse(at) / 1000)}
        series={series.map(({ value, ...each }) => ({ ...each, values: points.map((point) => value(point) ?? null) }))}
        formatTime={(seconds) => formatTime(seconds * 1000)}
      />
    </>
  )
}
