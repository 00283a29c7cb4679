/** Draws lines, areas, bars and axes of a chart on a canvas with uPlot, in the colours of the style sheet. Loaded with the first chart. */
import uPlot from 'uplot'
import { currentZone, zoneOptions } from '../zone.ts'

export interface Series {
  readonly label: string
  /** As many as there are times; null: a gap. */
  readonly values: readonly (number | null)[]
  /** Name of a colour of the style sheet, such as `--chart-1`. */
  readonly colour: string
  readonly format: (value: number | null) => string
  readonly kind?: 'line' | 'area' | 'bars'
}

export interface PlotOptions {
  readonly series: readonly Series[]
  readonly height: number
  readonly data: uPlot.AlignedData
  /** Called with the place of the figures under the pointer, and with undefined when it has left. */
  readonly onPoint: (place: number | undefined) => void
}

export function createPlot(element: HTMLElement, { series, height, data, onPoint }: PlotOptions): uPlot {
  const style = getComputedStyle(element)
  const colour = (name: string): string => resolved(element, style.getPropertyValue(name))
  const [quiet, line] = [colour('--quiet'), colour('--line')]
  const font = `12px ${style.fontFamily}`
  const first = series[0]
  return new uPlot(
    {
      width: element.clientWidth,
      height,
      legend: { show: false },
      // uPlot's own reading of times, in the zone of the page.
      tzDate: (seconds) => (currentZone() === 'utc' ? uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') : new Date(seconds * 1000)),
      hooks: { setCursor: [({ cursor }) => onPoint(cursor.left === undefined || cursor.left < 0 ? undefined : (cursor.idx ?? undefined))] },
      cursor: { y: false, points: { size: 7 } },
      // At the right half of a label of the time, the longest of which is 00:00:00.
      padding: [10, 30, 0, 0],
      scales: {
        // Of a single point uPlot would show a day.
        x: { range: (plot, first, last) => (plot.data[0].length > 1 ? [first, last] : [first - 30, first + 30]) },
        y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] },
      },
      axes: [
        { stroke: quiet, font, size: 28, incrs: STEPS, grid: { show: false }, ticks: { show: false }, space: 90, values: timesOfDay },
        {
          stroke: quiet,
          font,
          size: labelWidth,
          grid: { stroke: line, width: 1 },
          ticks: { show: false },
          space: 40,
          values: (_plot, values) => values.map((value) => first?.format(value) ?? ''),
        },
      ],
      series: [{}, ...series.map((each) => drawn(each, colour(each.colour)))],
    },
    data,
    element,
  )
}

function drawn({ label, kind }: Series, stroke: string): uPlot.Series {
  const common = { label, stroke, width: 2, points: { show: isSparse, size: 5, fill: stroke } }
  if (kind === 'bars') {
    const bars = uPlot.paths.bars?.({ size: [0.7, 40], radius: 0.15 })
    return { ...common, width: 0, fill: stroke, ...(bars && { paths: bars }) }
  }
  return kind === 'area' ? { ...common, fill: `color-mix(in srgb, ${stroke} 14%, transparent)` } : common
}

/** A line of one point would not be seen. */
const isSparse = (_plot: uPlot, _series: number, first: number, last: number): boolean => last - first < 2

/** `light-dark()` as the colour that holds now: a canvas takes no function of the style sheet. */
function resolved(element: HTMLElement, value: string): string {
  const probe = document.createElement('span')
  probe.style.color = value
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** Seconds between two times of an axis: no parts of a second. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000]

/** Pixels of the labels beside the plot: none is cut, however large the sums. Of 12 px a character of most fonts takes 7. */
function labelWidth(_plot: uPlot, labels: readonly string[] | null): number {
  return Math.max(58, ...(labels ?? []).map((label) => label.length * 7 + 12))
}

/** Days where the points are far apart, otherwise the time of day. */
function timesOfDay(_plot: uPlot, splits: number[], _axis: number, _space: number, step: number): string[] {
  return splits.map((seconds) => {
    const date = new Date(seconds * 1000)
    if (step >= 86_400) return date.toLocaleDateString('sv-SE', zoneOptions()).slice(5)
    return date.toLocaleTimeString('sv-SE', zoneOptions()).slice(0, step >= 60 ? 5 : 8)
  })
}
