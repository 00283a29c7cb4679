/** The certificate of a listener: checked at the start, replaced without a restart, and warned of before its end. */

import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:tls'
import t, { type Test } from 'tap'
import { certificate, type Signed } from '../../support/certificates.ts'
import { eventually } from '../../support/eventually.ts'
import { pemKey } from '../../support/tls-files.ts'
import { startTlsScene, type TlsScene } from '../../support/tls-scene.ts'

const KEPT = 'certificate of a listener cannot be replaced, the old one stays in use'

/** Number of the certificate that a new connection is shown. */
async function shownSerial(t: Test, { gateway, files }: Pick<TlsScene, 'gateway' | 'files'>): Promise<string> {
  const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', ca: files.ca.cert })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  const { serialNumber } = socket.getPeerCertificate()
  socket.destroy()
  return serialNumber
}

const serial = ({ cert }: Signed): string => new X509Certificate(cert).serialNumber

t.test('a pair that cannot be used is refused at the start with its setting', async (t) => {
  const cases: [why: string, found: RegExp, ready: (write: (name: string, text: string) => void) => void][] = [
    [
      'a foreign key',
      /^server\.tls\.key: does not belong to the first certificate of server\.tls\.cert/,
      (write) => write('tls.key', pemKey(certificate({ name: 'other' }))),
    ],
    ['no certificate', /^server\.tls\.cert: expected certificates as PEM/, (write) => write('tls.crt', 'nothing')],
    ['no key', /^server\.tls\.key: expected a private key as PEM without a passphrase/, (write) => write('tls.key', 'nothing')],
  ]
  for (const [why, found, spoil] of cases)
    await t.rejects(startTlsScene(t, { ready: ({ write }) => spoil(write) }), { message: found }, why)
  await t.rejects(startTlsScene(t, { tls: 'client_ca: missing.crt' }), {
    message: /^server\.tls\.client_ca: .*missing\.crt cannot be read \(ENOENT\)/,
  })
})

t.test('a renewed pair is taken while requests run, and none fails', async (t) => {
  const scene = await startTlsScene(t)
  const { clock, client, chat, files, gateway } = scene
  const before = await shownSerial(t, scene)
  const statuses: number[] = []
  let isOver = false
  const callers = Array.from({ length: 4 }, async () => {
    const fetch = client()
    while (!isOver) statuses.push((await chat(fetch, { stream: statuses.length % 2 === 0 })).status)
  })
  await eventually('requests run', () => statuses.length > 20)
  const renewed = files.replace()
  await clock.advance(5_000)
  t.equal(await shownSerial(t, scene), serial(renewed), 'new connections are shown the new one')
  t.not(before, serial(renewed))
  const count = statuses.length
  await eventually('they go on', () => statuses.length > count + 20)
  isOver = true
  await Promise.all(callers)
  t.same([...new Set(statuses)], [200])
  t.ok(gateway.logs.some((line) => line.includes('certificate of a listener replaced')))
})

t.test('a broken pair leaves the old one in use, and is reported once', async (t) => {
  const scene = await startTlsScene(t)
  const { clock, files, gateway } = scene
  const before = await shownSerial(t, scene)
  const kept = (): number => gateway.logs.filter((line) => line.includes(KEPT)).length
  const next = certificate({ name: 'gateway', by: files.ca, addresses: ['127.0.0.1'] })
  files.write('tls.crt', next.cert)
  await clock.advance(5_000)
  t.equal(kept(), 0, 'the key may be on its way')
  await clock.advance(5_000)
  t.equal(kept(), 1)
  await clock.advance(60_000)
  t.equal(kept(), 1, 'once')
  t.match(gateway.logs.join(''), /server\.tls\.key: does not belong/)
  t.equal(await shownSerial(t, scene), before)
  files.write('tls.key', pemKey(next))
  await clock.advance(5_000)
  t.equal(await shownSerial(t, scene), serial(next), 'it is taken once it is whole')
})

t.test('SIGHUP reads the pair at once, and reports a broken one at once', async (t) => {
  const scene = await startTlsScene(t)
  const { files, gateway } = scene
  const renewed = files.replace()
  await gateway.running.reload()
  t.equal(await shownSerial(t, scene), serial(renewed))
  files.write('tls.key', 'broken')
  await gateway.running.reload()
  t.ok(gateway.logs.some((line) => line.includes(KEPT)))
  t.equal(await shownSerial(t, scene), serial(renewed))
})

t.test('a certificate that ends soon is warned of once a day, and its end is a metric', async (t) => {
  const { clock, files, gateway } = await startTlsScene(t, { ready: (files) => void files.replace({ until: '260117120000Z' }) })
  const warned = (): number => gateway.logs.filter((line) => line.includes('certificate of a listener ends soon')).length
  t.equal(warned(), 1)
  t.match(
    gateway.logs.find((line) => line.includes('ends soon')),
    /"days":12/,
  )
  await clock.advance(86_400_000)
  t.equal(warned(), 2)
  t.match(
    await (await fetch(`${gateway.admin}/metrics`)).text(),
    `headgate_tls_certificate_not_after_seconds{listener="server"} ${Date.UTC(2026, 0, 17, 12) / 1000}`,
  )
  files.replace()
  await clock.advance(3 * 86_400_000)
  t.equal(warned(), 2, 'a renewed one is not warned of')
})

t.test('PEM of a secret of the configuration is taken in the place of a path', async (t) => {
  const scene = await startTlsScene(t, { tls: '', yaml: '' })
  const { files, gateway } = scene
  t.equal((await scene.chat(scene.client())).status, 200)
  const pair = files.replace()
  const { kind } = await gateway.reconfigure(`
server: { host: 127.0.0.1, port: 0, tls: { cert: "\${file:tls.crt}", key: "\${file:tls.key}" } }
providers: { sim: { dialect: sim } }
models: { acme/one: { context: 1000, endpoints: [ { provider: sim, model: x } ] } }
`)
  t.equal(kind, 'applied')
  t.equal(await shownSerial(t, scene), serial(pair))
})
