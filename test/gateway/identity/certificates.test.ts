/** Callers with client certificates: what lets a connection in, and what rules make of a certificate. */
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { connect } from 'node:tls'
import OpenAI from 'openai'
import t from 'tap'
import WebSocket from 'ws'
import { type CertificateOptions, certificate, revocationList, type Signed } from '../../support/certificates.ts'
import { JumpingClock } from '../../support/clock.ts'
import { pemKey, type TlsFiles } from '../../support/tls-files.ts'
import { startTlsScene, type TlsSceneOptions } from '../../support/tls-scene.ts'

const RULES = `
budgets: { agents: { monthly: "5.00" } }
auth:
  keys: [ { name: app, key: "sk-router-v1-0123456789abcdef0123456789abcdef" } ]
  certificates:
    rules:
      - { when: { spiffe: spiffe://acme/agent }, name: agents, parent: agents, limit: "1.00", allowed_models: [acme/one] }
      - { when: { spiffe: spiffe://acme/other }, name: others, disabled: true }
      - { when: { spiffe: spiffe://acme/finance }, name: finance, role: billing }
      - { when: { subject.O: Acme, san.dns: [batch.acme.example, worker.acme.example] }, name: batch }
`
const start = (t: Parameters<typeof startTlsScene>[0], options: TlsSceneOptions = {}) =>
  startTlsScene(t, { yaml: RULES, tls: 'client_ca: ca.crt', ...options })

const client = ({ ca }: TlsFiles, options: Partial<CertificateOptions> = {}): Signed =>
  certificate({ name: 'agent', by: ca, uris: ['spiffe://acme/agent'], ...options })

const NO_KEY = { authorization: '' }

t.test('the SPIFFE id of a certificate is the caller, with the terms of its rule', async (t) => {
  const scene = await start(t)
  const fetch = scene.client(client(scene.files))
  const reply = await scene.chat(fetch, {}, NO_KEY)
  t.equal(reply.status, 200, await reply.text())
  const shown = (await (await fetch(`${scene.gateway.url}/v1/key`)).json()) as { data: { label: string; limit: number; name?: string } }
  t.equal(shown.data.limit, 1)
  t.match(JSON.stringify(shown), /agents/)
  const other = scene.client(client(scene.files, { uris: ['spiffe://acme/other'] }))
  t.equal((await scene.chat(other, {}, NO_KEY)).status, 401, 'another rule refuses its callers')
  const [first] = scene.rows()
  t.equal(scene.rows().length, 1)
  await scene.chat(scene.client(client(scene.files, { name: 'renewed' })), {}, NO_KEY)
  t.equal(scene.rows()[1]?.hold.key, first?.hold.key, 'a renewed certificate is the same caller')
})

t.test('levels of an organisation hold for callers with certificates', async (t) => {
  const boss = 'sk-router-v1-0000000000000000000000000000b055'
  const scene = await start(t, { yaml: RULES.replace('keys: [', `keys: [ { name: boss, key: "${boss}", management: true },`) })
  const fetch = scene.client(client(scene.files))
  const manage = async (method: string, path: string, body: object): Promise<void> => {
    const headers = { authorization: `Bearer ${boss}`, 'content-type': 'application/json' }
    const reply = await fetch(`${scene.gateway.url}/v1${path}`, { method, headers, body: JSON.stringify(body) })
    t.equal(reply.status, 200, await reply.text())
  }
  await manage('PUT', '/organizations/default/budgets/monthly', { limit_usd: 100 })
  const reply = await scene.chat(fetch, {}, NO_KEY)
  t.equal(reply.status, 200, await reply.text())
  t.match(scene.rows()[0]?.hold.payer, /^budget:agents>.*organization:/)
  await manage('PATCH', '/organizations/default', { disabled: true })
  t.equal((await scene.chat(fetch, {}, NO_KEY)).status, 403)
})

