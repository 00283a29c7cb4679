/** The admin listener: health and metrics are open, all else needs the token, or the unix socket. Runs with `npm run test:servers`. */

import { spawn } from 'node:child_process'
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { fileText, freePorts } from '../../support/crash/configuration.ts'
import { startGateway } from '../../support/gateway.ts'
import { follow, plainNode, runProgram, serveProgram } from '../../support/program.ts'

const MODEL = `
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`
const ADDRESSES = 'host: 127.0.0.1, port: 0'
const OPEN = ['/healthz', '/readyz', '/metrics']
const CLOSED: [method: string, path: string][] = [
  ['GET', '/ledger/export'],
  ['GET', '/ledger/verify'],
  ['GET', '/ledger/recovery'],
  ['POST', '/keys/command'],
  ['POST', '/guardrails/command'],
  ['POST', '/compaction/command'],
  ['GET', '/nothing-here'],
]

const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })

t.test('everything but health and metrics needs the token, also from this very machine', async (t) => {
  const gateway = await startGateway(`admin: { ${ADDRESSES}, token: ${ADMIN_TOKEN} }${MODEL}`)
  t.teardown(() => gateway.close())
  for (const path of OPEN) t.equal((await fetch(`${gateway.admin}${path}`)).status, 200, path)
  for (const [method, path] of CLOSED) {
    const refused = await fetch(`${gateway.admin}${path}`, { method })
    t.equal(refused.status, 401, path)
    t.equal(refused.headers.get('www-authenticate'), 'Bearer', path)
    for (const wrong of ['x', `${ADMIN_TOKEN}x`, ADMIN_TOKEN.slice(1), gateway.key])
      t.equal((await fetch(`${gateway.admin}${path}`, { method, headers: bearer(wrong) })).status, 401, `${path} ${wrong}`)
  }
  t.equal((await fetch(`${gateway.admin}/ledger/verify`, { headers: bearer(ADMIN_TOKEN) })).status, 200)
  t.notMatch(gateway.logs.join('\n'), ADMIN_TOKEN)
})

