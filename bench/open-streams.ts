/**
 * Many streams open at once in one process: `node bench/open-streams.ts [--streams 10000] [--seconds 20] [--json]`.
 * Each stream gets an event every ten seconds. Printed are the memory per stream and the delay of the gateway's event loop while
 * all of them are open. The limit of open files has to be above twice the number of streams.
 */

import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { parseArgs } from 'node:util'
import { entryAt } from '../src/core/entry-at.ts'
import { startGateway } from './gateway.ts'
import { cpuSeconds, killChildrenOnExit, residentMegabytes } from './processes.ts'
import { CHAT_BODY, CHAT_STREAM } from './replies.ts'
import { BENCH_KEY, CHAT_STREAM as REQUEST } from './requests.ts'

/** Seconds between two events of one stream. */
const PACE = 10
/** Streams that are opened at once, and milliseconds until one that was refused under load is tried again. */
const STEP = 20
const RETRY_MS = 200

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '20' },
    json: { type: 'boolean', default: false },
  },
})

/** A provider in this process: each stream begins with its first events, and then gets one of the middle at its pace. */
class SlowProvider {
  readonly open: ServerResponse[] = []
  private next = 0
  private readonly server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1')
    })
    request.on('end', () => this.answer(body, response))
  })

  async start(): Promise<number> {
    this.server.keepAliveTimeout = 75_000
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    setInterval(() => this.tick(), 10).unref()
    return (this.server.address() as AddressInfo).port
  }

  private answer(body: string, response: ServerResponse): void {
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': CHAT_BODY.length }).end(CHAT_BODY)
      return
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked' })
    response.flushHeaders()
    // The chunks carry their own transfer framing.
    response.socket?.write(Buffer.concat(CHAT_STREAM.slice(0, 2)))
    this.open.push(response)
  }

  private tick(): void {
    const due = Math.ceil((this.open.length * 10) / (PACE * 1000))
    for (let i = 0; i < due; i++) this.open[this.next++ % this.open.length]?.socket?.write(entryAt(CHAT_STREAM, 2))
  }
}

/** Opens one stream, as often as it takes. @returns its socket once the first text has come. */
async function openStream(port: number, onEvent: () => void): Promise<Socket> {
  for (;;) {
    const socket = await tryStream(port, onEvent)
    if (socket) return socket
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/** @returns undefined where the gateway refused it with 503. */
function tryStream(port: number, onEvent: () => void): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    let begun = false
    socket.on('data', (chunk: Buffer) => {
      if (begun) onEvent()
      else if (chunk.toString('latin1', 0, 12) === 'HTTP/1.1 503') {
        socket.destroy()
        resolve(undefined)
        return
      } else if (!chunk.toString('latin1', 0, 12).startsWith('HTTP/1.1 200')) reject(new Error(chunk.toString('utf8', 0, 300)))
      begun = true
      resolve(socket)
    })
    socket.on('error', reject)
    const head = `POST ${REQUEST.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${BENCH_KEY}\r\n`
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(REQUEST.body)}\r\n\r\n${REQUEST.body}`)
  })
}

async function metric(adminPort: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const line = text.split('\n').find((one) => one.startsWith(name))
  return line === undefined ? Number.NaN : Number(line.slice(line.lastIndexOf(' ') + 1))
}

async function main(): Promise<void> {
  killChildrenOnExit()
  const streams = Number(values.streams)
  const seconds = Number(values.seconds)
  const provider = new SlowProvider()
  const gateway = await startGateway(await provider.start())
  const pid = gateway.child.pid ?? 0
  const before = residentMegabytes(pid)
  let events = 0
  const sockets: Socket[] = []
  while (sockets.length < streams) {
    const some = Math.min(STEP, streams - sockets.length)
    sockets.push(...(await Promise.all(Array.from({ length: some }, () => openStream(gateway.port, () => events++)))))
  }
  // The metric counts from the last scrape.
  const counted = await metric(gateway.adminPort, 'headgate_open_streams')
  events = 0
  const cpu = cpuSeconds(pid)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  const used = (cpuSeconds(pid) - cpu) / seconds
  const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text()
  const delay = (quantile: string): number =>
    1000 * Number(new RegExp(`^headgate_event_loop_delay_seconds\\{quantile="${quantile}"\\} (\\S+)`, 'm').exec(text)?.[1])
  const resident = residentMegabytes(pid)
  const result = {
    streams: sockets.length,
    counted,
    eventsPerSecond: events / seconds,
    beforeMB: before,
    residentMB: resident,
    kilobytesPerStream: ((resident - before) * 1000) / sockets.length,
    delayMs: { p50: delay('0.5'), p99: delay('0.99'), worst: delay('1') },
    core: used,
  }
  for (const socket of sockets) socket.destroy()
  await gateway.stop()
  if (values.json) console.log(JSON.stringify(result))
  else {
    console.log(`${result.streams} streams open (${counted} by the metric), ${result.eventsPerSecond.toFixed(0)} events per second in all`)
    console.log(
      `memory ${before.toFixed(0)} MB before, ${resident.toFixed(0)} MB with them: ${result.kilobytesPerStream.toFixed(1)} KB per stream`,
    )
    console.log(
      `event-loop delay ${result.delayMs.p50.toFixed(1)} ms (median), ${result.delayMs.p99.toFixed(1)} ms (p99), ${result.delayMs.worst.toFixed(1)} ms (worst); ${used.toFixed(2)} of a core`,
    )
  }
  if (counted !== streams || !(events > 0)) process.exitCode = 1
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
    process.exit(1)
  },
)