t.test('names of the subject and of hosts are claims too, and the common name is the caller without a SPIFFE id', async (t) => {
  const scene = await start(t)
  const of = (options: Partial<CertificateOptions>) => scene.client(client(scene.files, { uris: [], ...options }))
  t.equal((await scene.chat(of({ organisation: 'Acme', hosts: ['worker.acme.example'] }), {}, NO_KEY)).status, 200)
  const wrong = await scene.chat(of({ organisation: 'Evil', hosts: ['worker.acme.example'] }), {}, NO_KEY)
  t.equal(wrong.status, 403)
  t.match(await wrong.text(), /no rule maps this caller/)
})

t.test('names that only look like a SPIFFE id are none', async (t) => {
  const scene = await start(t)
  const cases: Partial<CertificateOptions>[] = [
    { uris: ['spiffe://acme/agent', 'https://acme.example'] },
    { uris: ['spiffe://ACME/agent'] },
    { uris: ['spiffe://acme/agent/../agent'] },
    { uris: [], hosts: ['spiffe://acme/agent'] },
    { uris: ['https://acme.example/, URI:spiffe://acme/agent'] },
    { uris: [], hosts: ['a.example'], name: 'spiffe://acme/agent' },
  ]
  for (const options of cases)
    t.equal((await scene.chat(scene.client(client(scene.files, options)), {}, NO_KEY)).status, 403, JSON.stringify(options))
})

t.test('a connection without a certificate, or with one that does not verify, fails', async (t) => {
  const scene = await start(t)
  const stranger = certificate({ name: 'Stranger' })
  const cases: [string, Signed | undefined][] = [
    ['none', undefined],
    ['of another authority', certificate({ name: 'agent', by: stranger, uris: ['spiffe://acme/agent'] })],
    [
      'of another authority with the same name',
      certificate({ name: 'agent', by: certificate({ name: 'Test Authority' }), uris: ['spiffe://acme/agent'] }),
    ],
    ['ended', client(scene.files, { expired: true })],
  ]
  for (const [what, shown] of cases) await t.rejects(scene.chat(scene.client(shown)), what)
  t.equal((await scene.chat(scene.client(client(scene.files)))).status, 200)
})

t.test('curl shows its certificate', async (t) => {
  const scene = await start(t)
  const shown = client(scene.files)
  scene.files.write('client.crt', shown.cert)
  scene.files.write('client.key', pemKey(shown))
  const at = (name: string): string => join(scene.files.directory, name)
  const curl = await new Promise<string>((resolve) => {
    const { spawn } = process.getBuiltinModule('node:child_process')
    const child = spawn('curl', [
      '-s',
      '--cacert',
      at('ca.crt'),
      '--cert',
      at('client.crt'),
      '--key',
      at('client.key'),
      `${scene.gateway.url}/v1/key`,
    ])
    let out = ''
    child.stdout.on('data', (data) => {
      out += data
    })
    child.on('close', () => resolve(out))
  })
  t.match(curl, /agents/)
})

t.test('an optional certificate that does not verify is refused with its reason', async (t) => {
  const scene = await start(t, { tls: 'client_ca: ca.crt, client_certificates: optional' })
  t.equal((await scene.chat(scene.client())).status, 200, 'a key alone')
  t.equal((await scene.chat(scene.client(), {}, NO_KEY)).status, 401, 'neither')
  t.equal((await scene.chat(scene.client(client(scene.files)), {}, NO_KEY)).status, 200, 'a certificate alone')
  const ended = await scene.chat(scene.client(client(scene.files, { expired: true })))
  t.equal(ended.status, 401, 'a good key does not help')
  t.match(await ended.text(), /does not verify \(CERT_HAS_EXPIRED\)/)
})

