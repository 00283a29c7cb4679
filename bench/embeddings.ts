/**
 * Effect of a large batch of embeddings on the gateway: `node bench/embeddings.ts [--inputs 2048] [--dimensions 1536] [--rounds 5] [--json]`.
 * One request at a time through a gateway in a process of its own, in front of a provider that answers from bytes made
 * beforehand. Printed are the longest stall of the gateway's event loop and the growth of its resident memory over the
 * size of the reply that it sends, however much longer the provider's is; every vector of every reply is checked to stand at its
 * input's place. Whoever else uses
 * the machine adds to a stall, so beside it stands what the thread itself worked at once, in CPU time, which nobody can
 * lengthen: one of the two has to be below the goal, the stall in the quietest round, the work in every one.
 * Ends with code 1 when a goal is missed.
 */
import { type ClientRequest, request } from 'node:http'
import { parseArgs } from 'node:util'
import type { Watched } from './embeddings/gateway.ts'
import { median } from './measure.ts'
import { killChildrenOnExit, startScript, stop } from './processes.ts'
import { BENCH_KEY } from './requests.ts'
import { table } from './simulation/table.ts'

const GOAL_STALL_MS = 50
const GOAL_GROWTH = 4

interface Case {
  readonly name: string
  readonly model: string
  readonly form: 'float' | 'base64'
}

const CASES: readonly Case[] = [
  { name: 'floats, passed on', model: 'bench/plain', form: 'float' },
  { name: 'floats of a pretty printer, passed on', model: 'bench/pretty', form: 'float' },
  { name: 'base64, checked', model: 'bench/plain', form: 'base64' },
  { name: 'base64 from floats', model: 'bench/floats', form: 'base64' },
  { name: 'base64 from pretty floats', model: 'bench/pretty', form: 'base64' },
  { name: 'floats from base64', model: 'bench/base64', form: 'float' },
  { name: 'floats, in calls of 96', model: 'bench/split', form: 'float' },
  { name: 'base64, in calls of 96', model: 'bench/split', form: 'base64' },
  { name: 'floats, in calls of 96, the first fails', model: 'bench/flaky', form: 'float' },
  { name: 'simulated, floats', model: 'bench/sim', form: 'float' },
]

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: '2048' },
    dimensions: { type: 'string', default: '1536' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'boolean', default: false },
  },
})
const [inputs, dimensions, rounds] = [Number(values.inputs), Number(values.dimensions), Number(values.rounds)]

