/** headgate in a process of its own that watches its own event loop and memory; told by its parent when to begin and to report. */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { start } from '../../src/app/start.ts'
import { leaveWithParent, upstreamPort } from '../child.ts'
import { BENCH_KEY } from '../requests.ts'

export interface Watched {
  /** Longest wait of a timer beyond its due millisecond, in milliseconds. */
  readonly stallMs: number
  /** Most that the thread worked between two such timers, in milliseconds of its own CPU time. */
  readonly workMs: number
  /** Bytes of resident memory above what was there before, at the most. */
  readonly growth: number
}

/** Milliseconds between two looks at the memory. */
const LOOK = 4
const MODELS = ['plain', 'floats', 'base64', 'pretty']

leaveWithParent()
const endpoint = (name: string, more: string): string =>
  `{ kind: embedding, context: 8192, endpoints: [ { provider: mock, model: ${name}, price: { prompt: "0.02" }${more} } ] }`
const running = await start({
  configFile: `${import.meta.dirname}/bench.yaml`,
  configText: `
server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
store: { url: "memory:" }
auth: { keys: [ { name: bench, key: "${BENCH_KEY}", limit: "1000.00" } ] }
providers:
  mock: { dialect: openai-chat, base_url: "http://127.0.0.1:${upstreamPort()}/v1", key: sk-mock }
  sim: { dialect: sim }
models:
${MODELS.map((name) => `  bench/${name}: ${endpoint(name, '')}`).join('\n')}
  bench/split: ${endpoint('plain', ', quirks: { max_batch: 96 }')}
  bench/flaky: ${endpoint('flaky', ', quirks: { max_batch: 96 }')}
  bench/sim: { kind: embedding, context: 8192, endpoints: [ { provider: sim, model: embed } ] }
`,
  env: {},
  log: () => undefined,
})

const delay = monitorEventLoopDelay({ resolution: 1 })
let before = 0
let most = 0
let worked = 0
let longest = 0
/** CPU time of this thread in milliseconds. */
const cpu = (): number => {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
const working = (): void => {
  const now = cpu()
  longest = Math.max(longest, now - worked)
  worked = now
}
const looking = setInterval(() => {
  most = Math.max(most, process.memoryUsage.rss())
}, LOOK)
looking.unref()

process.on('message', (order: 'begin' | 'report') => {
  if (order === 'begin') {
    globalThis.gc?.()
    before = process.memoryUsage.rss()
    most = before
    delay.reset()
    delay.enable()
    worked = cpu()
    longest = 0
    setInterval(working, 1).unref()
    process.send?.('begun')
    return
  }
  delay.disable()
  working()
  most = Math.max(most, process.memoryUsage.rss())
  process.send?.({ stallMs: Math.max(0, delay.max / 1e6 - 1), workMs: longest, growth: most - before } satisfies Watched)
})
process.send?.({ port: Number(new URL(running.url).port) })
