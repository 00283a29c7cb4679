/**
 * Effect of large bodies on the gateway's event loop and memory: `node bench/large-bodies.ts [--kilobytes 400] [--seconds 10] [--connections 4] [--warm-up 10]`.
 * Turns of an agent pass through it, streamed, each of its own session. Printed are how late its event loop was, how much its thread worked
 * at once in CPU time, and what the heap holds afterwards beyond what it held when it was warm, per request.
 */
import { parseArgs } from 'node:util'
import { AGENT_OF, padded } from './agent-requests.ts'
import { startProbedGateway } from './probed-gateway.ts'
import { killChildrenOnExit, startScript, stop } from './processes.ts'
import { BENCH_KEY } from './requests.ts'

const { values } = parseArgs({
  options: {
    kilobytes: { type: 'string', default: '400' },
    seconds: { type: 'string', default: '10' },
    connections: { type: 'string', default: '4' },
    'warm-up': { type: 'string', default: '10' },
  },
})

const CASES = [
  { name: 'chat, passed', client: 'chat', model: 'bench/chat' },
  { name: 'messages, passed', client: 'messages', model: 'bench/anthropic' },
  { name: 'responses, passed', client: 'responses', model: 'bench/responses' },
  { name: 'messages from chat', client: 'messages', model: 'bench/chat' },
] as const

killChildrenOnExit()
const mock = await startScript('mock.ts')
const { gateway, read: probed, stop: stopGateway } = await startProbedGateway(mock.port)

let sent = 0

async function turn(path: string, body: string): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${BENCH_KEY}`, 'x-session-id': `session-${sent++}` }
  const reply = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { method: 'POST', headers, body })
  const text = await reply.text()
  if (reply.status !== 200 || !text.includes('word099')) throw new Error(`${path}: ${reply.status} ${text.slice(0, 300)}`)
}

/** Turns for so many seconds, on every connection one after the other. @returns how many. */
async function load(path: string, body: string, seconds: number): Promise<number> {
  const until = performance.now() + seconds * 1000
  let done = 0
  const run = async (): Promise<void> => {
    while (performance.now() < until) {
      await turn(path, body)
      done++
    }
  }
  await Promise.all(Array.from({ length: Number(values.connections) }, run))
  return done
}

for (const { name, client, model } of CASES) {
  const { path, body } = AGENT_OF[client](model)
  const large = padded(body, Number(values.kilobytes) * 1000)
  await load(path, large, Number(values['warm-up']))
  const before = await probed()
  const done = await load(path, large, Number(values.seconds))
  const after = await probed()
  const kept = (after.heap - before.heap + after.buffers - before.buffers) / done
  const figures = [
    `late p99 ${after.p99.toFixed(1)} ms, max ${after.max.toFixed(1)} ms`,
    `worked p99 ${after.work99.toFixed(1)} ms, max ${after.workMax.toFixed(1)} ms`,
  ]
  console.log(
    `${name}, ${Math.round(large.length / 1000)} KB: ${done} turns; ${figures.join('; ')}; kept ${kept.toFixed(0)} bytes per turn`,
  )
}
await stopGateway()
await stop(mock.child)
process.exit(0)
