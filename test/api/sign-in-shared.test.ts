/** Codes of the sign-in where several processes share a PostgreSQL: made at one, exchanged at another, once. */
import t from 'tap'
import {
  type ChangeSource,
  createKey,
  exchangeCode,
  type KeySource,
  makeCode,
  parseKeyRequest,
  type SignInPolicy,
} from '../../src/api/index.ts'
import { OPERATOR_RIGHTS } from '../../src/api/key-rights.ts'
import { asFault } from '../../src/core/faults.ts'
import { nanoFromUsd } from '../../src/core/money-text.ts'
import { Credit } from '../../src/ledger/credit.ts'
import { openPostgres, type PostgresRecord } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { ORIGIN } from '../support/origin.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'

const server = await startPostgres(t)
const clock = new FakeClock()

/** Parts of a process: connections of its own, and a ledger of its own. */
async function processes(count: number, url: string): Promise<{ sources: (KeySource & ChangeSource)[]; close: () => Promise<void> }> {
  const records: PostgresRecord[] = []
  for (let i = 0; i < count; i++) records.push(await openPostgres(url, { clock, report: () => {} }))
  const sources = records.map((record) => ({
    store: record.keys,
    configured: [],
    budgets: {},
    credit: new Credit(clock),
    brand: 'router',
    clock,
    signIn: POLICY,
    origin: ORIGIN,
  }))
  return { sources, close: async () => void (await Promise.all(records.map((record) => record.close()))) }
}

const POLICY: SignInPolicy = { callbacks: ['https://app.example/'], loopback: true, pkce: 'optional' }
const KEY_REQUEST = { callback_url: 'https://app.example/' }

const outcome = (asked: Promise<unknown>): Promise<number> =>
  asked.then(
    () => 200,
    (thrown) => asFault(thrown).status,
  )

async function made(source: KeySource & ChangeSource, limit: number | null): Promise<string> {
  const { body } = await createKey({ name: 'giver', limit }, { ...source, caller: OPERATOR_RIGHTS })
  return (body.data as { hash: string }).hash
}

if (server) suite(server)
else t.plan(0, 'PostgreSQL is not installed')

function suite(server: TestPostgres): void {
  t.test('of many processes one gets the key, and the limit of the issuer stays', async (t) => {
    const { sources, close } = await processes(3, await server.database())
    t.teardown(close)
    const [first, second, third] = sources
    const giver = await made(first, null)
    const { code } = await makeCode(parseKeyRequest(KEY_REQUEST, clock.now(), POLICY), giver, second)
    const told = await Promise.all(Array.from({ length: 18 }, (_, i) => outcome(exchangeCode({ code }, sources[i % 3]))))
    t.same(told.sort(), [200, ...Array(17).fill(403)])
    t.equal((await third.store.list()).length, 2, 'the giver and the one new key')

    const capped = await made(first, 3)
    const codes = await Promise.all(
      Array.from({ length: 7 }, (_, i) =>
        makeCode(parseKeyRequest({ ...KEY_REQUEST, limit: 1 }, clock.now(), POLICY), capped, sources[i % 3]),
      ),
    )
    const exchanged = await Promise.all(codes.map((one, i) => outcome(exchangeCode({ code: one.code }, sources[(i + 1) % 3]))))
    t.same(exchanged, Array(7).fill(200))
    t.equal((await second.store.find(capped))?.limit, nanoFromUsd('3'), 'the limit stays with the issuer')
    const given = (await third.store.list()).filter((key) => key.consent?.by === capped)
    t.same(
      given.map((key) => key.limit),
      Array(7).fill(nanoFromUsd('1')),
      'seven keys capped at a dollar each, and no code is left',
    )
  })
}
