/**
 * A program of its own, since Node reads once which authorities it trusts: calls a provider over TLS whose authority the process may know by
 * its environment, with the usual authorities and with `ca: system`. Arguments: the files of the certificate and of its key. Prints the
 * statuses of the replies, and the reasons of failures.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:tls'
import { startGateway } from './gateway.ts'
import { rawJson } from './raw-upstream.ts'
import { chatReply } from './wire-chat.ts'

const [cert = '', key = ''] = process.argv.slice(2)
const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (socket) => {
  socket.on('error', () => undefined)
  socket.on('data', () => socket.write(rawJson(chatReply({ text: ['fine'] }))))
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = server.address() as AddressInfo
const providers = ['usual', 'system'].map(
  (name) =>
    `  ${name}: { dialect: openai-chat, base_url: "https://127.0.0.1:${port}/v1", key: sk-provider${name === 'system' ? ', connection: { tls: { ca: system } }' : ''} }`,
)
const models = ['usual', 'system'].map(
  (name) => `  acme/${name}: { context: 1000, max_output: 100, endpoints: [ { provider: ${name}, model: m, price: free } ] }`,
)
const gateway = await startGateway(`providers:\n${providers.join('\n')}\nmodels:\n${models.join('\n')}`)
const ask = async (name: string): Promise<number> =>
  (await gateway.post('/v1/chat/completions', { model: `acme/${name}`, messages: [{ role: 'user', content: 'x' }] })).status
const result = { usual: await ask('usual'), system: await ask('system') }
const lines = gateway.logs.map((text) => JSON.parse(text) as { msg?: string; cause?: string })
const causes = lines.flatMap(({ msg, cause }) => (msg === 'exchange' && cause !== undefined ? [cause] : []))
process.stdout.write(JSON.stringify({ ...result, causes }), () => process.exit())
