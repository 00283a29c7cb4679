/** A check of a long ledger leaves the event loop to requests: others are answered between its slices. */
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { SqliteJournal } from '../../../src/store/journal.ts'
import { openDatabase } from '../../../src/store/sqlite.ts'
import { holdRow, settleRow } from '../../store/samples.ts'
import { adminFetch } from '../../support/admin.ts'
import { FakeClock } from '../../support/clock.ts'
import { type Gateway, KEY, startGateway } from '../../support/gateway.ts'

/** The check takes some 20 slices or more. */
const ROWS = 60_000
/** Requests that are answered during a scan without slices: those that were under way before it began. */
const WITHOUT_SLICES = 2

const NOW = Date.UTC(2026, 0, 5, 12)
const YESTERDAY = Date.UTC(2026, 0, 4)

const file = join(t.testdir(), 'ledger.db')
const journal = new SqliteJournal(openDatabase(file, 'process'), { clock: new FakeClock() })
for (let index = 0; index < ROWS; index++) {
  const seq = YESTERDAY * 4096 + index
  journal.hold(holdRow(seq))
  journal.settle(settleRow(seq, 2))
}
await journal.committed()
journal.close()

const gateway = await startGateway(
  `
store: { url: "sqlite:${file}" }
auth: { keys: [ { name: ops, key: "${KEY}", management: true } ] }
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`,
  { clock: { ...systemClock, now: () => NOW } },
)
t.teardown(() => gateway.close())

/** Requests that are answered, one after the other, until the scan is. */
async function answeredDuring(scan: Promise<Response>, { url }: Gateway): Promise<number> {
  let scanning = true
  const ended = scan.then(async (reply) => {
    await reply.text()
    scanning = false
    return reply.status
  })
  let answered = 0
  while (scanning) {
    await (await fetch(`${url}/v1/models`)).text()
    answered++
  }
  if ((await ended) !== 200) throw new Error(`the scan was answered with ${await ended}`)
  return answered
}

t.test(`requests are answered while the whole ledger of ${ROWS} rows is checked`, async (t) => {
  const answered = await answeredDuring(adminFetch(`${gateway.admin}/ledger/verify/full`), gateway)
  t.ok(answered > 2 * WITHOUT_SLICES, `${answered} were answered`)
})
