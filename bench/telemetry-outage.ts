/**
 * A collector that is away under load: `node bench/telemetry-outage.ts [--minutes 10] [--rate 2000] [--before 5] [--after 1] [--queue 16MB] [--how gone|silent]`.
 * Traces of all requests, metrics and the log go to a collector that is there for `--before` minutes, then is away for `--minutes` (its
 * port is closed, or it takes connections and never answers), and comes back for `--after`. Every ten seconds the gateway's memory is
 * read after a full collection. Ends with code 1 where a request failed, memory grew while the collector was away and the queues were full,
 * or of the spans that were made some were neither delivered nor counted as lost.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from './measure.ts'
import type { OpenJob, OpenSummary } from './open-load.ts'
import { cpuSeconds, freePort, keepTrack, killChildrenOnExit, startScript, stop } from './processes.ts'
import { BENCH_KEY, CHAT } from './requests.ts'
import type { Held } from './soak/probe.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '2000' },
    before: { type: 'string', default: '5' },
    after: { type: 'string', default: '1' },
    queue: { type: 'string', default: '16MB' },
    how: { type: 'string', default: 'gone' },
  },
})
const [minutes = Number.NaN, rate = Number.NaN, before = Number.NaN, after = Number.NaN] = [
  values.minutes,
  values.rate,
  values.before,
  values.after,
].map(Number)
if (![minutes, rate, before, after].every((value) => value > 0)) throw new Error('expected positive numbers')
if (!['gone', 'silent'].includes(values.how)) throw new Error('--how: expected gone or silent')

const root = fileURLToPath(new URL('..', import.meta.url))
const EVERY = 10_000
/** Spans of a request that is served at once: its own, and that of its call. */
const SPANS = 2
/**
 * By how much the median of the last third of the time with full queues may lie above that of the first: a share, and megabytes.
 * Fewer samples say nothing.
 */
const FLAT = { share: 0.05, megabytes: 8, samples: 6 }
/** Milliseconds in which what has waited reaches the collector that is back. */
const CATCH_UP = 120_000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A collector that reads and answers, or only reads. */
async function collector(port: number, answers: boolean): Promise<ChildProcess> {
  const reply = answers ? 'r.end()' : '0'
  const source = `require('node:http').createServer((q, r) => q.resume().on('end', () => ${reply})).listen(${port}, '127.0.0.1', () => console.log('ready'))`
  const child = keepTrack(spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'inherit'] }))
  if (child.stdout) await once(child.stdout, 'data')
  return child
}

interface Running {
  readonly child: ChildProcess
  readonly port: number
  readonly admin: number
}

async function startGateway(folder: string, upstream: number, otlp: number): Promise<Running> {
  const [port, admin] = [await freePort(), await freePort()]
  const config = join(folder, 'headgate.yaml')
  writeFileSync(
    config,
    `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin} }
store: { url: "sqlite:${join(folder, 'outage.db')}" }
auth: { keys: [ { name: bench, key: "${BENCH_KEY}", limit: "1000000.00" } ] }
telemetry: { endpoint: "http://127.0.0.1:${otlp}", queue: ${values.queue}, metrics: { enabled: true, interval: 10s }, logs: { enabled: true } }
providers: { mock: { dialect: openai-chat, base_url: "http://127.0.0.1:${upstream}/v1", key: sk-mock } }
models: { bench/chat: { context: 200000, max_output: 16384, endpoints: [ { provider: mock, model: chat, price: { prompt: "0.25", completion: "2.00" } } ] } }
`,
  )
  const flags = ['--expose-gc', '--import', new URL('./soak/probe.ts', import.meta.url).href]
  const args = [...flags, join(root, 'bin', 'headgate.js'), 'serve', '--config', config]
  const child = keepTrack(spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }))
  for (let tries = 0; tries < 1500; tries++) {
    const ready = await fetch(`http://127.0.0.1:${admin}/readyz`).catch(() => undefined)
    if (ready?.status === 200) return { child, port, admin }
    if (child.exitCode !== null) throw new Error(`the gateway ended with code ${child.exitCode}`)
    await pause(20)
  }
  throw new Error('the gateway is not ready')
}

/** Sums of the gateway's counters of what was delivered and what was lost, by signal. */
async function delivered(admin: number): Promise<Record<string, { taken: number; lost: number }>> {
  const text = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text()
  const found: Record<string, { taken: number; lost: number }> = {}
  for (const [, name, signal = '', value] of text.matchAll(/^headgate_otel_(exported|dropped)_total\{signal="(\w+)".*\} (\S+)$/gm)) {
    found[signal] ??= { taken: 0, lost: 0 }
    found[signal][name === 'exported' ? 'taken' : 'lost'] += Number(value)
  }
  return found
}

