/**
 * Cost of TLS at the API listener, by the processor time of the gateway's process: requests on kept connections, and connections of one
 * request each. Rounds go over all forms in turn. `--beside DIRECTORY` adds another checkout over plain TCP, to compare
 * builds; `--plain` leaves out TLS.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { certificate } from '../test/support/certificates.ts'
import { pemKey } from '../test/support/tls-files.ts'

const { values: flags } = parseArgs({
  options: {
    beside: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '4000' },
    handshakes: { type: 'string', default: '400' },
    plain: { type: 'boolean', default: false },
  },
})
const ROOT = join(import.meta.dirname, '..')
const KEY = 'sk-router-v1-0123456789abcdef0123456789abcdef'
const BODY = JSON.stringify({ model: 'sim/one', messages: [{ role: 'user', content: 'hello' }], max_tokens: 5 })
/** Clock ticks per second of /proc/PID/stat on Linux. */
const TICKS_PER_SECOND = 100

const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'))
const ca = certificate({ name: 'Bench' })
const pair = certificate({ name: 'gateway', by: ca, addresses: ['127.0.0.1'] })
const client = certificate({ name: 'client', by: ca, uris: ['spiffe://bench/client'] })
const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
write('ca.crt', ca.cert)
write('tls.crt', pair.cert)
write('tls.key', pemKey(pair))

interface Running {
  readonly name: string
  readonly url: string
  readonly pid: number
  readonly stop: () => void
}

async function run(name: string, root: string, server: string): Promise<Running> {
  const file = `${name.replaceAll(' ', '-')}.yaml`
  write(
    file,
    `server: { host: 127.0.0.1, port: 0${server} }
admin: { host: 127.0.0.1, port: 0, token: bench-bench-bench-bench }
store: { url: "memory:" }
log: { level: silent }
auth: { keys: [ { name: bench, key: "${KEY}" } ] }
providers: { sim: { dialect: sim } }
models: { sim/one: { context: 1000, endpoints: [ { provider: sim, model: "echo" } ] } }
`,
  )
  const child = spawn(process.execPath, [join(root, 'bin/headgate.js'), 'serve', '--config', join(folder, file)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const url = await new Promise<string>((resolve, reject) => {
    let out = ''
    child.stdout.on('data', (data) => {
      out += data
      const [, found] = /listens on (https?:\S+)/.exec(out) ?? []
      if (found !== undefined) resolve(found)
    })
    child.once('exit', () => reject(new Error(`${name} has ended: ${out}`)))
  })
  return { name, url, pid: child.pid ?? 0, stop: () => child.kill('SIGKILL') }
}

/** Microseconds of processor time so far. */
function processorTime(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return ((Number(fields[11]) + Number(fields[12])) * 1e6) / TICKS_PER_SECOND
}

async function send({ url, name }: Running, count: number, connections: number, keeps: boolean): Promise<void> {
  const connect = { ca: ca.cert, ...(name.includes('client') ? { cert: client.cert, key: pemKey(client) } : {}), maxCachedSessions: 0 }
  const pool = new Pool(url, { connections, connect, pipelining: 1 })
  let left = count
  const caller = async (): Promise<void> => {
    while (left-- > 0) {
      const reply = await pool.request({
        path: '/v1/chat/completions',
        method: 'POST',
        headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
        body: BODY,
        reset: !keeps,
      })
      const text = await reply.body.text()
      if (reply.statusCode !== 200) throw new Error(`${name}: ${reply.statusCode} ${text}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, caller))
  await pool.destroy()
}

/** The first of a round has the processor in another state than the last. */
const rotated = <T>(list: readonly T[], by: number): T[] => [...list.slice(by % list.length), ...list.slice(0, by % list.length)]

const median = (figures: number[]): number => figures.sort((a, b) => a - b)[Math.floor(figures.length / 2)] ?? Number.NaN

const TLS = `, tls: { cert: tls.crt, key: tls.key`
const all = [
  await run('plain TCP', ROOT, ''),
  ...(flags.beside === undefined ? [] : [await run('plain TCP of the other', flags.beside, '')]),
  ...(flags.plain
    ? []
    : [await run('TLS', ROOT, `${TLS} }`), await run('TLS with a client certificate', ROOT, `${TLS}, client_ca: ca.crt }`)]),
]
try {
  const kept = new Map<string, number[]>()
  const made = new Map<string, number[]>()
  for (let round = -1; round < Number(flags.rounds); round++)
    for (const each of rotated(all, Math.max(0, round))) {
      const measured = async (into: Map<string, number[]>, count: number, keeps: boolean): Promise<void> => {
        const before = processorTime(each.pid)
        await send(each, count, 8, keeps)
        const figure = (processorTime(each.pid) - before) / count
        // The first round warms up.
        if (round >= 0) into.set(each.name, [...(into.get(each.name) ?? []), figure])
      }
      await measured(kept, Number(flags.requests), true)
      await measured(made, Number(flags.handshakes), false)
    }
  for (const { name } of all)
    process.stdout.write(
      `${name.padEnd(32)} ${median(kept.get(name) ?? [])
        .toFixed(0)
        .padStart(6)} µs per request, ${median(made.get(name) ?? [])
        .toFixed(0)
        .padStart(6)} µs per request with its connection\n`,
    )
} finally {
  for (const { stop } of all) stop()
  rmSync(folder, { recursive: true, force: true })
}