t.test('RFC 9112 section 3.2: a Host that is no host is refused on every listener, and the connection ends', async (t) => {
  const [port] = await freePorts(1)
  const directory = mkdtempSync(join(tmpdir(), 'admin-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const socket = join(directory, 'admin.sock')
  const admin = `admin: { ${ADDRESSES}, token: ${ADMIN_TOKEN}, socket: "${socket}", health_port: ${port} }`
  const gateway = await startGateway(`${admin}${MODEL}`)
  t.teardown(() => gateway.close())
  const listeners: [name: string, open: () => Socket, path: string][] = [
    ['admin', () => connect(Number(new URL(gateway.admin).port), '127.0.0.1'), '/metrics'],
    ['socket', () => connect(socket), '/metrics'],
    ['health', () => connect(port, '127.0.0.1'), '/healthz'],
  ]
  const utterance = async (open: () => Socket, head: string): Promise<string> => {
    const client = open()
    client.write(head)
    return text(client)
  }
  for (const [name, open, path] of listeners) {
    const head = (...lines: string[]): string => `${[`GET ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`
    for (const lines of [
      ['Host: a b'],
      ['Host: '],
      ['Host: x@y'],
      ['Host: http://a'],
      ['Host: a', 'Host: a'],
      ['Host: a', 'host: b'],
      [],
    ]) {
      // The second request is sound, and gets no reply: it came on a connection that cannot be trusted.
      const reply = await utterance(open, head(...lines) + head('Host: a', 'Connection: close'))
      t.match(reply, /^HTTP\/1\.1 400 /, `${name}: ${JSON.stringify(lines)}`)
      t.notMatch(reply, ' 200 ', `${name}: ${JSON.stringify(lines)}`)
    }
    for (const lines of [['Host: a'], ['Host: 127.0.0.1:80'], ['Host: [::1]:1'], ['Host: a', 'Upgrade: h2c', 'Connection: Upgrade']])
      t.match(await utterance(open, head(...lines, 'Connection: close')), /^HTTP\/1\.1 200 /, `${name}: ${lines}`)
    t.match(await utterance(open, `GET ${path} HTTP/1.0\r\n\r\n`), /^HTTP\/1\.[01] 200 /, `${name}: HTTP/1.0 needs no Host`)
  }
})

t.test(
  'without a setting the token stands in a file of mode 0600 beside the store, fresh at each start, and goes with the end',
  async (t) => {
    const directory = t.testdir()
    const store = join(directory, 'ledger.db')
    const file = `${store}.admin-token`
    // What another account has prepared there is replaced, not written through.
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'elsewhere'), 'untouched', { mode: 0o666 })
    symlinkSync(join(directory, 'elsewhere'), file)
    const gateway = await startGateway(`store: { url: "sqlite:${store}" }\nadmin: { ${ADDRESSES} }${MODEL}`)
    t.teardown(() => gateway.close())
    const first = readFileSync(file, 'utf8').trim()
    t.equal(lstatSync(file).mode & 0o777, 0o600)
    t.ok(lstatSync(file).isFile())
    t.equal(readFileSync(join(directory, 'elsewhere'), 'utf8'), 'untouched')
    t.equal((await fetch(`${gateway.admin}/ledger/verify`, { headers: bearer(first) })).status, 200)
    await gateway.restart()
    const second = readFileSync(file, 'utf8').trim()
    t.not(second, first)
    t.equal((await fetch(`${gateway.admin}/ledger/verify`, { headers: bearer(first) })).status, 401, 'the token of the earlier life')
    t.equal((await fetch(`${gateway.admin}/ledger/verify`, { headers: bearer(second) })).status, 200)
    t.notMatch(gateway.logs.join('\n'), first)
    await gateway.close()
    t.equal(statSync(file, { throwIfNoEntry: false }), undefined)
  },
)

t.test('a second gateway on the same store does not replace the token of the first', async (t) => {
  const directory = t.testdir()
  const store = join(directory, 'ledger.db')
  const yaml = `store: { url: "sqlite:${store}" }\nadmin: { ${ADDRESSES} }${MODEL}`
  const gateway = await startGateway(yaml)
  t.teardown(() => gateway.close())
  const token = readFileSync(`${store}.admin-token`, 'utf8').trim()
  // One process may open a database of its own twice, so the second one is a program.
  const file = join(directory, 'second.yaml')
  writeFileSync(file, `server: { port: 0 }\n${yaml}`)
  t.match(await runProgram(['--config', file]).exited, { code: 1 })
  t.equal(readFileSync(`${store}.admin-token`, 'utf8').trim(), token)
})

t.test('the unix socket serves its own account without a token, and replaces the token file', async (t) => {
  const directory = shortDirectory(t)
  const socket = join(directory, 'admin.sock')
  const store = join(directory, 'ledger.db')
  await leaveBehind(socket)
  const gateway = await startGateway(`store: { url: "sqlite:${store}" }\nadmin: { ${ADDRESSES}, socket: "${socket}" }${MODEL}`)
  t.teardown(() => gateway.close())
  t.equal(statSync(socket).mode & 0o777, 0o600)
  t.match(JSON.parse(await overSocket(socket, '/ledger/verify')), { ok: true })
  for (const [method, path] of CLOSED) t.equal((await fetch(`${gateway.admin}${path}`, { method })).status, 401, `${path} over TCP`)
  t.equal((await fetch(`${gateway.admin}/healthz`)).status, 200)
  t.equal(statSync(`${store}.admin-token`, { throwIfNoEntry: false }), undefined)
})

t.test('a path that is no stale socket is left alone', async (t) => {
  const directory = shortDirectory(t)
  writeFileSync(join(directory, 'file'), 'precious')
  const refuse = (socket: string): Promise<unknown> => startGateway(`admin: { ${ADDRESSES}, socket: "${socket}" }${MODEL}`)
  await t.rejects(refuse(join(directory, 'file')), { message: /exists and is no socket/ })
  t.equal(readFileSync(join(directory, 'file'), 'utf8'), 'precious')
  const taken = join(directory, 'taken.sock')
  const server = createServer().listen(taken)
  t.teardown(() => server.close())
  await t.rejects(refuse(taken), { message: /another program listens/ })
})

t.test('health has a port of its own, which serves nothing else', async (t) => {
  const [port] = await freePorts(1)
  const gateway = await startGateway(`admin: { ${ADDRESSES}, token: ${ADMIN_TOKEN}, health_port: ${port} }${MODEL}`)
  t.teardown(() => gateway.close())
  const health = `http://127.0.0.1:${port}`
  t.equal((await fetch(`${health}/healthz`)).status, 200)
  t.equal((await fetch(`${health}/readyz`)).status, 200)
  for (const path of ['/metrics', '/ledger/export', '/keys/command'])
    t.equal((await fetch(`${health}${path}`, { headers: bearer(ADMIN_TOKEN) })).status, 404, path)
})

for (const workers of [0, 2])
  t.test(`the command line finds the token of a running gateway by itself, ${workers} workers`, async (t) => {
    const { file, directory } = await configuration(t)
    const workerPool = workers === 0 ? [] : ['--workers', String(workers)]
    const program = await serveProgram(['--config', file, ...workerPool], { cwd: directory })
    t.teardown(() => program.child.kill('SIGKILL'))
    for (const words of [['keys', 'create', 'mine'], ['keys', 'list'], ['credits'], ['ledger', 'verify'], ['guardrails', 'list']]) {
      const command = runProgram([...words, '--config', file], { cwd: directory })
      t.match(await command.exited, { code: 0 }, `${words.join(' ')}: ${command.err()}`)
    }
    const token = readFileSync(join(directory, 'ledger.db.admin-token'), 'utf8').trim()
    t.notOk((program.out() + program.err()).includes(token), 'the token is not printed')
  })

t.test('the command line says what it lacks', async (t) => {
  const { file, directory } = await configuration(t)
  const program = await serveProgram(['--config', file], { cwd: directory })
  t.teardown(() => program.child.kill('SIGKILL'))
  writeFileSync(join(directory, 'ledger.db.admin-token'), 'another')
  const lost = runProgram(['keys', 'list', '--config', file], { cwd: directory })
  t.match(await lost.exited, { code: 1 })
  t.match(lost.err(), /expected the admin token of the gateway that runs there in .*ledger\.db\.admin-token/)
  t.notMatch(lost.err(), /another/)
})

/** A path of a unix socket holds at most 107 bytes: those of `testdir` are longer. */
function shortDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A configuration without `admin.token`. */
async function configuration(t: Test): Promise<{ file: string; directory: string }> {
  const directory = t.testdir()
  const [port, admin] = await freePorts(2)
  const file = join(directory, 'headgate.yaml')
  const text = fileText({ port, admin, store: join(directory, 'ledger.db'), provider: 'http://127.0.0.1:9' })
  writeFileSync(file, text.replace(/, token: [^ ]+ }/, ' }'))
  return { file, directory }
}

function overSocket(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request({ socketPath, path }, (reply) => void text(reply).then(resolve, reject))
      .on('error', reject)
      .end()
  })
}

