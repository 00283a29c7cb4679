/** Sinks of the audit log: each entry comes to a file and to receivers of syslog, in order, whatever is down meanwhile. */
import { createSocket } from 'node:dgram'
import { existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { createServer as createSecureServer } from 'node:tls'
import t, { type Test } from 'tap'
import { canonicalJson } from '../../../src/core/audit-entries.ts'
import { AuditKey } from '../../../src/core/audit-keys.ts'
import type { JsonObject } from '../../../src/core/json.ts'
import { adminFetch } from '../../support/admin.ts'
import { certificate } from '../../support/certificates.ts'
import { FakeClock } from '../../support/clock.ts'
import { eventually } from '../../support/eventually.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'

const BOSS = 'sk-router-v1-boss0000000000000000000000'
const AUDIT_KEY = 'k'.repeat(32)

const yaml = (folder: string, sinks: string, more = '') => `store: { url: "sqlite:${join(folder, 'headgate.db')}" }
audit: { sinks: [ ${sinks} ]${more} }
auth: { keys: [ { name: app, key: "sk-router-v1-0123456789abcdef" }, { name: boss, key: "${BOSS}", management: true } ] }
providers: { local: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: local, model: echo } ] } }`

interface Place {
  readonly gateway: Gateway
  readonly clock: FakeClock
  makeKey(name: string): Promise<void>
}

/** @param days from the first day on. */
async function start(t: Test, folder: string, { sinks, more, days = 0 }: { sinks: string; more?: string; days?: number }): Promise<Place> {
  const clock = new FakeClock(1, Date.UTC(2026, 10, 18 + days, 12))
  const gateway = await startGateway(yaml(folder, sinks, more), { directory: folder, clock })
  t.teardown(() => gateway.close())
  const makeKey = async (name: string): Promise<void> => {
    const reply = await gateway.post('/v1/keys', { name }, { authorization: `Bearer ${BOSS}` })
    t.equal(reply.status, 201)
  }
  return { gateway, clock, makeKey }
}

const lines = (file: string): JsonObject[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as JsonObject)
    : []

/** Turns of the clock until something is true: a sink looks each five seconds. */
const within = (clock: FakeClock, what: string, look: () => boolean) =>
  eventually(what, async () => {
    await clock.advance(5_000)
    return look()
  })

t.test('a file gets each entry once, over a rotation and a restart, readable by the gateway alone', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'logs', 'audit.jsonl')
  const sink = `{ name: archive, file: { path: "${file}" } }`
  const first = await start(t, folder, { sinks: sink, more: `, key: "${AUDIT_KEY}"` })
  await first.makeKey('one')
  await within(first.clock, 'both entries', () => lines(file).length === 2)
  t.equal(statSync(file).mode & 0o777, 0o600)
  renameSync(file, `${file}.1`)
  await first.makeKey('two')
  await within(first.clock, 'the next one in a new file', () => lines(file).length === 1)
  await first.gateway.close()
  const second = await start(t, folder, { sinks: sink, more: `, key: "${AUDIT_KEY}"` })
  await second.makeKey('three')
  await within(second.clock, 'those of the second start', () => lines(file).length === 3)
  const all = [...lines(`${file}.1`), ...lines(file)]
  t.same(
    all.map(({ sequence }) => sequence),
    [1, 2, 3, 4, 5],
  )
  const key = new AuditKey(AUDIT_KEY)
  for (const { hash, ...entry } of all) t.equal(key.sign(canonicalJson(entry)), hash, 'an entry is checked without the store')
  t.notMatch(JSON.stringify(all), new RegExp(`${BOSS}|${AUDIT_KEY}`))
})

t.test('half a line that a crash has left stays one of its own, and its entry comes again', async (t) => {
  const folder = t.testdir()
  const file = join(folder, 'audit.jsonl')
  writeFileSync(file, '{"action":"configur')
  const { clock } = await start(t, folder, { sinks: `{ name: archive, file: { path: "${file}" } }` })
  await within(clock, 'the entry', () => readFileSync(file, 'utf8').endsWith('}\n'))
  const [half, whole] = readFileSync(file, 'utf8').split('\n')
  t.equal(half, '{"action":"configur')
  t.match(JSON.parse(String(whole)), { sequence: 1, action: 'configuration.loaded' })
})

interface Receiver {
  readonly port: number
  readonly messages: string[]
  /** Ends connections without a word while true. */
  isBroken: boolean
}

