/** docs/recipes/three-replicas.md, followed with a real PostgreSQL, Redis and nginx, under load. Processes stand in for machines. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { ADMIN_TOKEN, adminFetch, freshVerdict } from '../support/admin.ts'
import { bash, executable, pageBlocks } from '../support/command-blocks.ts'
import { parseRows } from '../support/crash/audit.ts'
import { freePorts } from '../support/crash/configuration.ts'
import { eventually } from '../support/eventually.ts'
import { type FrontProxy, startFrontProxy } from '../support/front-proxies.ts'
import { KEY } from '../support/gateway.ts'
import { LAUNCHER } from '../support/launcher.ts'
import { startPostgres } from '../support/postgres.ts'
import { type Program, runProgram } from '../support/program.ts'
import { startRedis } from '../support/redis.ts'
import { Gate, sseAnswer, startUpstream } from '../support/upstream.ts'
import { answerFor, framesFor } from '../support/wire.ts'
import { languageBlock, pageConfig, replaceAll } from './recipe.ts'

// Six starts of the program, on a machine that others use.
t.setTimeout(240_000)

const PAGE = 'docs/recipes/three-replicas.md'
const MACHINES = ['10.0.0.21', '10.0.0.22', '10.0.0.23']

interface Replica {
  readonly port: number
  readonly admin: string
  readonly health: string
  program: Program
  start(): Promise<void>
}

async function startReplica(t: Test, folder: string, { database, redis, provider }: Record<'database' | 'redis' | 'provider', string>) {
  const [port, admin, health] = await freePorts(3)
  mkdirSync(join(folder, 'data'), { recursive: true })
  const file = join(folder, 'headgate.yaml')
  const text = pageConfig(PAGE, {
    'host: 0.0.0.0, port: 8080': `host: 127.0.0.1, port: ${port}`,
    '10.0.0.5': '127.0.0.1',
    'port: 8081, health_port: 8082': `port: ${admin}, health_port: ${health}, token: ${ADMIN_TOKEN}`,
    'preset: openai }': `preset: openai, base_url: "${provider}/v1" }`,
  })
  writeFileSync(file, text)
  const env = { HEADGATE_DATABASE: database, HEADGATE_REDIS: redis, HEADGATE_APP_KEY: KEY, OPENAI_API_KEY: 'sk-openai' }
  const begin = (): Program => {
    const program = runProgram(['serve', '--config', file], { cwd: folder, env })
    t.teardown(async () => {
      program.child.kill('SIGKILL')
      await program.exited
    })
    return program
  }
  const replica: Replica = {
    port,
    admin: `http://127.0.0.1:${admin}`,
    health: `http://127.0.0.1:${health}`,
    program: begin(),
    start: async () => {
      replica.program = begin()
      await replica.program.until(/listens on/)
    },
  }
  await replica.program.until(/listens on/)
  return replica
}

/** A request over a connection of its own. @returns the status and the reply, or the error of the connection. */
function send({ port, ca }: FrontProxy, stream: boolean): Promise<string> {
  return new Promise((resolve) => {
    const body = { model: 'openai/gpt-5-mini', stream, messages: [{ role: 'user', content: stream ? 'long' : 'Hello' }] }
    const headers = { host: 'api.example.com', authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
    const call = request({
      host: '127.0.0.1',
      servername: 'api.example.com',
      port,
      ca,
      path: '/v1/chat/completions',
      method: 'POST',
      agent: false,
      headers,
    })
    call.on('error', (error) => resolve(String(error)))
    call.on('response', (response) => {
      let text = ''
      response.on('error', (error) => resolve(String(error)))
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString()
      })
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
    call.end(JSON.stringify(body))
  })
}

t.test('a rolling upgrade under load', async (t) => {
  const postgres = await startPostgres(t)
  const redis = await startRedis()
  if (redis) t.teardown(() => redis.close())
  if (!postgres || !redis) return t.pass('skipped: no PostgreSQL or no Redis')
  const folder = t.testdir({ bin: {} })
  let gate = new Gate()
  const provider = await startUpstream((seen) => {
    if (!seen.body.includes('long')) return answerFor(seen, { text: ['fine'] })
    const frames = framesFor(seen.path, { text: ['begun ', 'done'] })
    const begun = frames.findIndex((frame) => frame.includes('begun ')) + 1
    return sseAnswer([...frames.slice(0, begun), gate.step, ...frames.slice(begun)])
  })
  t.teardown(() => provider.close())
  const servers = { database: await postgres.database(), redis: redis.url, provider: provider.url }
  const replicas: Replica[] = []
  for (const machine of MACHINES) replicas.push(await startReplica(t, join(folder, machine), servers))
  const file = ({ port, cert, key }: { port: number; cert: string; key: string }): string =>
    replaceAll(languageBlock(PAGE, 'nginx'), {
      'listen 443 ssl;': `listen 127.0.0.1:${port} ssl;`,
      '/etc/nginx/tls/fullchain.pem': cert,
      '/etc/nginx/tls/privkey.pem': key,
      ...Object.fromEntries(MACHINES.map((machine, at) => [`${machine}:8080`, `127.0.0.1:${replicas[at].port}`])),
    })
  const proxy = await startFrontProxy(t, { name: 'nginx', folder, file })
  if (!proxy) return

  const outcomes: string[] = []
  let isOver = false
  const caller = async (): Promise<void> => {
    while (!isOver) outcomes.push(await send(proxy, false))
  }
  const callers = Array.from({ length: 6 }, caller)
  const long: Promise<string>[] = []
  const [takeOut, ready, putBack, verify] = pageBlocks(PAGE).filter(({ excuse }) => excuse === undefined)
  executable(join(folder, 'bin', 'headgate'), `#!/bin/sh\nexec "${process.execPath}" "${LAUNCHER}" "$@"\n`)
  const run = async (code: string, { port, health, admin }: Replica): Promise<void> => {
    const { failed, out, error } = await bash(code, folder, {
      PATH: `${join(folder, 'bin')}:${process.env.PATH}`,
      REPLICA: `127.0.0.1:${port}`,
      HEALTH: health,
      CONF: proxy.file,
      RELOAD: `kill -HUP ${proxy.pid}`,
      HEADGATE_ADMIN_URL: admin,
      HEADGATE_ADMIN_TOKEN: ADMIN_TOKEN,
    })
    t.notOk(failed, `${code}\n${out}${error}`)
  }
  const served = (): number => outcomes.length
  for (const replica of replicas) {
    const before = served()
    await eventually('requests run', () => served() > before + 10)
    // Streams that are open at all of them while one is upgraded.
    gate = new Gate()
    const running = provider.requests.length
    const streams = Array.from({ length: 6 }, () => send(proxy, true))
    long.push(...streams)
    await eventually(
      'the streams have begun',
      () => provider.requests.slice(running).filter(({ body }) => body.includes('long')).length >= 6,
    )
    await run(takeOut.code, replica)
    t.match(readFileSync(proxy.file, 'utf8'), `server 127.0.0.1:${replica.port} max_fails=1 fail_timeout=2s down;`)
    await proxy.reloaded()
    replica.program.child.kill('SIGTERM')
    gate.open()
    t.same(await replica.program.exited, { code: 0, signal: null }, 'it drains and ends')
    const without = served()
    await eventually('the others serve', () => served() > without + 10)
    await replica.start()
    await run(ready.code, replica)
    await run(putBack.code, replica)
    t.notMatch(readFileSync(proxy.file, 'utf8'), / down;/)
    await proxy.reloaded()
  }
  isOver = true
  await Promise.all(callers)
  const lost = outcomes.filter((outcome) => !outcome.startsWith('200 '))
  t.same(lost, [], `0 of ${outcomes.length} requests are lost`)
  for (const outcome of await Promise.all(long))
    t.match(outcome, /^200 [\s\S]*begun [\s\S]*done[\s\S]*\[DONE\]/, 'a stream that ran during an upgrade')
  const [first] = replicas
  await run(verify.code, first)
  const { ok, problems } = await freshVerdict(first.admin)
  t.ok(ok, problems.join(', '))
  const rows = parseRows(await (await adminFetch(`${first.admin}/ledger/export`)).text())
  t.equal(rows.length, outcomes.length + long.length, 'each has its row in the ledger')
})
