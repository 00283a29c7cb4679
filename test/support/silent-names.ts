/**
 * Runs in a network of its own, with a name server that is silent for some names: a gateway with one provider of each kind. Prints what
 * became of calls as one line of JSON.
 */
import { createSocket } from 'node:dgram'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { startGateway } from './gateway.ts'
import { rawJson, startRawUpstream } from './raw-upstream.ts'
import { chatReply } from './wire-chat.ts'

const SILENT = 8

/** Queries by name; those of `silent…` get no reply. */
const queries = new Map<string, number>()

/** Replies with 127.0.0.1 to queries for an IPv4 address, with nothing to others (RFC 1035 section 4.1). */
function answer(query: Buffer): Buffer | undefined {
  const labels: string[] = []
  let at = 12
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size).toLowerCase())
    at += size + 1
  }
  const isAddress = query.readUInt16BE(at + 1) === 1
  const name = labels.join('.')
  if (isAddress) queries.set(name, (queries.get(name) ?? 0) + 1)
  if (name.startsWith('silent')) return undefined
  const question = query.subarray(12, at + 5)
  const head = Buffer.from([query[0] ?? 0, query[1] ?? 0, 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0])
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1])
  return Buffer.concat(isAddress ? [head, question, record] : [head, question])
}

const server = createSocket('udp4')
server.on('message', (query, { port, address }) => {
  const reply = answer(query)
  if (reply) server.send(reply, port, address)
})
server.bind(53, '127.0.0.1')
await once(server, 'listening')

const reply = rawJson(chatReply({ text: ['fine'] }))
const upstream = await startRawUpstream((_request, socket) => {
  setTimeout(() => socket.write(reply), 100)
  return undefined
})
const { port } = new URL(upstream.url)
const names = [...Array.from({ length: SILENT }, (_, i) => `silent${i}`), 'fast', 'late']
const providers = names.map(
  (name) => `  ${name}: { dialect: openai-chat, base_url: "http://${name}.test:${port}/v1", key: k, timeouts: { connect: 3s } }`,
)
const models = names.map(
  (name) => `  acme/${name}: { context: 1000, max_output: 100, endpoints: [ { provider: ${name}, model: m, price: free } ] }`,
)
const gateway = await startGateway(`providers:\n${providers.join('\n')}\nmodels:\n${models.join('\n')}`)

async function ask(name: string): Promise<{ status: number; ms: number }> {
  const began = performance.now()
  const { status } = await gateway.post('/v1/chat/completions', { model: `acme/${name}`, messages: [{ role: 'user', content: 'x' }] })
  return { status, ms: Math.round(performance.now() - began) }
}

// The first of all names is known before the others begin to hang; the second is not.
const first = await ask('fast')
const hanging = Promise.all(Array.from({ length: SILENT }, (_, i) => ask(`silent${i}`)))
await new Promise((resolve) => setTimeout(resolve, 300))
const known = await Promise.all(Array.from({ length: 40 }, () => ask('fast')))
const late = await ask('late')
const began = performance.now()
const own = await Promise.race([
  lookup('other.test').then(() => Math.round(performance.now() - began)),
  new Promise<number>((resolve) => setTimeout(resolve, 4_000, -1)),
])
const silent = await hanging
const lines = gateway.logs.map((line) => JSON.parse(line) as { model?: string; cause?: string })
const result = {
  first,
  known: { failed: known.filter(({ status }) => status !== 200).length, slowest: Math.max(...known.map(({ ms }) => ms)) },
  late,
  own,
  silent: silent.map(({ status }) => status),
  causes: [...new Set(lines.filter(({ model }) => model?.startsWith('acme/silent')).map(({ cause }) => cause ?? null))],
  queries: queries.get('fast.test'),
}
// An ordinary end would wait for the look-ups that hang.
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.kill(process.pid, 'SIGKILL'))
