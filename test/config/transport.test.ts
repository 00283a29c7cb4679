/** TLS to PostgreSQL and Redis: required of other machines unless the configuration says otherwise in words. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import t, { type Test } from 'tap'
import { check } from '../../src/cli/check.ts'
import { asFault } from '../../src/core/faults.ts'
import { isLocalHost, postgresTransport } from '../../src/core/transport.ts'
import { openPostgres } from '../../src/store/postgres/record.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'
import { startGateway } from '../support/gateway.ts'
import { type Printed, printed } from '../support/printed.ts'
import { simulated } from '../support/simulated.ts'

const file = (store: string, shared = ''): string => `
store: { url: "${store}" }
${shared}
${simulated()}`

function checked(t: Test, text: string): Promise<Printed> {
  const path = `${t.testdir({ 'headgate.yaml': text })}/headgate.yaml`
  return printed((streams) => check(path, {}, streams))
}

t.test('a Redis of another machine needs rediss, or a word', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [shared, code] of [
      ['url: "redis://cache:6379"', 1],
      ['url: "redis://10.0.0.5"', 1],
      ['url: "redis://user:hunter2@cache/1"', 1],
      ['url: "redis://127.evil.example"', 1],
      ['url: "redis://[fd00::1]:6379"', 1],
      ['url: "redis:///?host=cache"', 1],
      ['url: "redis://cache", tls: required', 1],
      ['url: "redis://cache", tls: off', 0],
      ['url: "rediss://cache"', 0],
      ['url: "redis://localhost:6379/1"', 0],
      ['url: "redis://127.0.0.1"', 0],
      ['url: "redis://:hunter2@[::1]:6379"', 0],
    ] as const) {
      const result = await checked(t, file('memory:', `shared: { ${shared} }`))
      t.equal(result.code, code, shared)
      if (code === 1)
        t.match(result.error, /shared\.url: expected rediss:\/\/ for an address that is not of this machine; `tls: off`/, shared)
      t.notMatch(result.error, 'hunter2')
    }
  })
})

t.test('a start refuses what the check refuses', async (t) => {
  await t.rejects(startGateway(file('memory:', 'shared: { url: "redis://cache" }')), { message: /shared\.url: expected rediss/ })
  await t.rejects(startGateway(file('postgres://db/headgate?sslmode=prefer')), { message: /store\.url: expected one of disable/ })
})

t.test('an sslmode that falls back silently is refused', async (t) => {
  await every(t, 'every query', async (t) => {
    for (const query of ['sslmode=prefer', 'sslmode=allow', 'sslmode=off', 'ssl=0', 'ssl=true', 'uselibpqcompat=true&sslmode=require']) {
      const { code, error } = await checked(t, file(`postgres://user:hunter2@db/headgate?${query}`))
      t.equal(code, 1, query)
      t.match(error, /store\.url: expected .*sslmode/, query)
      t.notMatch(error, 'hunter2')
    }
  })
})

t.test('what a PostgreSQL address asks for', async (t) => {
  await every(t, 'every case', async (t) => {
    for (const [url, mode] of [
      ['postgres://db/x', 'verify-full'],
      ['postgresql://u:p@10.1.2.3:5432/x?pool=8', 'verify-full'],
      ['postgres://db/x?sslmode=require', 'verify-full'],
      ['postgres://db/x?sslmode=verify-ca', 'verify-full'],
      ['postgres://db/x?sslmode=no-verify', 'no-verify'],
      ['postgres://db/x?sslmode=disable', 'disable'],
      ['postgres://localhost/x', 'disable'],
      ['postgres://127.0.0.9:5432/x', 'disable'],
      ['postgres://[::1]/x', 'disable'],
      ['postgres://localhost/x?host=db', 'verify-full'],
      ['postgres://db/x?host=/run/postgresql', 'disable'],
      ['postgres://%2Frun%2Fpostgresql/x', 'disable'],
      ['postgres://127.0.0.1/x?sslmode=require', 'verify-full'],
    ] as const)
      t.same(postgresTransport(url), { mode }, url)
  })
})

/** Sets what the driver reads of the environment until the test ends. */
function environment(t: Test, variables: Readonly<Record<string, string>>): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, variables)
  t.teardown(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  })
}

