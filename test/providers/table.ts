/** The two-turn matrix as the table of docs/providers.md: a row for each model, a column for each scenario. */
import { markdownTable } from '../../scripts/markdown-table.ts'
import type { Cell, Outcome } from './matrix.ts'
import { SCENARIOS } from './scenarios.ts'

/** Fields that are left out, each with the letter that stands for it in the table. */
class Legend {
  readonly #letters = new Map<string, string>()

  fieldLetter(field: string): string {
    let letter = this.#letters.get(field)
    if (letter === undefined) {
      letter = String.fromCharCode('a'.charCodeAt(0) + this.#letters.size)
      this.#letters.set(field, letter)
    }
    return letter
  }

  get lines(): string {
    return [...this.#letters].map(([field, letter]) => `- ${letter}: \`${field}\``).join('\n')
  }
}

/** Losses in any client format, streamed or not; `yes` where nothing was. */
function summary(outcomes: readonly Outcome[], legend: Legend): string {
  if (outcomes.length === 0) return '–'
  if (outcomes.some(({ refused }) => refused !== undefined)) return 'refused'
  const dropped = [...new Set(outcomes.flatMap((outcome) => outcome.dropped))].sort()
  return dropped.length > 0 ? dropped.map((name) => legend.fieldLetter(name)).join(' ') : 'yes'
}

/** The table and its legend. */
export function matrixTable(outcomes: ReadonlyMap<Cell, Outcome>): string {
  const legend = new Legend()
  const rows = new Map<string, string[]>()
  const cells = [...outcomes]
  for (const [{ standIn, model }] of cells) {
    const name = `\`${standIn.rules.preset}\`: ${model.name}`
    if (rows.has(name)) continue
    const own = cells.filter(([cell]) => cell.model === model)
    const lossesIn = (scenario: string): string =>
      summary(
        own.filter(([cell]) => cell.scenario.name === scenario).map(([, outcome]) => outcome),
        legend,
      )
    rows.set(name, [name, ...SCENARIOS.map(({ name }) => lossesIn(name))])
  }
  const table = markdownTable(['Preset and model', ...SCENARIOS.map(({ name }) => name)], [...rows.values()])
  return `${table}\n\n${legend.lines}`
}
