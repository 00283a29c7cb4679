/**
 * Delay of the gateway's event loop while large bodies pass: `node bench/event-loop.ts [--kilobytes 400] [--connections 4] [--seconds 3] [--rounds 3] [--warm-up 5] [--json]`.
 * Streamed turns of an agent go through it on every connection, and on one more batches of embeddings with replies of 2 MB. Printed for
 * each round are the delay of its event loop, and how much its thread worked at once in CPU time, which other processes cannot lengthen.
 */
import { parseArgs } from 'node:util'
import { AGENT_OF, padded } from './agent-requests.ts'
import { startProbedGateway } from './probed-gateway.ts'
import { killChildrenOnExit, startScript, stop } from './processes.ts'
import { BENCH_KEY, embeddings } from './requests.ts'
import { table } from './simulation/table.ts'

/** Of one round; milliseconds. */
export interface LoopRound {
  readonly turns: number
  readonly batches: number
  readonly p99: number
  readonly max: number
  readonly work99: number
  readonly workMax: number
}

const { values } = parseArgs({
  options: {
    kilobytes: { type: 'string', default: '400' },
    connections: { type: 'string', default: '4' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    'warm-up': { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
})

/** Inputs whose vectors make 2 MB. */
const INPUTS = 100

killChildrenOnExit()
const mock = await startScript('mock.ts')
const probed = await startProbedGateway(mock.port)
const agent = AGENT_OF.chat('bench/chat')
const turn = { path: agent.path, body: padded(agent.body, Number(values.kilobytes) * 1000), holds: 'word099' }
const batch = { ...embeddings(INPUTS), holds: `"index":${INPUTS - 1}` }

let sent = 0

async function ask({ path, body, holds }: typeof turn): Promise<void> {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${BENCH_KEY}`, 'x-session-id': `session-${sent++}` }
  const reply = await fetch(`http://127.0.0.1:${probed.gateway.port}${path}`, { method: 'POST', headers, body })
  const text = await reply.text()
  if (reply.status !== 200 || !text.includes(holds)) throw new Error(`${path}: ${reply.status} ${text.slice(0, 300)}`)
}

/** @returns how many turns and batches passed. */
async function load(seconds: number): Promise<{ turns: number; batches: number }> {
  const until = performance.now() + seconds * 1000
  const done = { turns: 0, batches: 0 }
  const run = async (kind: 'turns' | 'batches'): Promise<void> => {
    while (performance.now() < until) {
      await ask(kind === 'turns' ? turn : batch)
      done[kind]++
    }
  }
  await Promise.all([run('batches'), ...Array.from({ length: Number(values.connections) }, () => run('turns'))])
  return done
}

await load(Number(values['warm-up']))
await probed.read()
const rounds: LoopRound[] = []
for (let at = 0; at < Number(values.rounds); at++) {
  const done = await load(Number(values.seconds))
  const { p99, max, work99, workMax } = await probed.read()
  rounds.push({ ...done, p99, max, work99, workMax })
}
await probed.stop()
await stop(mock.child)
if (values.json) console.log(JSON.stringify(rounds))
else {
  console.log(`turns of ${values.kilobytes} KB on ${values.connections} connections, embedding replies of 2 MB on one more; milliseconds`)
  console.log(
    table(
      ['round', 'turns', 'batches', 'late p99', 'late max', 'worked p99', 'worked max'],
      rounds.map((one, at) => [
        String(at + 1),
        String(one.turns),
        String(one.batches),
        ...[one.p99, one.max, one.work99, one.workMax].map((ms) => ms.toFixed(1)),
      ]),
    ),
  )
}
process.exit(0)
