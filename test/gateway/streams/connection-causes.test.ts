/** Why a connection to a provider failed: in the log, in the row that management keys read, and as a fault of its own; never for the caller. */
import { once } from 'node:events'
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net'
import { createServer as createTlsServer, type TlsOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { isObject, type JsonObject } from '../../../src/core/json.ts'
import { certificate, type Signed } from '../../support/certificates.ts'
import { startGateway } from '../../support/gateway.ts'
import { rawJson } from '../../support/raw-upstream.ts'
import { REFUSING_URL } from '../../support/upstream.ts'
import { chatReply } from '../../support/wire-chat.ts'

const REPLY = rawJson(chatReply({ text: ['fine'] }))
const QUESTION = { model: 'acme/one', messages: [{ role: 'user', content: 'x' }] }
const MANAGER = 'sk-router-v1-fedcba9876543210fedcba9876543210'

const authority = certificate({ name: 'the test authority' })
const stranger = certificate({ name: 'another authority' })
const keyPem = ({ key }: Signed): string => String(key.export({ type: 'pkcs8', format: 'pem' }))
const site = (options: { by?: Signed; expired?: boolean; addresses?: string[] } = {}): Signed =>
  certificate({ name: 'site', by: authority, addresses: ['127.0.0.1'], ...options })

async function listening(t: Test, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** A provider that speaks TLS. @returns its address. */
async function secureProvider(t: Test, signed: Signed, options: TlsOptions = {}): Promise<string> {
  const server = createTlsServer({ cert: signed.cert, key: keyPem(signed), ...options }, (socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.write(REPLY))
  })
  server.on('tlsClientError', () => undefined)
  return `https://127.0.0.1:${await listening(t, server)}`
}

interface Outcome {
  status: number
  message: string
  body: string
  fault: string
  cause: string
  /** Of the first attempt in the row. */
  attempt: JsonObject
}

const indented = (pem: string): string => pem.trim().replaceAll('\n', '\n          ')

/** Calls a provider at this address through a gateway that trusts the test authority. */
async function called(t: Test, url: string, { tls = '', env = {} }: { tls?: string; env?: Record<string, string> } = {}): Promise<Outcome> {
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "sk-router-v1-0123456789abcdef0123456789abcdef" }, { name: boss, key: "${MANAGER}", management: true } ] }
providers:
  first:
    dialect: openai-chat
    base_url: "${url}/v1"
    key: "sk-provider-secret"
    ${
      url.startsWith('https')
        ? `connection:
      tls:
        ca: |
          ${indented(authority.cert)}
${tls}`
        : ''
    }
models:
  acme/one: { context: 128000, max_output: 4096, endpoints: [ { provider: first, model: m, price: free } ] }
`,
    { env },
  )
  t.teardown(() => gateway.close())
  const reply = await gateway.post('/v1/chat/completions', QUESTION)
  const body = await reply.text()
  const line = gateway.logs.map((one) => JSON.parse(one) as JsonObject).find(({ msg }) => msg === 'exchange')
  const id = reply.headers.get('x-generation-id') ?? ''
  const row = await fetch(`${gateway.url}/v1/generations/${id}`, { headers: { authorization: `Bearer ${MANAGER}` } })
  const { data } = (await row.json()) as { data?: { attempts?: JsonObject[] } }
  const parsed = JSON.parse(body) as JsonObject
  const error = isObject(parsed.error) ? parsed.error : {}
  return {
    status: reply.status,
    message: String(error.message ?? ''),
    body,
    fault: String(line?.fault),
    cause: String(line?.cause),
    attempt: data?.attempts?.[0] ?? {},
  }
}

async function fails(t: Test, url: string, [fault, cause]: [fault: string, cause: string], tls?: string): Promise<void> {
  const outcome = await called(t, url, { ...(tls === undefined ? {} : { tls }) })
  t.equal(outcome.status, 502)
  t.same([outcome.fault, outcome.cause], [fault, cause], 'in the log')
  t.match(outcome.attempt, { error: fault, cause }, 'in the row')
  t.notMatch(outcome.body, `"${cause}"`, 'not for the caller')
}

t.test('an authority that is not trusted', async (t) => {
  await fails(t, await secureProvider(t, site({ by: stranger })), ['upstream_tls', 'untrusted_authority'])
})

t.test('a certificate of another name', async (t) => {
  await fails(t, await secureProvider(t, site({ addresses: ['127.0.0.9'] })), ['upstream_tls', 'wrong_name'])
})

t.test('a certificate that has run out', async (t) => {
  await fails(t, await secureProvider(t, site({ expired: true })), ['upstream_tls', 'expired_certificate'])
})

t.test('a version of TLS that is too old', async (t) => {
  const old: TlsOptions = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }
  await fails(t, await secureProvider(t, site(), old), ['upstream_tls', 'old_tls'])
})

t.test('a provider that demands a certificate of the client', async (t) => {
  for (const maxVersion of ['TLSv1.3', 'TLSv1.2'] as const) {
    const demanding: TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: authority.cert, maxVersion }
    const outcome = await called(t, await secureProvider(t, site(), demanding))
    t.equal(outcome.status, 502)
    t.match(outcome, { fault: 'upstream_tls', cause: /^client_certificate_demanded$|^handshake_refused$/ }, maxVersion)
  }
  const own = certificate({ name: 'the gateway', by: authority, hosts: ['gateway.example'] })
  const demanding: TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: authority.cert }
  const tls = `        certificate: |\n          ${indented(own.cert)}\n        key: |\n          ${indented(keyPem(own))}\n`
  t.equal((await called(t, await secureProvider(t, site(), demanding), { tls })).status, 200, 'which it gets where there is one')
})

t.test('plain HTTP behind an address of https, and TLS behind one of http', async (t) => {
  const plain = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'))
  })
  await fails(t, `https://127.0.0.1:${await listening(t, plain)}`, ['upstream_tls', 'plain_http'])
  // An alert, as OpenSSL's servers send it (RFC 8446 section 6: fatal, decode_error).
  const secure = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end(Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x32])))
  })
  await fails(t, `http://127.0.0.1:${await listening(t, secure)}`, ['upstream_tls', 'tls_expected'])
})

t.test('a port on which nothing listens', async (t) => {
  await fails(t, REFUSING_URL, ['upstream_connect', 'refused'])
})

t.test('a name that does not exist', async (t) => {
  const outcome = await called(t, 'http://no-such-host.invalid')
  t.match(outcome, { status: 502, fault: 'upstream_dns', message: "The provider's name could not be resolved" })
  t.match(outcome.cause, /^unknown_name$|^name_servers_failing$/)
})

t.test('a provider that closes the connection without a reply', async (t) => {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', () => socket.end())
  })
  await fails(t, `http://127.0.0.1:${await listening(t, server)}`, ['upstream_cut', 'closed'])
})
