/** One scenario of `connections.ts` in a process of its own: provider, name server and callers, and the gateway of a checkout. Prints its result. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNameServer } from '../test/support/name-server.ts'
import { freePort, startScript } from './processes.ts'

export type ScenarioName = 'reset' | 'closed' | 'silent names'

export interface ScenarioResult {
  calls: number
  failed: number
  /** Milliseconds. */
  slowest: number
}

const [name, checkout = '.'] = process.argv.slice(2)
const scenario = name as ScenarioName
const KEY = 'sk-router-v1-0123456789abcdef0123456789abcdef'
/** Idle connections that stand, and calls at once after that. */
const IDLE = 40
const CALLS = 120
const SILENT = 8

// In a process of its own: what is between a gateway and its provider is never busy.
const provider = await startScript('./connections-provider.ts', [scenario, `${IDLE}`])
process.once('exit', () => provider.child.kill('SIGKILL'))

const folder = mkdtempSync(join(tmpdir(), 'headgate-connections-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const port = await freePort()
const upstreamPort = provider.port
const isNamed = scenario === 'silent names'
if (isNamed) await startNameServer()
const hosts = isNamed ? ['fast', ...Array.from({ length: SILENT }, (_, i) => `silent${i}`), 'late'] : ['one']
const providerHost = (host: string): string => (isNamed ? `${host}.test` : '127.0.0.1')
const config = join(folder, 'headgate.yaml')
writeFileSync(
  config,
  [
    `server: { host: 127.0.0.1, port: ${port} }`,
    `admin: { host: 127.0.0.1, port: ${await freePort()} }`,
    'store: { url: "memory:" }',
    `auth: { keys: [ { name: bench, key: "${KEY}" } ] }`,
    'providers:',
    ...hosts.map(
      (host) =>
        `  ${host}: { dialect: openai-chat, base_url: "http://${providerHost(host)}:${upstreamPort}/v1", key: k, timeouts: { connect: 3s } }`,
    ),
    'models:',
    ...hosts.map(
      (host) => `  bench/${host}: { context: 1000, max_output: 100, endpoints: [ { provider: ${host}, model: m, price: free } ] }`,
    ),
  ].join('\n'),
)
const gateway = spawn(process.execPath, [join(checkout, 'bin/headgate.js'), 'serve', '--config', config], {
  cwd: checkout,
  stdio: ['ignore', 'ignore', 'inherit'],
})
process.once('exit', () => gateway.kill('SIGKILL'))

async function ask(model: string): Promise<{ ok: boolean; ms: number }> {
  const began = performance.now()
  const ok = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: `bench/${model}`, messages: [{ role: 'user', content: 'x' }] }),
  }).then(
    async (reply) => (await reply.text()) !== '' && reply.status === 200,
    () => false,
  )
  return { ok, ms: performance.now() - began }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
for (let up = false; !up; await pause(100))
  up = await fetch(`http://127.0.0.1:${port}/healthz`).then(
    () => true,
    () => false,
  )

async function outcomes(): Promise<{ ok: boolean; ms: number }[]> {
  if (isNamed) {
    await ask('fast')
    for (let i = 0; i < SILENT; i++) void ask(`silent${i}`)
    await pause(300)
    return await Promise.all([...Array.from({ length: IDLE }, () => ask('fast')), ask('late')])
  }
  await Promise.all(Array.from({ length: IDLE }, () => ask('one')))
  provider.child.send('stale')
  await pause(200)
  return await Promise.all(Array.from({ length: CALLS }, () => ask('one')))
}

const seen = await outcomes()
const result: ScenarioResult = {
  calls: seen.length,
  failed: seen.filter(({ ok }) => !ok).length,
  slowest: Math.round(Math.max(...seen.map(({ ms }) => ms))),
}
process.stdout.write(JSON.stringify(result), () => process.exit(0))