/** A socket of a process that was killed. */
async function leaveBehind(socket: string): Promise<void> {
  const script = `require('node:net').createServer().listen(${JSON.stringify(socket)}, () => console.log('ready'))`
  const program = follow(spawn(...plainNode(['-e', script]), { stdio: ['ignore', 'pipe', 'pipe'] }))
  await program.until(/ready/)
  program.child.kill('SIGKILL')
  await program.exited
}

t.test('a name that another site may own is refused, so that no page reads the port through a browser (DNS rebinding)', async (t) => {
  const gateway = await startGateway(`server: { host: 127.0.0.1, port: 0, public_url: "https://api.gate.example" }
admin: { host: 127.0.0.1, port: 0, token: ${ADMIN_TOKEN}, hosts: [ops.gate.example] }${MODEL}`)
  t.teardown(() => gateway.close())
  const { port } = new URL(gateway.admin)
  const status = async (path: string, host: string, line = `GET ${path} HTTP/1.1`): Promise<number> => {
    const client = connect(Number(port), '127.0.0.1')
    client.write(`${line}\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    return Number(/^HTTP\/1\.1 (\d+)/.exec(await text(client))?.[1])
  }
  const others = [
    'evil.example',
    `evil.example:${port}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'gate.example',
    'x.ops.gate.example',
  ]
  for (const host of others) {
    for (const path of ['/metrics', '/control-room/', '/control-room/session', '/ledger/verify', '/v1/key', '/nowhere'])
      t.equal(await status(path, host), 403, `${host}${path}`)
    t.equal(await status('', host, `GET http://127.0.0.1:${port}/metrics HTTP/1.1`), 200, `${host}: the absolute form is what counts`)
    t.equal(await status('/healthz', host), 200, `${host}: health`)
  }
  t.equal(await status('', '127.0.0.1', `GET http://evil.example:${port}/metrics HTTP/1.1`), 400, 'absolute form of another host')
  const own = [
    '127.0.0.1',
    `localhost:${port}`,
    'gateway',
    'a.localhost',
    '[::1]:80',
    '10.1.2.3',
    'OPS.gate.example',
    'api.gate.example:443',
  ]
  for (const host of own) t.equal(await status('/metrics', host), 200, host)
})

t.test('wrong tokens are limited by address, and the right one is not', async (t) => {
  const gateway = await startGateway(`server: { host: 127.0.0.1, port: 0, auth_failures: { burst: 3, per_minute: 1 } }
admin: { host: 127.0.0.1, port: 0, token: ${ADMIN_TOKEN} }${MODEL}`)
  t.teardown(() => gateway.close())
  const ask = (token: string): Promise<Response> => fetch(`${gateway.admin}/ledger/verify`, { headers: bearer(token) })
  const statuses: number[] = []
  for (let i = 0; i < 5; i++) statuses.push((await ask(`wrong-${i}`)).status)
  t.same(statuses, [401, 401, 401, 429, 429])
  t.match((await ask('wrong')).headers.get('retry-after'), /^\d+$/)
  t.equal((await ask(ADMIN_TOKEN)).status, 200)
  t.equal((await fetch(`${gateway.admin}/ledger/verify`)).status, 401, 'without a token there is nothing to count')
  t.equal((await fetch(`${gateway.admin}/metrics`, { headers: bearer('wrong') })).status, 200, 'what needs none is open')
})