t.test('a key beside a certificate is the caller, and a placeholder of SDKs is no key', async (t) => {
  const scene = await start(t)
  const fetch = scene.client(client(scene.files, { uris: ['spiffe://acme/unknown'] }))
  t.equal((await scene.chat(fetch)).status, 200, 'the key needs no rule for the certificate')
  t.equal((await scene.chat(fetch, {}, { authorization: 'Bearer sk-wrong' })).status, 401)
  const openai = new OpenAI({
    baseURL: `${scene.gateway.url}/v1`,
    apiKey: 'certificate',
    fetch: scene.client(client(scene.files)),
    maxRetries: 0,
  })
  const said = await openai.chat.completions.create({ model: 'acme/one', messages: [{ role: 'user', content: 'hello' }] })
  t.equal(said.choices[0]?.message.content, 'fine')
})

t.test('a WebSocket opens with a certificate', async (t) => {
  const scene = await start(t)
  const shown = client(scene.files)
  const socket = new WebSocket(`${scene.gateway.url.replace('https', 'wss')}/v1/responses`, {
    ca: scene.files.ca.cert,
    cert: shown.cert,
    key: pemKey(shown),
  })
  t.teardown(() => socket.terminate())
  await once(socket, 'open')
  const ended = new Promise<string>((resolve) => {
    socket.on('message', (data) => {
      if (/"type":"(?:response\.completed|error)"/.test(String(data))) resolve(String(data))
    })
  })
  socket.send(JSON.stringify({ type: 'response.create', model: 'acme/one', input: 'hello' }))
  t.match(await ended, /response\.completed/)
})

t.test('a rule gives a role, and its callers manage and call no models', async (t) => {
  const scene = await start(t)
  const fetch = scene.client(client(scene.files, { uris: ['spiffe://acme/finance'] }))
  t.equal((await scene.chat(fetch, {}, NO_KEY)).status, 403, 'no completions')
  const list = await fetch(`${scene.gateway.url}/v1/keys`)
  t.equal(list.status, 200, await list.text())
  const headers = { 'content-type': 'application/json' }
  const made = await fetch(`${scene.gateway.url}/v1/keys`, { method: 'POST', headers, body: JSON.stringify({ name: 'more' }) })
  t.equal(made.status, 403, 'billing makes no keys')
  const member = scene.client(client(scene.files))
  t.equal((await member(`${scene.gateway.url}/v1/keys`)).status, 403, 'a rule without a role maps members')
})

t.test('a page of another origin cannot use the certificate of a browser', async (t) => {
  const scene = await start(t)
  const shown = client(scene.files)
  const fetch = scene.client(shown)
  const { host } = new URL(scene.gateway.url)
  const refused = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { origin: 'https://evil.example' },
    { origin: 'null' },
  ]
  for (const headers of refused) {
    const reply = await scene.chat(fetch, {}, { ...NO_KEY, ...headers })
    t.equal(reply.status, 403, JSON.stringify(headers))
    t.match(await reply.text(), /A page of another origin/)
  }
  t.equal(scene.rows().length, 0, 'nothing was spent')
  const taken = [{ 'sec-fetch-site': 'same-origin' }, { 'sec-fetch-site': 'none' }, { origin: `https://${host}` }]
  for (const headers of taken) t.equal((await scene.chat(fetch, {}, { ...NO_KEY, ...headers })).status, 200, JSON.stringify(headers))
  const placeholder = { authorization: 'Bearer certificate', origin: 'https://app.example', 'sec-fetch-site': 'cross-site' }
  t.equal((await scene.chat(fetch, {}, placeholder)).status, 200, 'a preflight has let it')
  const socket = new WebSocket(`wss://${host}/v1/responses`, {
    ca: scene.files.ca.cert,
    cert: shown.cert,
    key: pemKey(shown),
    origin: 'https://evil.example',
  })
  const [failure] = (await once(socket, 'error')) as [Error]
  t.match(failure.message, /403/)
})

