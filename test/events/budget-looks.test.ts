/** A look at the budgets of all keys, as each start has one: it lets requests through, and makes no entries of keys that spend nothing. */
import t from 'tap'
import { openBookkeeping } from '../../src/cluster/bookkeeping.ts'
import { NO_AUDIT_KEYS } from '../../src/core/audit-keys.ts'
import { BudgetWatch } from '../../src/services/events/budget-watch.ts'
import { FakeClock } from '../support/clock.ts'

const PAGES = 20

t.test('a look at many keys goes page by page with turns of the event loop between, and keeps nothing of them', async (t) => {
  const clock = new FakeClock()
  const options = {
    url: 'memory:',
    durability: 'process' as const,
    journal: '',
    lostGrace: 0,
    auditKeys: NO_AUDIT_KEYS,
    clock,
    report: () => undefined,
  }
  const bookkeeping = await openBookkeeping(options)
  t.teardown(() => bookkeeping.close())
  const raised: unknown[] = []
  const watch = new BudgetWatch({
    shares: [80],
    clock,
    balances: (keys) => bookkeeping.balances(keys),
    isShared: false,
    raise: (event) => raised.push(event),
    failed: (cause) => t.fail(String(cause)),
  })
  const account = bookkeeping.credit.account('key-7')
  const held = account.tryHold({ full: 900, floor: 900 }, [])
  t.equal(held, 900)
  account.settle(900, 900, clock.now())
  const key = (at: number) => ({
    identity: `key-${at}`,
    hash: String(at).padStart(9, '0'),
    name: '',
    label: '',
    limit: 1_000,
    limitReset: null,
  })
  let turns = 0
  let pages = 0
  const turnsAt: number[] = []
  const count = (): void => {
    turns++
    if (pages < PAGES) setImmediate(count)
  }
  setImmediate(count)
  await watch.lookAtAll([], [], async (hash, most) => {
    turnsAt.push(turns)
    const from = hash === '' ? 0 : Number(hash) + 1
    return pages++ < PAGES ? Array.from({ length: most }, (_, at) => key(from + at)) : []
  })
  t.equal(pages, PAGES + 1)
  t.ok((turnsAt.at(-1) ?? 0) >= PAGES - 1, `${turnsAt.at(-1)} turns of the event loop for ${PAGES} pages`)
  t.equal(raised.length, 1, 'the one key that is near its limit')
  const windows = await bookkeeping.ledger.windows?.()
  t.same([...(windows?.of.keys() ?? [])], ['key-7'])
  t.same(await bookkeeping.balances(['key-8']), [])
})
