/**
 * Growth in a process under mixed load: `npm run soak -- [--minutes 30] [--rate 1000] [--warm-up 10] [--every 10]
 * [--snapshots <folder>] [--json <file>] [--node-flags=--max-semi-space-size=16]`. The gateway, the provider and the callers are processes of their own. Every
 * `--every` seconds the gateway collects its garbage, then its resident memory, heap, external memory, descriptors and timers
 * are read. A quarter of the warm-up has half as many requests again. Ends with code 1 where resident memory grows by 1 MB per 10 minutes or more after the warm-up, or descriptors or
 * timers grow. `--snapshots` writes a heap snapshot after the warm-up and one at the end.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort, keepTrack, killChildrenOnExit, startScript, stop } from './processes.ts'
import { BENCH_KEY } from './requests.ts'
import { judge, type Sample } from './soak/figures.ts'
import type { Held } from './soak/probe.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '30' },
    rate: { type: 'string', default: '1000' },
    'warm-up': { type: 'string', default: '10' },
    every: { type: 'string', default: '10' },
    snapshots: { type: 'string' },
    json: { type: 'string' },
    'node-flags': { type: 'string', default: '' },
  },
})
const [minutes = Number.NaN, rate = Number.NaN, warmUp = Number.NaN, every = Number.NaN] = [
  values.minutes,
  values.rate,
  values['warm-up'],
  values.every,
].map(Number)
if (![minutes, rate, every].every((value) => value > 0) || !(warmUp >= 0)) throw new Error('expected positive numbers')

const root = fileURLToPath(new URL('..', import.meta.url))
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

function configText(port: number, admin: number, upstream: number, store: string): string {
  const endpoints = (wire: string, price: string): string =>
    `endpoints: [ { provider: ${wire}-1, model: m, price: ${price} }, { provider: ${wire}-2, model: m, price: ${price} } ]`
  const provider = (name: string, dialect: string, path: string): string =>
    [1, 2]
      .map(
        (n) =>
          `  ${name}-${n}: { dialect: ${dialect}, base_url: "http://127.0.0.1:${upstream}${path}", key: sk-mock, timeouts: { idle: 2s, first_byte: 10s } }\n`,
      )
      .join('')
  const price = '{ prompt: "0.25", completion: "2.00" }'
  return `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin} }
store: { url: "sqlite:${store}" }
auth: { keys: [ { name: bench, key: "${BENCH_KEY}", limit: "1000000.00" } ] }
providers:
${provider('chat', 'openai-chat', '/v1')}${provider('responses', 'openai-responses', '/v1')}${provider('messages', 'anthropic', '')}
models:
  soak/chat: { context: 128000, max_output: 16384, ${endpoints('chat', price)} }
  soak/responses: { context: 128000, max_output: 16384, ${endpoints('responses', price)} }
  soak/messages: { context: 128000, max_output: 16384, ${endpoints('messages', price)} }
  soak/vectors: { kind: embedding, context: 8192, ${endpoints('chat', '{ prompt: "0.02" }')} }
`
}

async function startGateway(upstream: number, folder: string): Promise<{ child: ChildProcess; port: number }> {
  const [port, admin] = [await freePort(), await freePort()]
  const config = join(folder, 'headgate.yaml')
  writeFileSync(config, configText(port, admin, upstream, join(folder, 'soak.db')))
  const flags = [
    ...values['node-flags'].split(' ').filter((flag) => flag !== ''),
    '--expose-gc',
    '--import',
    new URL('./soak/probe.ts', import.meta.url).href,
  ]
  const args = [...flags, join(root, 'bin', 'headgate.js'), 'serve', '--config', config]
  const child = keepTrack(spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }))
  for (let tries = 0; tries < 500; tries++) {
    const ready = await fetch(`http://127.0.0.1:${admin}/readyz`).catch(() => undefined)
    if (ready?.status === 200) return { child, port }
    if (child.exitCode !== null) throw new Error(`the gateway ended with code ${child.exitCode}`)
    await pause(20)
  }
  throw new Error('the gateway is not ready')
}

function held(child: ChildProcess, snapshot?: string): Promise<Held> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as Held))
    child.once('exit', (code) => reject(new Error(`the gateway ended with code ${code}`)))
    child.send({ snapshot })
  })
}

async function sampled(child: ChildProcess, begun: number, snapshot?: string): Promise<Sample> {
  const found = await held(child, snapshot)
  child.removeAllListeners('exit')
  const descriptors = readdirSync(`/proc/${child.pid}/fd`).length
  return { at: Math.round((performance.now() - begun) / 1000), ...found, descriptors }
}

function line({ at, rss, young, heap, heapTotal, external, descriptors, timers, handles }: Sample, counts: Record<string, number>): string {
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(1).padStart(6)
  const replies = Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(' ')
  return `${String(at).padStart(5)} s  rss ${mb(rss)}  young ${mb(young)}  heap ${mb(heap)} of ${mb(heapTotal)}  external ${mb(external)}  fds ${descriptors}  timers ${timers}  handles ${handles}  ${replies}`
}

async function soak(folder: string): Promise<boolean> {
  const provider = await startScript('./soak/provider.ts')
  const gateway = await startGateway(provider.port, folder)
  const load = await startScript('./soak/load.ts', [String(gateway.port), String(rate), String(warmUp * 15)])
  let counts: Record<string, number> = {}
  load.child.on('message', (message: { counts?: Record<string, number> }) => {
    counts = message.counts ?? counts
  })
  const begun = performance.now()
  const samples: Sample[] = []
  const warm = { done: false }
  while (performance.now() - begun < minutes * 60_000) {
    await pause(every * 1000)
    const isWarm = !warm.done && performance.now() - begun >= warmUp * 60_000
    const snapshot = isWarm && values.snapshots ? join(values.snapshots, 'warm.heapsnapshot') : undefined
    warm.done ||= isWarm
    const sample = await sampled(gateway.child, begun, snapshot)
    samples.push(sample)
    console.log(line(sample, counts))
  }
  if (values.snapshots) await held(gateway.child, join(values.snapshots, 'end.heapsnapshot'))
  await stop(load.child)
  await stop(gateway.child)
  await stop(provider.child)
  if (values.json) writeFileSync(values.json, JSON.stringify(samples))
  const verdict = judge(samples, warmUp * 60)
  console.log(`${rate} requests per second for ${minutes} minutes, ${counts.sent} sent; figures from minute ${warmUp} on`)
  for (const text of verdict.lines) console.log(text)
  return verdict.passed
}

killChildrenOnExit()
const folder = mkdtempSync(join(tmpdir(), 'headgate-soak-'))
try {
  process.exitCode = (await soak(folder)) ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
