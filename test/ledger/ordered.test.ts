import fc from 'fast-check'
import t from 'tap'
import { Ordered } from '../../src/ledger/ordered.ts'
import { property } from '../support/seed.ts'

interface Row {
  readonly value: number
  readonly name: number
}

const order = (a: Row, b: Row): number => b.value - a.value || a.name - b.name

t.test('any part of ordered rows is that of the sorted ones', async (t) => {
  let compared = 0
  const rows = fc.array(fc.record({ value: fc.integer({ min: -2, max: 3 }), name: fc.nat(1000) }), { maxLength: 30 })
  fc.assert(
    fc.property(rows, fc.nat(35), fc.nat(35), (rows, offset, limit) => {
      const found = new Ordered(rows, ({ value }) => value, order).slice({ offset, limit })
      const expected = rows.toSorted(order).slice(offset, offset + limit)
      if (JSON.stringify(found) !== JSON.stringify(expected))
        throw new Error(`${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`)
      compared += expected.length
    }),
    property(300, 3000),
  )
  t.ok(compared > 100, `${compared} rows were compared`)
})
