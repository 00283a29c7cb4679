/** Which verdict `GET /ledger/verify` gives, and how far it is: over a real socket, and through the command line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ledgerRoutes } from '../../src/api/ledger.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import type { GenerationRecord } from '../../src/ledger/types.ts'
import { startAdmin } from '../../src/server/admin.ts'
import { holdRow } from '../store/samples.ts'
import { ADMIN_TOKEN, adminFetch } from '../support/admin.ts'
import { FakeClock, turn } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { ledgerOfRows } from '../support/memory/ledger.ts'
import { runProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

const NOTHING = { count: 0, charged: 0, oldest: null, newest: null, keys: [], generations: [] }

/** No export is read here. */
const noKeys = (): never => {
  throw new Error('no keys')
}

t.test('the verdict of a long scan is shared, unless a caller wants none that is kept', async (t) => {
  const clock = new FakeClock()
  let scans = 0
  const ledger = ledgerOfRows({
    async *export(): AsyncGenerator<GenerationRecord> {
      scans++
      await clock.advance(2_000)
      yield* []
    },
  })
  const admin = await startAdmin({
    port: 0,
    token: ADMIN_TOKEN,
    metrics: { text: async () => '', contentType: 'text/plain' },
    notReady: () => [],
    routes: ledgerRoutes({ keys: noKeys, ledger, scans: new LedgerScans(ledger, clock) }, NOTHING),
  })
  t.teardown(() => admin.close())
  const verify = async (control?: string): Promise<unknown> => {
    const headers: Record<string, string> = control === undefined ? {} : { 'cache-control': control }
    return ((await (await adminFetch(`${admin.url}/ledger/verify`, { headers })).json()) as { checked_at: unknown }).checked_at
  }
  const first = await verify()
  t.equal(await verify('max-age=0'), first, 'the kept one')
  t.equal(scans, 1)
  t.not(await verify('max-age=0, No-Cache'), first)
  t.equal(scans, 2)

  const file = join(t.testdir(), 'headgate.yaml')
  writeFileSync(file, `admin: { host: 127.0.0.1, port: ${new URL(admin.url).port}, token: ${ADMIN_TOKEN} }\n${simulated()}`)
  const command = runProgram(['ledger', 'verify', '--config', file])
  t.equal((await command.exited).code, 0, command.out())
  t.equal(scans, 3, 'the command line gets a new one')
})

t.test('how far a check is shows while it runs', async (t) => {
  let [isReleased, seq] = [false, 0]
  const ledger = ledgerOfRows({
    async *export(): AsyncGenerator<GenerationRecord> {
      while (!isReleased) {
        await turn()
        seq++
        yield { id: `gen-${seq}`, at: 0, hold: holdRow(seq), settled: undefined }
      }
    },
  })
  const admin = await startAdmin({
    port: 0,
    token: ADMIN_TOKEN,
    metrics: { text: async () => '', contentType: 'text/plain' },
    notReady: () => [],
    routes: ledgerRoutes({ keys: noKeys, ledger, scans: new LedgerScans(ledger, new FakeClock()) }, NOTHING),
  })
  t.teardown(() => admin.close())
  const read = async (path: string): Promise<JsonObject> => (await (await adminFetch(`${admin.url}${path}`)).json()) as JsonObject
  const running = async (): Promise<JsonObject | undefined> => {
    const { running } = (await read('/ledger/verify/progress')) as { running: JsonObject | null }
    return Number(running?.generations) > 0 ? (running ?? undefined) : undefined
  }
  t.same(await read('/ledger/verify/progress'), { running: null }, 'none runs')
  const verdict = read('/ledger/verify')
  t.match(await eventually('some are read', running), { full: false, of: null })
  isReleased = true
  const { generations, open } = await verdict
  t.equal(generations, seq)
  t.equal(open, seq)
  t.same(await read('/ledger/verify/progress'), { running: null }, 'it has ended')
  isReleased = false
  const all = read('/ledger/verify/full')
  t.match(await eventually('some are read again', running), { full: true, of: generations })
  isReleased = true
  await all
})
