/**
 * Runs in a network of its own, with a name server that is silent for some names: a gateway with one provider of each kind. Prints what
 * became of calls as one line of JSON.
 */
import { lookup } from 'node:dns/promises'
import { startWatch } from './eventually.ts'
import { startGateway } from './gateway.ts'
import { startNameServer } from './name-server.ts'
import { rawJson, startRawUpstream } from './raw-upstream.ts'
import { chatReply } from './wire-chat.ts'

const SILENT = 8

const queries = await startNameServer()
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
  const watch = startWatch()
  const { status } = await gateway.post('/v1/chat/completions', { model: `acme/${name}`, messages: [{ role: 'user', content: 'x' }] })
  return { status, ms: watch() }
}

// The first of all names is known before the others begin to hang; the second is not.
const first = await ask('fast')
const hanging = Promise.all(Array.from({ length: SILENT }, (_, i) => ask(`silent${i}`)))
await new Promise((resolve) => setTimeout(resolve, 300))
const known = await Promise.all(Array.from({ length: 40 }, () => ask('fast')))
const late = await ask('late')
const watch = startWatch()
const own = await Promise.race([lookup('other.test').then(watch), new Promise<number>((resolve) => setTimeout(resolve, 4_000, -1))])
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
