/** The export of FOCUS 1.2: billed costs are the ledger to the nano-dollar, and the columns hold together. */
import t from 'tap'
import { every } from '../support/every.ts'
import { startFocusGateway } from '../support/focus-gateway.ts'

/** Rows by their columns (RFC 4180). */
function parseCsv(text: string): Record<string, string>[] {
  const [head = [], ...rows] = Array.from(text.matchAll(/(?:(?:"(?:[^"]|"")*"|[^",\r\n]*)(?:,|(?=\r\n)))+\r\n/g), ([line]) =>
    Array.from(line.slice(0, -2).matchAll(/("(?:[^"]|"")*"|[^",\r\n]*)(?:,|$)/g), ([, cell = '']) =>
      cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell,
    ),
  )
  return rows.map((row) => Object.fromEntries(head.map((name, at) => [name, row[at] ?? ''])))
}

/** Attodollars of a decimal text. */
function atto(text: string): bigint {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,18}))?$/.exec(text) ?? []
  const value = BigInt(`${whole}${fraction.padEnd(18, '0')}`)
  return sign === '-' ? -value : value
}

t.test('charges as FOCUS rows', { timeout: 120_000 }, async (t) => {
  const scene = await startFocusGateway(t, 600)
  const rows = parseCsv(await scene.focus())
  const { generations, entries } = scene.charged()
  const billed = (of: readonly Record<string, string>[]): bigint => of.reduce((sum, row) => sum + atto(row.BilledCost ?? ''), 0n)
  const usage = rows.filter((row) => row.ChargeCategory === 'Usage')

  t.equal(billed(rows), (generations + entries) * 1_000_000_000n, 'all rows are the ledger')
  t.equal(billed(usage), generations * 1_000_000_000n, 'usage is its generations')
  await every(t, 'quantity times price is the cost', (t) => {
    for (const row of usage) {
      const quantity = BigInt((row.PricingQuantity ?? '').replace('.0', ''))
      t.equal(quantity * atto(row.ListUnitPrice ?? ''), atto(row.ListCost ?? ''), `${row.SkuPriceId} times ${row.PricingQuantity}`)
      t.equal(row.ContractedCost, row.ListCost)
      t.equal(row.EffectiveCost, row.BilledCost)
    }
  })
  await every(t, 'each charge of a generation is within a nano-dollar of what it lists', (t) => {
    for (const of of Map.groupBy(usage, (row) => row.x_GenerationId).values()) {
      const listed = of.reduce((sum, row) => sum + atto(row.ListCost ?? ''), 0n)
      const difference = listed - billed(of)
      t.ok(difference < 1_000_000_000n && difference > -1_000_000_000n, `${difference} attodollars`)
    }
  })
  t.same([...new Set(usage.map((row) => row.PricingUnit))].sort(), ['Requests', 'Tokens'])
  t.match(new Set(usage.map((row) => row.SubAccountType)), new Set(['Budget', 'Key']))
  const tags = rows.flatMap((row) => (row.Tags ? [JSON.parse(row.Tags) as Record<string, string>] : []))
  t.ok(tags.some((tag) => tag['headgate/app'] === 'Reports, "monthly"' && tag['headgate/user']?.startsWith('=user')))

  t.match(
    rows.filter((row) => row.x_EntryId),
    [
      { ChargeCategory: 'Credit', ChargeClass: 'Correction', BilledCost: '-0.000000123', x_EntryKind: 'refund', x_Actor: 'boss' },
      { ChargeCategory: 'Adjustment', ChargeClass: '', BilledCost: '1.25', x_Reason: 'Ticket 4711' },
      { ChargeCategory: 'Adjustment', ChargeClass: '', BilledCost: '-0.50' },
    ],
    'entries have rows of their own',
  )

  const half = new Date(scene.clock.now() - 31 * 86_400_000 - 3 * 3_600_000).toISOString()
  const before = parseCsv(await scene.focus(`&until=${half}`))
  const after = parseCsv(await scene.focus(`&since=${half}`))
  t.ok(before.length > 0 && after.length > 3)
  t.equal(billed(before) + billed(after), billed(rows), 'two ranges make the whole')
  t.match(await scene.focus('&since=yesterday'), /since: expected a UTC time/)
})
