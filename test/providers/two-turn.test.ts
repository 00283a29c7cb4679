/**
 * The two-turn matrix: no provider refuses what the gateway sends, and the table of docs/providers.md says what is lost on the way.
 * `HEADGATE_WRITE=1 npm test -- providers/two-turn` writes that table.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { withSections } from '../../scripts/markdown-table.ts'
import { every } from '../support/every.ts'
import { type Cell, type Outcome, standInCells, startMatrix } from './matrix.ts'
import { SCENARIOS } from './scenarios.ts'
import { matrixTable } from './table.ts'

const matrix = await startMatrix(t)
const outcomes = new Map<Cell, Outcome>()

for (const standIn of matrix.standIns)
  t.test(`the two-turn matrix of ${standIn.rules.preset}`, async (t) => {
    for (const cell of standInCells([standIn], SCENARIOS)) {
      const name = `${cell.model.slug}, ${cell.scenario.name}, ${cell.client.id}${cell.stream ? ', streamed' : ''}`
      await every(t, name, async (t) => {
        const outcome = await matrix.run(cell)
        outcomes.set(cell, outcome)
        t.same(outcome.problems, [])
        t.equal(outcome.refused, undefined)
      })
    }
  })

t.test('docs/providers.md shows the matrix', async (t) => {
  const path = new URL('../../docs/providers.md', import.meta.url)
  const document = readFileSync(path, 'utf8')
  const shown = withSections(document, { matrix: matrixTable(outcomes) })
  if (process.env.HEADGATE_WRITE === '1') writeFileSync(path, shown)
  else t.equal(document, shown, 'HEADGATE_WRITE=1 npm test -- providers/ writes it')
})