t.test('an open connection works to the end of its certificate', async (t) => {
  const clock = new JumpingClock()
  const scene = await startTlsScene(t, { yaml: RULES, tls: 'client_ca: ca.crt', clock })
  const fetch = scene.client(client(scene.files, { until: '450101000000Z' }))
  t.equal((await scene.chat(fetch, {}, NO_KEY)).status, 200)
  clock.jumpTo('2045-01-01T00:00:01Z')
  const late = await scene.chat(fetch, {}, NO_KEY)
  t.equal(late.status, 401)
  t.match(await late.text(), /The client certificate has ended/)
})

t.test('no session is resumed, so that every connection has its certificate verified', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const scene = await start(t)
    const shown = client(scene.files)
    const options = {
      port: Number(new URL(scene.gateway.url).port),
      host: '127.0.0.1',
      ca: scene.files.ca.cert,
      cert: shown.cert,
      key: pemKey(shown),
      maxVersion,
    }
    const first = connect(options)
    let session: Buffer | undefined
    first.on('session', (each) => {
      session = each
    })
    await once(first, 'secureConnect')
    session ??= first.getSession()
    first.write('GET /v1/key HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    await once(first.resume(), 'close')
    const second = connect({ ...options, ...(session ? { session } : {}) })
    t.teardown(() => second.destroy())
    await once(second, 'secureConnect')
    t.notOk(second.isSessionReused(), maxVersion)
  }
})

t.test('a certificate that is revoked gets no new connection, and nothing more on an open one', async (t) => {
  const scene = await start(t, {
    tls: 'client_ca: ca.crt, client_crl: ca.crl',
    ready: (files) => files.write('ca.crl', revocationList(files.ca, [])),
  })
  const revoked = client(scene.files)
  const good = client(scene.files, { name: 'good' })
  const fetch = scene.client(revoked)
  const before = await scene.chat(fetch, {}, NO_KEY)
  t.equal(before.status, 200, await before.text())
  scene.files.write('ca.crl', revocationList(scene.files.ca, [revoked]))
  await scene.clock.advance(5_000)
  await t.rejects(scene.chat(fetch, {}, NO_KEY))
  t.equal((await scene.chat(scene.client(good), {}, NO_KEY)).status, 200)
})

t.test('a file that lets certificates in without authorities is refused', async (t) => {
  await t.rejects(startTlsScene(t, { yaml: RULES }), { message: /auth\.certificates: expected server\.tls\.client_ca as well/ })
  await t.rejects(start(t, { yaml: RULES.replace('parent: agents', 'parent: agent') }), {
    message: /auth\.certificates\.rules\[0\]\.parent: no such budget/,
  })
  await t.rejects(start(t, { yaml: RULES.replace('{ spiffe: spiffe://acme/finance }', '{}') }), {
    message: /auth\.certificates\.rules\[2\]\.when: every client certificate would have the role billing/,
  })
})

t.test('certificates of openssl are read as well', async (t) => {
  const scene = await start(t)
  const at = (name: string): string => join(scene.files.directory, name)
  scene.files.write('ca.key', pemKey(scene.files.ca))
  scene.files.write('more.txt', 'subjectAltName=URI:spiffe://acme/agent\nextendedKeyUsage=clientAuth')
  const openssl = (...args: string[]): void => {
    const { status, stderr } = spawnSync('openssl', args)
    if (status !== 0) throw new Error(String(stderr))
  }
  openssl('req', '-new', '-newkey', 'rsa:2048', '-nodes', '-keyout', at('o.key'), '-out', at('o.csr'), '-subj', '/O=Acme, Inc./CN=o')
  openssl(
    'x509',
    '-req',
    '-in',
    at('o.csr'),
    '-CA',
    at('ca.crt'),
    '-CAkey',
    at('ca.key'),
    '-days',
    '3000',
    '-extfile',
    at('more.txt'),
    '-out',
    at('o.crt'),
  )
  const { readFileSync } = process.getBuiltinModule('node:fs')
  const fetch = scene.client(undefined, { cert: readFileSync(at('o.crt')), key: readFileSync(at('o.key')) })
  t.equal((await scene.chat(fetch, {}, NO_KEY)).status, 200)
})
