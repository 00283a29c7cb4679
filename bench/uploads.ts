/**
 * Many large bodies at once: `node bench/uploads.ts [--uploads 200] [--megabytes 30] [--json]`.
 * Printed are the answers, the time until the last one and the most memory that the gateway used. Every caller has to get either the
 * right answer or a 503 with Retry-After. Ends with code 1 when a goal is missed.
 */
import { request } from 'node:http'
import { parseArgs } from 'node:util'
import { startGateway } from './gateway.ts'
import { killChildrenOnExit, peakMegabytes, residentMegabytes, startScript, stop } from './processes.ts'
import { PLAIN_TEXT } from './replies.ts'
import { BENCH_KEY } from './requests.ts'

const GOAL_MEGABYTES = 1_000

const { values } = parseArgs({
  options: {
    uploads: { type: 'string', default: '200' },
    megabytes: { type: 'string', default: '30' },
    json: { type: 'boolean', default: false },
  },
})

const PROSE = 'The committee met on Tuesday to discuss the plans for the new library. "Most" members agreed that the roof comes first.\n'

function proseBody(bytes: number): Buffer {
  const content = PROSE.repeat(Math.ceil(bytes / 100 / PROSE.length))
  const messages = Array.from({ length: 97 }, () => ({ role: 'user', content }))
  return Buffer.from(JSON.stringify({ model: 'bench/large', messages, max_tokens: 512 }))
}

/** @returns what the caller was answered: `served`, `refused`, or what was wrong. */
function upload(port: number, body: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${BENCH_KEY}`, 'content-type': 'application/json', 'content-length': body.length }
    const sent = request(
      { host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST', agent: false, headers },
      async (reply) => {
        let text = ''
        for await (const chunk of reply) text += String(chunk)
        if (reply.statusCode === 200 && text.includes(PLAIN_TEXT)) resolve('served')
        else if (reply.statusCode === 503 && reply.headers['retry-after'] !== undefined) resolve('refused')
        else resolve(`${reply.statusCode} ${text.slice(0, 100)}`)
      },
    )
    // A caller that is still writing when it has its answer breaks off; the answer counts.
    sent.on('error', (error) => resolve(error.message))
    sent.end(body)
  })
}

async function main(): Promise<void> {
  killChildrenOnExit()
  const mock = await startScript('mock.ts')
  const gateway = await startGateway(mock.port)
  const pid = gateway.child.pid ?? 0
  const idle = residentMegabytes(pid)
  const body = proseBody(Number(values.megabytes) * 1024 ** 2)
  const began = performance.now()
  const answers = await Promise.all(Array.from({ length: Number(values.uploads) }, () => upload(gateway.port, body)))
  const seconds = (performance.now() - began) / 1000
  const peak = peakMegabytes(pid)
  const count = (word: string): number => answers.filter((answer) => answer === word).length
  const wrong = answers.filter((answer) => answer !== 'served' && answer !== 'refused')
  const again = await upload(gateway.port, body)
  await Promise.all([gateway.stop(), stop(mock.child)])
  const [served, refused] = [count('served'), count('refused')]
  if (values.json) console.log(JSON.stringify({ bytes: body.length, served, refused, wrong, seconds, idle, peak, again }))
  else {
    console.log(
      `${answers.length} bodies of ${(body.length / 1e6).toFixed(1)} MB at once: ${served} served, ${refused} refused with 503, ${wrong.length} wrong`,
    )
    console.log(
      `last answer after ${seconds.toFixed(1)} s; memory ${idle.toFixed(0)} MB before, ${peak.toFixed(0)} MB at most; one more afterwards: ${again}`,
    )
    for (const one of new Set(wrong)) console.log(`wrong: ${one}`)
  }
  if (peak > GOAL_MEGABYTES || wrong.length > 0 || served === 0 || again !== 'served') process.exitCode = 1
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)
