/** Reasoning that a provider signed or encrypted comes back to it, from every client format. */
import t from 'tap'
import { every } from '../support/every.ts'
import { standInCells, startMatrix } from './matrix.ts'
import { openrouter } from './rules/openrouter.ts'
import { SCENARIOS } from './scenarios.ts'

const matrix = await startMatrix(t, [openrouter])

t.test('signed and encrypted reasoning of a chat aggregator comes back in the default setting of its preset', async (t) => {
  const loop = SCENARIOS.filter(({ name }) => name === 'tool loop')
  const cells = standInCells(matrix.standIns, loop)
  t.ok(cells.length > 0)
  for (const cell of cells)
    await every(t, `${cell.model.slug}, ${cell.client.id}${cell.stream ? ', streamed' : ''}`, async (t) => {
      const outcome = await matrix.run(cell)
      t.same(outcome.problems, [])
      t.equal(outcome.returned, 1, 'the signature of the first turn')
    })
})
