// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the files hold references of their own
/** Authorities of the operating system and of the environment, and client certificates that are replaced on disk or have run out. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createServer, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { certificate, type Signed } from '../../support/certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { rawJson } from '../../support/raw-upstream.ts'
import { BODY, started } from '../../support/secret-scene.ts'
import { chatReply } from '../../support/wire-chat.ts'

const run = promisify(execFile)
const authority = certificate({ name: 'the test authority' })
const keyPem = ({ key }: Signed): string => String(key.export({ type: 'pkcs8', format: 'pem' }))

t.test('authorities of the operating system and of the environment', async (t) => {
  const site = certificate({ name: 'provider', by: authority, addresses: ['127.0.0.1'] })
  const folder = t.testdir({ 'ca.pem': authority.cert, 'site.pem': site.cert, 'site.key': keyPem(site), none: {} })
  const file = (name: string): string => join(folder, name)
  const script = join(import.meta.dirname, '../../support/trusting.ts')
  const { SSL_CERT_FILE: _file, SSL_CERT_DIR: _dir, NODE_EXTRA_CA_CERTS: _extra, ...usual } = process.env
  const system = { SSL_CERT_FILE: file('ca.pem'), SSL_CERT_DIR: file('none') }
  const cases: readonly (readonly [name: string, env: Record<string, string>, statuses: { usual: number; system: number }])[] = [
    ['the system has it', system, { usual: 502, system: 200 }],
    ['the system has it, and NODE_USE_SYSTEM_CA', { ...system, NODE_USE_SYSTEM_CA: '1' }, { usual: 200, system: 200 }],
    ['NODE_EXTRA_CA_CERTS', { NODE_EXTRA_CA_CERTS: file('ca.pem'), SSL_CERT_DIR: file('none') }, { usual: 200, system: 502 }],
  ]
  for (const [name, env, statuses] of cases) {
    const { stdout } = await run(process.execPath, [script, file('site.pem'), file('site.key')], { env: { ...usual, ...env } })
    const failed = Object.values(statuses).filter((status) => status !== 200).length
    t.same(JSON.parse(stdout), { ...statuses, causes: Array(failed).fill('untrusted_authority') }, name)
  }
})

/** A provider that demands a certificate of the test authority. @returns the names on those that came, one for each connection. */
async function demanding(t: Test): Promise<{ url: string; shown: string[]; cut(): void }> {
  const site = certificate({ name: 'provider', by: authority, addresses: ['127.0.0.1'] })
  const sockets = new Set<TLSSocket>()
  const shown: string[] = []
  const options = { cert: site.cert, key: keyPem(site), ca: authority.cert, requestCert: true, rejectUnauthorized: true }
  const server = createServer(options, (socket) => {
    sockets.add(socket)
    const { CN } = socket.getPeerCertificate().subject
    shown.push(String(CN))
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(rawJson(chatReply({ text: ['fine'] }))))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  t.teardown(() => {
    cut()
    server.close()
  })
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, shown, cut }
}

const yaml = (url: string): string => `
providers:
  first:
    dialect: openai-chat
    base_url: "${url}/v1"
    key: sk-provider
    connection: { tls: { ca: "\${file:ca.pem}", certificate: "\${file:own.pem}", key: "\${file:own.key}" } }
models:
  acme/one: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: m, price: free } ] }
`

function own(folder: string, name: string, more: { expired?: boolean } = {}): void {
  const made = certificate({ name, by: authority, hosts: ['gateway.example'], ...more })
  writeFileSync(join(folder, 'own.pem'), made.cert)
  writeFileSync(join(folder, 'own.key'), keyPem(made))
}

t.test('a client certificate that is replaced on disk is shown by new connections, also after one that had run out', async (t) => {
  const { url, shown, cut } = await demanding(t)
  const folder = t.testdir({ 'ca.pem': authority.cert })
  own(folder, 'the first')
  const gateway = await started(t, yaml(url), { directory: folder, watch: true })
  const ask = async (): Promise<number> => (await gateway.post('/v1/chat/completions', BODY)).status
  for (let i = 0; i < 2; i++) t.equal(await ask(), 200)
  t.same(shown, ['the first'])
  own(folder, 'the second')
  const statuses = new Set<number>()
  await eventually('the new certificate', async () => {
    statuses.add(await ask())
    return shown.includes('the second')
  })
  t.same([...statuses], [200], 'no call fails meanwhile')
  t.same(shown, ['the first', 'the second'], 'one connection each')
  own(folder, 'the third', { expired: true })
  await eventually('the provider refuses the one that has run out', async () => {
    const status = await ask()
    cut()
    return status === 502
  })
  own(folder, 'the fourth')
  await eventually('a good one', async () => (await ask()) === 200)
  t.equal(shown.at(-1), 'the fourth')
})
