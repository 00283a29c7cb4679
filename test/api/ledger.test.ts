/** Which verdict `GET /ledger/verify` gives: over a real socket, and through the command line. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ledgerRoutes } from '../../src/api/ledger.ts'
import { LedgerScans } from '../../src/ledger/scans.ts'
import type { GenerationRecord } from '../../src/ledger/types.ts'
import { startAdmin } from '../../src/server/admin.ts'
import { ADMIN_TOKEN, adminFetch } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { runProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

t.test('the verdict of a long scan is shared, unless a caller wants none that is kept', async (t) => {
  const clock = new FakeClock()
  let scans = 0
  const ledger = {
    find: () => undefined,
    spent: () => new Map<string, bigint>(),
    async *export(): AsyncGenerator<GenerationRecord> {
      scans++
      await clock.advance(2_000)
      yield* []
    },
  }
  const nothing = { count: 0, charged: 0, oldest: null, newest: null, keys: [], generations: [] }
  const admin = await startAdmin({
    port: 0,
    token: ADMIN_TOKEN,
    metrics: { text: async () => '', contentType: 'text/plain' },
    notReady: () => [],
    routes: ledgerRoutes({ ledger, scans: new LedgerScans(ledger, clock) }, nothing),
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
