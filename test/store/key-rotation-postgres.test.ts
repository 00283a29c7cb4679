/**
 * The overlap of a rotation on one PostgreSQL with programs of the schema before, whose own statements know one hash of a key and no other
 * members of its policy than their own.
 */
import t from 'tap'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { apiKey } from './samples.ts'

const LIMITS = { connect: 30_000, statement: 30_000 }
const server = await startPostgres(t)
if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

const hash = (letter: string): string => letter.repeat(64)

function suite(server: TestPostgres): void {
  t.test('a program of the schema before knows no old secret, and ends the overlap with any change', async (t) => {
    const url = await server.database()
    const clock = new FakeClock()
    const record = await openPostgres(url, { clock, limits: LIMITS })
    t.teardown(() => record.close())
    const { keys } = record
    const previous = { hash: hash('a'), rotatedAt: clock.now(), until: clock.now() + 60_000 }
    await keys.put(apiKey('a'))
    await keys.change(hash('a'), (key) => ({ ...key, hash: hash('b'), previous }))
    t.same(await server.query(url, 'SELECT name FROM api_key WHERE hash = $1', [hash('a')]), [], 'its look-up finds nothing: 401')
    t.match(await keys.find(hash('a')), { hash: hash('b'), shown: hash('a') })
    // A change there writes the members that it knows, and leaves columns that it does not know as they are.
    const policy = '{"limits":{},"passage":false}'
    await server.query(url, 'UPDATE api_key SET hash = $1, policy = $2 WHERE hash = $3', [hash('c'), policy, hash('b')])
    for (const letter of ['a', 'b']) t.equal(await keys.find(hash(letter)), undefined, 'neither its old secret nor the one before')
    const found = await keys.find(hash('c'))
    t.match(found, { hash: hash('c') })
    t.equal(found?.previous, undefined)
  })
}