/** Messages of octet counting (RFC 6587, 3.4.1), read when the sender has closed. */
async function receive(t: Test, make: (listener: (socket: Socket) => void) => Server): Promise<Receiver> {
  const receiver = { port: 0, messages: [] as string[], isBroken: false }
  const server = make((socket) => {
    socket.on('error', () => {})
    if (receiver.isBroken) {
      socket.resetAndDestroy()
      return
    }
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('end', () => {
      let rest = Buffer.concat(chunks)
      while (rest.length > 0) {
        const space = rest.indexOf(' ')
        const length = Number(rest.toString('latin1', 0, space))
        receiver.messages.push(rest.toString('utf8', space + 1, space + 1 + length))
        rest = rest.subarray(space + 1 + length)
      }
      socket.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return Object.assign(receiver, { port: (server.address() as AddressInfo).port })
}

const MESSAGE = /^<109>1 2026-11-18T12:[0-9:.]+Z \S+ headgate - key\.created - (\{.*\})$/

t.test('syslog over TCP: a receiver that is down loses nothing, the metric says how far it is behind, and the log why', async (t) => {
  const folder = t.testdir()
  const receiver = await receive(t, (listener) => createServer({ allowHalfOpen: true }, listener))
  receiver.isBroken = true
  const { gateway, clock, makeKey } = await start(t, folder, {
    sinks: `{ name: siem, syslog: { protocol: tcp, host: 127.0.0.1, port: ${receiver.port} } }`,
  })
  for (const name of ['ä name', 'two', 'three']) await makeKey(name)
  const metric = async (): Promise<string> => (await (await adminFetch(`${gateway.admin}/metrics`)).text()).replaceAll('\n', ' ')
  await eventually('a batch that failed', async () => {
    await clock.advance(5_000)
    return /headgate_export_failed_batches_total\{export="audit:siem"\} [1-9]/.test(await metric())
  })
  t.match(await metric(), /headgate_export_lag_rows\{export="audit:siem"\} 4/)
  const lined = gateway.logs
    .filter((line) => line.includes('the audit log is not delivered to a sink'))
    .map((line) => JSON.parse(line) as JsonObject)
  t.match(lined, [{ level: 50, export: 'audit:siem', destination: `tcp://127.0.0.1:${receiver.port}` }], 'one line for an outage')
  receiver.isBroken = false
  await eventually('all of them', async () => {
    await clock.advance(60_000)
    return receiver.messages.length >= 4
  })
  const entries = receiver.messages.slice(1).map((message) => JSON.parse(String(MESSAGE.exec(message)?.[1])) as JsonObject)
  t.same(
    entries.map(({ sequence, after }) => [sequence, (after as JsonObject).name]),
    [
      [2, 'ä name'],
      [3, 'two'],
      [4, 'three'],
    ],
  )
  await eventually('the lag ends', async () => {
    await clock.advance(5_000)
    return /headgate_export_lag_rows\{export="audit:siem"\} 0/.test(await metric())
  })
  t.ok(gateway.logs.some((line) => line.includes('the audit log is delivered to a sink again')))
})

t.test('syslog over TLS: a receiver with another certificate gets nothing', async (t) => {
  const folder = t.testdir()
  const [authority, other] = [certificate({ name: 'one' }), certificate({ name: 'two' })]
  const issued = certificate({ name: 'receiver', by: authority, addresses: ['127.0.0.1'] })
  const key = issued.key.export({ type: 'pkcs8', format: 'pem' })
  const tls = (ca: string) => `tls: { ca: "\${file:${ca}}" }`
  const good = join(folder, 'good.pem')
  const bad = join(folder, 'bad.pem')
  writeFileSync(good, authority.cert)
  writeFileSync(bad, other.cert)
  const make = (listener: (socket: Socket) => void) => createSecureServer({ cert: issued.cert, key, allowHalfOpen: true }, listener)
  const [receiver, wary] = [await receive(t, make), await receive(t, make)]
  const sinks = `{ name: one, syslog: { host: 127.0.0.1, port: ${receiver.port}, ${tls(good)} } },
    { name: two, syslog: { host: 127.0.0.1, port: ${wary.port}, ${tls(bad)} } }`
  const { clock, makeKey, gateway } = await start(t, folder, { sinks })
  await makeKey('one')
  await within(clock, 'both entries', () => receiver.messages.length >= 2)
  t.match(receiver.messages[1], MESSAGE)
  await within(clock, 'a line', () => gateway.logs.some((line) => line.includes('not delivered') && line.includes('audit:two')))
  t.same(wary.messages, [])
})

t.test('syslog over UDP: one datagram for each entry', async (t) => {
  const folder = t.testdir()
  const socket = createSocket('udp4')
  const messages: string[] = []
  socket.on('message', (message) => messages.push(message.toString()))
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.teardown(() => socket.close())
  const { clock, makeKey } = await start(t, folder, {
    sinks: `{ name: siem, syslog: { protocol: udp, host: 127.0.0.1, port: ${socket.address().port} } }`,
  })
  await makeKey('one')
  await within(clock, 'both', () => messages.length === 2)
  t.match(messages[1], MESSAGE)
})

t.test('entries that a sink has not had outlive their retention', async (t) => {
  const folder = t.testdir()
  const receiver = await receive(t, (listener) => createServer({ allowHalfOpen: true }, listener))
  receiver.isBroken = true
  const first = await start(t, folder, { sinks: '' })
  await first.makeKey('one')
  await first.gateway.close()
  const sinks = `{ name: siem, interval: 1h, syslog: { protocol: tcp, host: 127.0.0.1, port: ${receiver.port} } }`
  const { clock, gateway } = await start(t, folder, { sinks, more: ', retention: 32d', days: 40 })
  const oldest = async (): Promise<number | undefined> => (await gateway.running.store.auditLog.page({ after: 0, limit: 1 }))[0]?.sequence
  // Beyond the first look of retention, a minute after the start.
  for (let seconds = 0; seconds < 90; seconds += 10) await clock.advance(10_000)
  t.equal(await oldest(), 1)
  receiver.isBroken = false
  await eventually('the sink has had them', async () => {
    await clock.advance(60_000)
    return receiver.messages.length >= 3
  })
  await eventually('retention removes them', async () => {
    await clock.advance(600_000)
    return ((await oldest()) ?? 0) > 1
  })
})