function ask(port: number, { model, form }: Pick<Case, 'model' | 'form'>, count: number): Promise<Buffer> {
  const body = JSON.stringify({
    model,
    input: Array.from({ length: count }, (_, i) => `input ${i}`),
    encoding_format: form,
    ...(model === 'bench/sim' ? { dimensions } : {}),
  })
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(
      { port, host: '127.0.0.1', path: '/v1/embeddings', method: 'POST', headers: { authorization: `Bearer ${BENCH_KEY}` } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const bytes = Buffer.concat(chunks)
          if (response.statusCode === 200) resolve(bytes)
          else reject(new Error(`${model} answered ${response.statusCode}: ${bytes.toString().slice(0, 300)}`))
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** @throws Error where a vector is missing or stands elsewhere. */
function check({ name, model }: Case, bytes: Buffer): void {
  const reply = JSON.parse(bytes.toString()) as { data: { index: number; embedding: number[] | string }[] }
  if (reply.data.length !== inputs) throw new Error(`${name}: ${reply.data.length} vectors`)
  for (const [i, { index, embedding }] of reply.data.entries()) {
    const floats = typeof embedding === 'string' ? Buffer.from(embedding, 'base64') : undefined
    const length = floats ? floats.length / 4 : embedding.length
    const mark = floats ? floats.readFloatLE(0) : embedding[0]
    if (index !== i || length !== dimensions || (model !== 'bench/sim' && mark !== i)) throw new Error(`${name}: vector ${i} is wrong`)
  }
}

interface Figures {
  readonly name: string
  /** Of the gateway's reply, and of the provider's. */
  readonly megabytes: number
  readonly received: number
  /** Of each round. */
  readonly stalls: readonly number[]
  readonly works: readonly number[]
  readonly growths: readonly number[]
  readonly milliseconds: readonly number[]
}

/** Bytes of the provider's own reply. */
async function receivedBytes({ model, form }: Case, upstream: number): Promise<number> {
  if (model === 'bench/sim') return 0
  const name = model.slice(model.indexOf('/') + 1)
  return (await ask(upstream, { model: name === 'split' || name === 'flaky' ? 'plain' : name, form }, inputs)).length
}

/** Each round has a gateway of its own: memory that an earlier one has taken would hide what this one takes. */
async function measure(each: Case, upstream: number): Promise<Figures> {
  const stalls: number[] = []
  const works: number[] = []
  const growths: number[] = []
  const milliseconds: number[] = []
  let size = 0
  const received = await receivedBytes(each, upstream)
  for (let round = 0; round < rounds; round++) {
    const { child, port } = await startScript('./embeddings/gateway.ts', [String(upstream)], ['--expose-gc'])
    const told = <Told>(order: string): Promise<Told> =>
      new Promise((resolve) => {
        child.once('message', (message) => resolve(message as Told))
        child.send(order)
      })
    for (let warm = 0; warm < 20; warm++) await ask(port, each, 16)
    await told('begin')
    const from = performance.now()
    const bytes = await ask(port, each, inputs)
    milliseconds.push(performance.now() - from)
    const { stallMs, workMs, growth } = await told<Watched>('report')
    await stop(child)
    check(each, bytes)
    size = bytes.length
    stalls.push(stallMs)
    works.push(workMs)
    growths.push(growth / bytes.length)
  }
  return { name: each.name, megabytes: size / 1e6, received: received / 1e6, stalls, works, growths, milliseconds }
}

killChildrenOnExit()
const provider = await startScript('./embeddings/provider.ts', [String(dimensions)])
const found: Figures[] = []
for (const each of CASES) found.push(await measure(each, provider.port))
await stop(provider.child)

const range = (list: readonly number[], digits: number): string =>
  `${Math.min(...list).toFixed(digits)} (${median(list).toFixed(digits)}, ${Math.max(...list).toFixed(digits)})`
if (values.json) console.log(JSON.stringify(found))
else {
  console.log(`${inputs} inputs, ${dimensions} numbers each, ${rounds} rounds: the least (median, most)`)
  console.log(
    table(
      ['case', 'received MB', 'reply MB', 'longest stall ms', 'longest work ms', 'memory growth / reply', 'ms'],
      found.map((each) => [
        each.name,
        each.received.toFixed(1),
        each.megabytes.toFixed(1),
        range(each.stalls, 1),
        range(each.works, 1),
        range(each.growths, 2),
        range(each.milliseconds, 0),
      ]),
    ),
  )
  console.log('stall: the longest delay of a 1 ms timer in the gateway (monitorEventLoopDelay), collections included')
  console.log('work: the most CPU time of the thread between two turns of a 1 ms timer, which others cannot lengthen')
  console.log('growth: most resident memory, looked at every 4 ms, over that before the request; a fresh process each round')
}
const stalled = ({ stalls, works }: Figures): boolean => Math.min(...stalls) >= GOAL_STALL_MS && Math.max(...works) >= GOAL_STALL_MS
const missed = found.filter((each) => stalled(each) || Math.max(...each.growths) >= GOAL_GROWTH)
for (const { name } of missed)
  console.log(`missed: ${name}: a stall under ${GOAL_STALL_MS} ms and growth under ${GOAL_GROWTH} times the reply`)
process.exitCode = missed.length > 0 ? 1 : 0
