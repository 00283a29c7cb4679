/** The tables of the simulation, as Markdown that also reads well on a terminal. */
import { hourSpans, recoverySeconds, type SpanFigures, spanFigures, troubled } from './figures.ts'
import type { SimulationGoal } from './goals.ts'
import type { HourRun } from './hour.ts'
import { PROVIDERS } from './market.ts'
import { table } from './table.ts'

export function goalsText(goals: readonly SimulationGoal[]): string {
  const rows = goals.map((goal) => [goal.scenario, goal.what, goal.wanted, goal.found, goal.met ? 'met' : 'NOT MET'])
  return table(['scenario', 'goal', 'wanted', 'found', ''], rows)
}

/** One scenario as a heading, a table by minutes, and who came back when. */
export function scenarioText(run: HourRun): string {
  const { scenario } = run
  const spans = hourSpans(run)
  const rows = [...spans.map((span) => spanFigures(run, span)), spanFigures(run, run.settings.span)].map(figureRow)
  const head = ['minutes', 'requests', 'success %', 'calls/req', 'added p50 ms', 'added p99 ms', ...PROVIDERS.map((name) => `${name} %`)]
  return [`### ${scenario.name}`, scenario.about, table(head, rows), ...recoveryText(run)].join('\n\n')
}

function figureRow(figures: SpanFigures): string[] {
  return [
    `${figures.from} to ${figures.to}`,
    String(figures.requests),
    figures.success.toFixed(3),
    figures.callsPerRequest.toFixed(3),
    figures.addedP50.toFixed(0),
    figures.addedP99.toFixed(0),
    ...PROVIDERS.map((name) => figures.shares[name].toFixed(1)),
  ]
}

function recoveryText(run: HourRun): string[] {
  if (!run.scenario.goals.includes('recovery')) return []
  const seconds = troubled(run.scenario).map((provider) => `${provider} ${recoverySeconds(run, provider).toFixed(1)} s`)
  return [`Serves all its models again after minute ${run.scenario.window.to}: ${seconds.join(', ')}.`]
}
