/**
 * Roles of keys on one PostgreSQL with programs of the schema before: what those read and write is done here by their own statements, which
 * know the flag `management`, `disabled` and `expires_at` alone.
 */
import t from 'tap'
import { asFault } from '../../src/core/faults.ts'
import { ROLES } from '../../src/core/roles.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { apiKey } from './samples.ts'

const LIMITS = { connect: 30_000, statement: 30_000 }
const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

const hash = (letter: string): string => letter.repeat(64)

interface OldRow {
  readonly management: boolean
  readonly disabled: boolean
  readonly expires_at: string | number | null
}

/** As `usableKey` of that program decides, and then the flag. */
const oldRights = ({ management, disabled, expires_at: end }: OldRow, now: number): 'none' | 'management' | 'ordinary' =>
  disabled || (end !== null && Number(end) <= now) ? 'none' : management ? 'management' : 'ordinary'

function suite(server: TestPostgres): void {
  t.test('a program of the schema before reads no role that it does not know as more than nothing', async (t) => {
    const url = await server.database()
    const clock = new FakeClock()
    const record = await openPostgres(url, { clock, limits: LIMITS })
    t.teardown(() => record.close())
    const now = clock.now()
    const read = async (letter: string): Promise<OldRow> => {
      const [row] = await server.query(url, 'SELECT management, disabled, expires_at FROM api_key WHERE hash = $1', [hash(letter)])
      return row as unknown as OldRow
    }
    const expected = { member: 'ordinary', viewer: 'none', billing: 'none', admin: 'none', owner: 'management' }
    await every(t, 'every role, with an end and without', async (t) => {
      for (const expiresAt of [null, now + 60_000])
        for (const role of ROLES) {
          await record.keys.put(apiKey('a', { role, expiresAt }))
          t.equal(oldRights(await read('a'), now), expected[role], role)
          t.match(await record.keys.find(hash('a')), { role, expiresAt, disabled: false }, role)
        }
    })
    await record.keys.put(apiKey('b', { role: 'owner' }))
    await record.keys.change(hash('b'), (key) => ({ ...key, role: 'viewer' }))
    t.equal(oldRights(await read('b'), now), 'none', 'an owner that became a viewer manages nowhere')
  })

  t.test('what such a program writes leaves the role as it is', async (t) => {
    const url = await server.database()
    const clock = new FakeClock()
    const record = await openPostgres(url, { clock, limits: LIMITS })
    t.teardown(() => record.close())
    const { keys } = record
    const end = clock.now() + 60_000
    await keys.put(apiKey('a', { role: 'viewer', expiresAt: end }))
    // Its change writes the whole row but for columns that it does not know, here of a key that it renames, enables and rotates.
    await server.query(
      url,
      `UPDATE api_key SET hash = $1, name = 'renamed', credit_limit = NULL, management = management, disabled = false, expires_at = expires_at,
        policy = policy, limit_reset = NULL, include_byok = false, issuer = NULL, creator = NULL, updated_at = updated_at + 1 WHERE hash = $2`,
      [hash('b'), hash('a')],
    )
    t.match(await keys.find(hash('b')), { role: 'viewer', expiresAt: end, name: 'renamed' })
    const insert = `INSERT INTO api_key (hash, name, label, credit_limit, management, disabled, expires_at, created_at, updated_at, policy, identity,
      limit_reset, include_byok, creator, issuer) SELECT $1, name, label, NULL, $2, false, NULL, created_at, updated_at, policy, $1, NULL, false, NULL, NULL
      FROM api_key WHERE hash = $3`
    await server.query(url, insert, [hash('c'), true, hash('b')])
    await server.query(url, insert, [hash('d'), false, hash('b')])
    t.match(await keys.find(hash('c')), { role: 'owner', expiresAt: null }, 'its management keys have all rights')
    t.match(await keys.find(hash('d')), { role: 'member', expiresAt: null })
  })

  t.test('a key with a place in an organisation opens nothing at programs that know no levels, and keeps its place', async (t) => {
    const url = await server.database()
    const clock = new FakeClock()
    const record = await openPostgres(url, { clock, limits: LIMITS })
    t.teardown(() => record.close())
    const { keys } = record
    const now = clock.now()
    const read = async () => (await server.query(url, 'SELECT * FROM api_key WHERE hash = $1', [hash('a')]))[0] ?? {}
    const places = [{ workspace: 'w1' }, { member: 'm1' }, { workspace: 'w1', member: 'm1' }]
    await every(t, 'every role and place, with an end and without', async (t) => {
      for (const place of places)
        for (const expiresAt of [null, now + 60_000])
          for (const role of ROLES) {
            await keys.put(apiKey('a', { role, expiresAt, place }))
            const row = await read()
            t.equal(oldRights(row as unknown as OldRow, now), 'none', role)
            t.notOk(
              ROLES.some((known) => known === row.role),
              'a program with roles knows no such word',
            )
            t.match(await keys.find(hash('a')), { role, expiresAt, disabled: false, place })
          }
    })
    await server.query(url, 'UPDATE api_key SET name = $1, disabled = false, expires_at = NULL, policy = $2', ['old', '{"limits":{}}'])
    t.match(await keys.find(hash('a')), { name: 'old', role: 'owner', place: { workspace: 'w1', member: 'm1' } })
    await keys.change(hash('a'), (key) => ({ ...key, role: 'member', place: undefined }))
    t.match(await read(), { role: null, workspace: null, member: null, management: false })
    for (const half of ["NULL, role = 'placed member'", "'w1', role = NULL", "'w1', role = 'member'"]) {
      await server.query(url, `UPDATE api_key SET workspace = ${half}`)
      t.match(await keys.find(hash('a')), { disabled: true, expiresAt: 0 }, `half a place: ${half}`)
    }
  })

  t.test('a role of a later version opens nothing here, and is not lost', async (t) => {
    const url = await server.database()
    const clock = new FakeClock()
    const record = await openPostgres(url, { clock, limits: LIMITS })
    t.teardown(() => record.close())
    const { keys } = record
    await keys.put(apiKey('a', { role: 'viewer' }))
    for (const word of ['auditor', 'OWNER', 'owner ', '', 'toString', '__proto__']) {
      await server.query(url, 'UPDATE api_key SET role = $1, management = true, expires_at = NULL, disabled = false', [word])
      t.match(await keys.find(hash('a')), { role: 'member', disabled: true, expiresAt: 0, unknownRole: word }, `the word "${word}"`)
      const refused = await Promise.resolve(keys.change(hash('a'), (key) => ({ ...key, disabled: false, expiresAt: null }))).catch(asFault)
      t.match(refused, { code: 'conflict', message: /does not know/ })
    }
    t.equal((await server.query(url, 'SELECT role FROM api_key'))[0]?.role, '__proto__')
    t.equal(await keys.remove(hash('a')), true, 'it can be deleted')
  })
}