interface Sample extends Held {
  readonly phase: 'before' | 'away' | 'after'
  /** True once spans and lines of the log find no room. */
  readonly isFull: boolean
}

async function sampled({ child, admin }: Running, phase: Sample['phase'], at: number): Promise<Sample> {
  const message = once(child, 'message') as Promise<[Held]>
  child.send({})
  const [held] = await message
  const { traces, logs } = await delivered(admin)
  const mb = (bytes: number): string => (bytes / 1e6).toFixed(1).padStart(6)
  console.log(
    `${String(Math.round(at)).padStart(5)} s  ${phase.padEnd(6)}  rss ${mb(held.rss)}  young ${mb(held.young)}  heap ${mb(held.heap)}  external ${mb(held.external)}  spans: ${traces?.taken ?? 0} delivered, ${traces?.lost ?? 0} lost`,
  )
  return { ...held, phase, isFull: (traces?.lost ?? 0) > 0 && (logs?.lost ?? 0) > 0 }
}

async function run(folder: string): Promise<boolean> {
  const mock = await startScript('./mock.ts')
  const load = await startScript('./open-load.ts')
  const otlp = await freePort()
  let current = await collector(otlp, true)
  const gateway = await startGateway(folder, mock.port, otlp)
  const seconds = (before + minutes + after) * 60
  const summary = once(load.child, 'message') as Promise<[{ summary: OpenSummary }]>
  const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json' }
  const job: OpenJob = { port: gateway.port, path: CHAT.path, headers, body: CHAT.body, rate, connections: 0, seconds, warmUp: 0 }
  const cpu = cpuSeconds(gateway.child.pid ?? 0)
  load.child.send(job)
  const begun = performance.now()
  const samples: Sample[] = []
  const sampleUntil = async (phase: Sample['phase'], end: number): Promise<void> => {
    while (performance.now() - begun < end) {
      await pause(Math.min(EVERY, Math.max(1, end - (performance.now() - begun))))
      samples.push(await sampled(gateway, phase, (performance.now() - begun) / 1000))
    }
  }
  await sampleUntil('before', before * 60_000)
  await stop(current)
  if (values.how === 'silent') current = await collector(otlp, false)
  await sampleUntil('away', (before + minutes) * 60_000)
  if (values.how === 'silent') await stop(current)
  current = await collector(otlp, true)
  await sampleUntil('after', seconds * 1000)
  const [{ summary: requests }] = await summary
  const used = cpuSeconds(gateway.child.pid ?? 0) - cpu
  const passed = await verdict(gateway, requests, samples)
  console.log(`the gateway used ${(used / seconds).toFixed(2)} of a processor, the generator ${requests.cpu.toFixed(2)}`)
  for (const child of [load.child, gateway.child, mock.child, current]) await stop(child)
  return passed
}

async function verdict({ admin }: Running, { sent, byStatus, lateP99, p99 }: OpenSummary, samples: readonly Sample[]): Promise<boolean> {
  const served = byStatus['200'] ?? 0
  const made = served * SPANS
  const end = performance.now() + CATCH_UP
  let { taken, lost } = { taken: 0, lost: 0 }
  while (performance.now() < end && taken + lost < made) {
    await pause(500)
    ;({ taken = 0, lost = 0 } = (await delivered(admin)).traces ?? {})
  }
  // V8's young generation doubles once or twice under load, whenever that comes.
  const full = samples.filter(({ phase, isFull }) => phase === 'away' && isFull).map(({ rss, young }) => (rss - young) / 1e6)
  const third = Math.max(1, Math.floor(full.length / 3))
  const [first, last] = [median(full.slice(0, third)), median(full.slice(-third))]
  const isFlat = full.length >= FLAT.samples && last - first <= Math.max(FLAT.megabytes, first * FLAT.share)
  const checks: readonly (readonly [boolean, string])[] = [
    [served === sent, `${sent} requests at ${rate} per second, of which ${sent - served} failed: ${JSON.stringify(byStatus)}`],
    [
      isFlat,
      `memory with full queues, ${full.length} samples: ${first.toFixed(1)} MB in the first third, ${last.toFixed(1)} MB in the last`,
    ],
    [taken + lost === made && lost > 0, `${made} spans: ${taken} delivered, ${lost} counted as lost, ${made - taken - lost} missing`],
  ]
  for (const [holds, text] of checks) console.log(`${holds ? 'ok     ' : 'FAILED '} ${text}`)
  console.log(`replies at the 99th percentile after ${p99.toFixed(1)} ms; the generator was up to ${lateP99.toFixed(1)} ms late`)
  return checks.every(([holds]) => holds)
}

killChildrenOnExit()
const folder = mkdtempSync(join(tmpdir(), 'headgate-outage-'))
try {
  process.exitCode = (await run(folder)) ? 0 : 1
} finally {
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
