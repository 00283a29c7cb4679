/** A chart over time with its title, its legend and the table of its figures. `chart-canvas.ts` draws the picture. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { formatClock } from '../format.ts'
import type { Series } from './chart-canvas.ts'
import { EmptyNote } from './notes.tsx'
import { Table } from './table.tsx'

export interface ChartProps {
  readonly title: string
  /** Seconds since the epoch, ascending. */
  readonly times: readonly number[]
  readonly series: readonly Series[]
  /** Pixels. */
  readonly height?: number
  /** Form of a time in the table; the time of day where absent. */
  readonly formatTime?: (seconds: number) => string
}

export function Chart({ title, times, series, height = 180, formatTime = (seconds) => formatClock(seconds * 1000) }: ChartProps) {
  const [showsTable, setShowsTable] = useState(false)
  /** Place of the figures under the pointer. */
  const [pointed, setPointed] = useState<number>()
  const time = pointed === undefined ? undefined : times[pointed]
  const rows = times.map((time, index) => ({ time, index }))
  return (
    <figure class="chart">
      <div class="chart-head">
        <figcaption>{title}</figcaption>
        <ul class="legend" aria-hidden="true">
          {time !== undefined && <li class="pointed-time number">{formatTime(time)}</li>}
          {series.map(({ label, colour, values, format }) => (
            <li key={label}>
              <span class={`swatch ${colour.slice(2)}`} />
              {label}
              {pointed !== undefined && time !== undefined && <strong class="pointed number">{format(values[pointed] ?? null)}</strong>}
            </li>
          ))}
        </ul>
        <button type="button" class="button small" aria-pressed={showsTable} onClick={() => setShowsTable(!showsTable)}>
          Table
        </button>
      </div>
      {times.length === 0 ? (
        <EmptyNote title="No data in this time" />
      ) : showsTable ? (
        <div class="chart-table">
          <Table
            caption={`${title}, as a table`}
            rows={rows.toReversed()}
            rowKey={({ time }) => String(time)}
            columns={[
              { name: 'time', title: 'Time', cell: ({ time }) => formatTime(time), sortBy: ({ time }) => time },
              ...series.map(({ label, values, format }) => ({
                name: label,
                title: label,
                isNumber: true,
                cell: ({ index }: { index: number }) => format(values[index] ?? null),
                sortBy: ({ index }: { index: number }) => values[index],
              })),
            ]}
          />
        </div>
      ) : (
        <Plot times={times} series={series} height={height} label={`${title}. ${summary(series)}`} onPoint={setPointed} />
      )}
    </figure>
  )
}

/** Text for a screen reader in place of the picture. */
function summary(series: readonly Series[]): string {
  const parts = series.map(({ label, values, format }) => {
    const known = values.filter((value) => value !== null)
    if (known.length === 0) return `${label}: no data`
    return `${label}: last ${format(known.at(-1) ?? null)}, highest ${format(Math.max(...known))}`
  })
  return `${parts.join('. ')}. The button Table shows all figures.`
}

interface PlotProps {
  readonly times: readonly number[]
  readonly series: readonly Series[]
  readonly height: number
  readonly label: string
  /** Called with the place of the figures under the pointer, and with undefined when it has left. */
  readonly onPoint: (place: number | undefined) => void
}

function Plot({ times, series, height, label, onPoint }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const data = [times, ...series.map(({ values }) => values)] as uPlot.AlignedData
  const [theme, setTheme] = useState(0)
  useEffect(() => {
    const changed = (): void => setTheme((last) => last + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    system.addEventListener('change', changed)
    addEventListener('themechange', changed)
    return () => {
      system.removeEventListener('change', changed)
      removeEventListener('themechange', changed)
    }
  }, [])
  const latest = useRef(data)
  latest.current = data
  const shape = series.map(({ label, colour, kind }) => `${label} ${colour} ${kind}`).join('|')
  useEffect(() => {
    const element = place.current
    if (!element) return
    let ended = false
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    // Pages without a chart do not load it.
    void import('./chart-canvas.ts').then(({ createPlot }) => {
      if (ended) return
      plot.current = createPlot(element, { series, height, data: latest.current, onPoint })
      resized.observe(element)
    })
    return () => {
      ended = true
      resized.disconnect()
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [shape, height, theme])
  useEffect(() => plot.current?.setData(data), [data])
  return <div class={height > 200 ? 'plot tall' : 'plot'} ref={place} role="img" aria-label={label} />
}