t.test('the host is the one that the driver connects to', async (t) => {
  const hosts = ['10.9.8.7', '127.0.0.1', '/run/postgresql', '']
  const urls = [
    'postgres:///x',
    'postgresql:///x?pool=8',
    'postgres:///x?host=',
    'postgres:///x?host=db',
    'postgres:///x?host=localhost',
    'postgres:///x?host=/run/postgresql',
    'postgres://localhost/x',
    'postgres://localhost/x?host=',
    'postgres://db/x',
    'postgres://%2Frun%2Fpostgresql/x',
    'postgres://localhost/x?host=localhost&host=db',
    'postgres://localhost/x?host=/tmp&host=10.9.8.7',
    'postgres://db/x?host=10.9.8.7&host=/tmp',
    'postgres://localhost/x?host=db&host=',
    'postgres://localhost/x?hostaddr=10.9.8.7',
  ]
  for (const PGHOST of hosts) {
    await t.test(`PGHOST=${PGHOST}`, async (t) => {
      environment(t, { PGHOST })
      await every(t, 'every url', async (t) => {
        for (const url of urls) {
          const { host } = new pg.Client({ connectionString: url })
          t.same(postgresTransport(url), { mode: isLocalHost(host) ? 'disable' : 'verify-full' }, `${url}: ${host}`)
        }
      })
    })
  }
  environment(t, { PGHOST: '10.9.8.7' })
  t.same(postgresTransport('postgres:///x'), { mode: 'verify-full' }, 'of another machine')
  t.same(postgresTransport('postgres:///x?sslmode=disable'), { mode: 'disable' }, 'in words')
})

t.test('which hosts are of this machine', async (t) => {
  await every(t, 'every host', async (t) => {
    for (const host of ['localhost', 'LOCALHOST', 'a.localhost', '127.0.0.1', '127.255.0.1', '::1', '[::1]', '/run/postgresql'])
      t.ok(isLocalHost(host), host)
  })
  await every(t, 'every host', async (t) => {
    for (const host of ['', 'db', 'localhost.example', '127.1', '127.0.0.1.example', '10.0.0.1', '0.0.0.0', '::', 'fd00::1', '[fe80::1]'])
      t.notOk(isLocalHost(host), host)
  })
})

t.test('a session with another machine begins with the request for TLS, and goes no further without', async (t) => {
  const first: string[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (bytes: Buffer) => {
      first.push(bytes.readInt32BE(4) === 80877103 ? 'SSLRequest' : 'StartupMessage')
      // PostgreSQL without TLS answers N to the request (PostgreSQL documentation, section 54.2.11).
      socket.end(first.at(-1) === 'SSLRequest' ? 'N' : '')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const open = async (url: string): Promise<string> => {
    try {
      await openPostgres(url, { clock: new FakeClock() })
      return 'opened'
    } catch (thrown) {
      return asFault(thrown).message
    }
  }
  // No dotted quad, so not known to be of this machine; the system resolves it to 127.0.0.1 all the same.
  t.match(await open(`postgres://u@127.1:${port}/db`), /no TLS; sslmode=disable in store\.url switches it off/)
  await open(`postgres://u@127.1:${port}/db?sslmode=disable`)
  await open(`postgres://u@127.0.0.1:${port}/db`)
  await open(`postgres://u@127.0.0.1:${port}/db?sslmode=require`)
  t.same(first, ['SSLRequest', 'StartupMessage', 'StartupMessage', 'SSLRequest'])
  environment(t, { PGHOST: '127.1', PGPORT: String(port) })
  t.match(await open('postgres:///db?user=u'), /no TLS; sslmode=disable in store\.url switches it off/)
  t.equal(first.at(-1), 'SSLRequest', 'the host that PGHOST names')
})
