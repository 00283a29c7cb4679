/** `headgate ledger export --to …` on PostgreSQL, where several gateways have drawn the same sequence: a run that goes on leaves none out. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { generationId } from '../../src/core/ids.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { generation } from '../store/record-contract.ts'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { FakeClock } from '../support/clock.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { storedLines } from '../support/object-store.ts'
import { startPostgres } from '../support/postgres.ts'
import { runProgram } from '../support/program.ts'
import { simulated } from '../support/simulated.ts'

t.setTimeout(240_000)
const server = await startPostgres(t)

if (server)
  t.test('each position of a run is behind one generation, not behind all of its sequence', async (t) => {
    const home = t.testdir()
    const url = await server.database()
    const at = Date.UTC(2026, 0, 5)
    const record = await openPostgres(url, { clock: new FakeClock() })
    const rows = ['aaaaaaaaaaaa', 'AAAAAAAAAAAA', 'zzzzzzzzzzzz', '_-_-_-_-_-_-', '000000000000'].flatMap((tag) =>
      [1, 2].map((more) => {
        const row = generation(at * 4096 + more, 'a', 10, at)
        return { ...row, hold: { ...row.hold, tag } }
      }),
    )
    await record.take('n1', rows)
    await record.close()
    const wanted = rows.map(({ hold }) => generationId(hold.seq, hold.tag)).sort()
    const file = join(home, 'headgate.yaml')
    const [port, admin] = await freePorts(2)
    writeFileSync(
      file,
      `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}, token: ${ADMIN_TOKEN} }
store: { url: "${url}", journal: "${join(home, 'journal.db')}" }
auth: { keys: [ { name: app, key: sk-router-v1-0123456789abcdef } ] }
exports: [ { name: lake, file: { path: "${join(home, 'lake')}" }, path: "{batch}", compression: none, rows: 3, interval: 1h, since: 2100-01-01T00:00:00Z } ]
${simulated()}`,
    )
    const run = async (...words: string[]) => {
      const command = runProgram(['ledger', 'export', '--to', 'lake', ...words, '--config', file])
      const { code } = await command.exited
      return { code, utterance: command.err() }
    }
    const delivered = (): string[] =>
      readdirSync(join(home, 'lake'))
        .sort()
        .map((name) => readFileSync(join(home, 'lake', name), 'utf8'))
    const whole = await run()
    t.equal(whole.code, 0, whole.utterance)
    const all = delivered()
    t.same(all.flatMap((text) => storedLines(Buffer.from(text)).map(({ id }) => String(id))).sort(), wanted)
    const positions = whole.utterance.match(/(?<=--after )\S+/g) ?? []
    t.equal(positions.length, 4)
    for (const [index, position] of positions.entries()) {
      rmSync(join(home, 'lake'), { recursive: true })
      const rest = await run('--after', position)
      const left = wanted.length - Math.min(10, 3 * (index + 1))
      t.match(rest, { code: 0, utterance: left === 0 ? 'nothing was written' : `exported ${left} generations` })
      if (index < 3) t.same(delivered(), all.slice(index + 1), 'with the same bytes')
    }
  })
