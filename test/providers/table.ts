/** The two-turn matrix as the table of docs/providers.md: a row for each model, a column for each scenario. */
import { markdownTable } from '../../scripts/markdown-table.ts'
import type { Cell, Outcome } from './matrix.ts'
import { SCENARIOS } from './scenarios.ts'

/** What was lost in any client format, streamed or not; `yes` where nothing was. */
function summary(outcomes: readonly Outcome[]): string {
  if (outcomes.length === 0) return '–'
  const refused = outcomes.some(({ refused }) => refused !== undefined)
  const dropped = [...new Set(outcomes.flatMap((outcome) => outcome.dropped))].sort()
  if (refused) return 'refused'
  return dropped.length > 0 ? `without ${dropped.map((name) => `\`${name}\``).join(', ')}` : 'yes'
}

export function matrixTable(outcomes: ReadonlyMap<Cell, Outcome>): string {
  const rows = new Map<string, string[]>()
  const cells = [...outcomes]
  for (const [{ standIn, model }] of cells) {
    const name = `\`${standIn.rules.preset}\`: ${model.name}`
    if (rows.has(name)) continue
    const own = cells.filter(([cell]) => cell.model === model)
    rows.set(name, [
      name,
      ...SCENARIOS.map(({ name }) => summary(own.filter(([cell]) => cell.scenario.name === name).map(([, outcome]) => outcome))),
    ])
  }
  return markdownTable(['Preset and model', ...SCENARIOS.map(({ name }) => name)], [...rows.values()])
}
