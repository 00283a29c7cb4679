/**
 * Cost of telemetry: `node bench/telemetry.ts [--rounds 7] [--requests 20000]`. Processor time per request for the decision at its
 * head, its spans and their delivery to a collector in another process, in microseconds: switched off, with metrics, logs and traces at a ratio of 10 % and of 100 %.
 * The request is one that a gateway has served: two calls of providers of which the first failed, with parameters, a session and
 * `metadata`. The ways take turns, and the quietest round of each counts. Ends with code 1 when a goal is missed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { start } from '../src/app/start.ts'
import { systemClock } from '../src/core/clock.ts'
import { openLog } from '../src/core/log.ts'
import { clientDialects } from '../src/dialects/registry.ts'
import { MetricRegistry } from '../src/machines/metrics/metrics.ts'
import type { Exchange } from '../src/pipeline/exchange.ts'
import { type EndOfExchange, ExchangeSpans } from '../src/server/traces/exchange-spans.ts'
import { Telemetry } from '../src/services/telemetry/telemetry.ts'

/** Microseconds per request. */
const GOALS: Readonly<Record<string, number>> = { off: 0.1, '10 %': 10 }

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '7' }, requests: { type: 'string', default: '20000' } } })
const rounds = Number(values.rounds)
const requests = Number(values.requests)

/** A collector that reads and answers. @returns its address, and what ends it. */
async function collector(): Promise<{ url: string; close: () => void }> {
  const source = `const s = require('node:http').createServer((q, r) => q.resume().on('end', () => r.end()))
s.listen(0, '127.0.0.1', () => console.log(s.address().port))`
  const child = spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [port] = await once(child.stdout, 'data')
  return { url: `http://127.0.0.1:${String(port).trim()}/v1/traces`, close: () => void child.kill() }
}

/** One request that has been served, with all that it has noted. */
async function served(): Promise<{ exchange: Exchange; end: EndOfExchange }> {
  const configText = `
server: { port: 0 }
admin: { port: 0, token: bench-admin-token }
store: { url: "memory:" }
auth: { keys: [ { name: app, key: sk-router-v1-bench-0123456789 } ] }
providers: { first: { dialect: sim, faults: { status: 503 } }, second: { dialect: sim } }
models: { acme/one: { endpoints: [ { provider: first, model: echo, price: free }, { provider: second, model: echo, price: free } ] } }
`
  const running = await start({ configFile: 'bench.yaml', configText, log: () => {}, env: {} })
  const { dependencies } = running.runtime
  const ended = new Promise<{ exchange: Exchange; end: EndOfExchange }>((resolve) => {
    dependencies.recordExchange = (exchange, end) => resolve({ exchange, end })
  })
  const reply = await fetch(`${running.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: 'Bearer sk-router-v1-bench-0123456789', 'content-type': 'application/json', 'x-title': 'bench' },
    body: JSON.stringify({
      model: 'acme/one',
      messages: [{ role: 'user', content: 'hi' }],
      temperature: 0.5,
      max_tokens: 100,
      user: 'ann',
      session_id: 's-1',
      metadata: { team: 'blue', run: '7' },
      provider: { order: ['first', 'second'] },
    }),
  })
  await reply.text()
  const found = await ended
  await running.close()
  return found
}

/** A line of the log as it stands there for such a request. */
const LINE = `${JSON.stringify({
  level: 30,
  time: 1_795_678_520_287,
  gen: 'gen-20f5xxne5ts-OcI9Dly6YF1J',
  key: 'app',
  client: 'chat',
  status: 200,
  model: 'acme/one',
  provider: 'second',
  lane: 'translate',
  stream: false,
  attempts: 2,
  ms: 237,
  first_ms: 205,
  in: 11,
  out: 7,
  cost_nano: 25_000,
  msg: 'exchange',
})}\n`

interface Way {
  name: string
  ratio: number | undefined
  metrics: boolean
  best: number
}

const { exchange, end } = await served()
const { url, close } = await collector()
const ways: Way[] = [
  { name: 'off', ratio: undefined, metrics: false, best: Number.POSITIVE_INFINITY },
  { name: '10 %', ratio: 0.1, metrics: true, best: Number.POSITIVE_INFINITY },
  { name: '100 %', ratio: 1, metrics: true, best: Number.POSITIVE_INFINITY },
]

/** Microseconds of processor time per request. */
async function round({ ratio, ...way }: Way): Promise<number> {
  const telemetry = new Telemetry({
    clock: systemClock,
    log: openLog(systemClock, () => {}).log,
    metrics: new MetricRegistry(),
    version: () => '0',
  })
  const spans = new ExchangeSpans(telemetry, clientDialects)
  const sampling = { ratio: ratio ?? 0, followParent: true, onError: false, slow: undefined }
  const target = { url, headers: {}, compression: 'none' as const, timeout: 10_000, queue: 256 * 1024 * 1024 }
  telemetry.apply({
    resource: { 'service.name': 'bench' },
    traces: ratio === undefined ? undefined : { ...target, ...sampling },
    metrics: way.metrics ? { ...target, url: url.replace('traces', 'metrics'), interval: 60_000 } : undefined,
    logs: way.metrics ? { ...target, url: url.replace('traces', 'logs') } : undefined,
    problems: [],
  })
  const { headers } = exchange.head
  const before = process.cpuUsage()
  for (let i = 0; i < requests; i++) {
    const { tracing } = telemetry
    exchange.history.trace = tracing ? tracing.begin(headers) : undefined
    spans.record(exchange, end)
    telemetry.line(LINE)
    for (const attempt of exchange.history.attempts) attempt.span = undefined
    // Batches leave meanwhile, as they do between requests.
    if (i % 500 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await telemetry.close()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / requests
}

for (const way of ways) await round(way)
for (let i = 0; i < rounds; i++) for (const way of ways) way.best = Math.min(way.best, await round(way))
close()
let isMissed = false
for (const { name, best } of ways) {
  const goal = GOALS[name]
  const misses = goal !== undefined && best > goal
  isMissed ||= misses
  console.log(
    `${name}: ${best.toFixed(2)} µs per request${goal === undefined ? '' : `, at most ${goal} wanted`}${misses ? ': missed' : ''}`,
  )
}
process.exitCode = isMissed ? 1 : 0
