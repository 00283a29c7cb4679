/** Commands and health checks at an admin listener that speaks TLS. */
import { join } from 'node:path'
import t from 'tap'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { certificate } from '../../support/certificates.ts'
import { freePorts } from '../../support/crash/configuration.ts'
import { runProgram } from '../../support/program.ts'
import { pemKey } from '../../support/tls-files.ts'
import { startTlsScene } from '../../support/tls-scene.ts'

t.test('commands trust the certificate of the configuration, and that alone', async (t) => {
  const [port = 0] = await freePorts(1)
  const { files, gateway } = await startTlsScene(t, {
    admin: `{ host: 127.0.0.1, port: ${port}, token: ${ADMIN_TOKEN}, tls: { cert: tls.crt, key: tls.key } }`,
  })
  const file = join(files.directory, 'headgate.yaml')
  const list = async (): Promise<{ code: number | null; out: string; err: string }> => {
    const program = runProgram(['keys', 'list', '--config', file])
    const { code } = await program.exited
    return { code, out: program.out(), err: program.err() }
  }
  const listed = await list()
  t.equal(listed.code, 0, listed.err)
  t.match(listed.out, /test/)

  const health = runProgram(['health', '--url', gateway.admin])
  t.equal((await health.exited).code, 0, health.err())

  // Another program took the port, with a certificate of the same authority: the token must not be sent to it.
  const other = certificate({ name: 'gateway', by: files.ca, hosts: ['localhost'], addresses: ['127.0.0.1'] })
  files.write('tls.crt', other.cert)
  const refused = await list()
  t.not(refused.code, 0, 'the listener shows another certificate than the file has')
  t.notMatch(refused.err, ADMIN_TOKEN)
  files.write('tls.key', pemKey(other))
  await gateway.running.reload()
  t.equal((await list()).code, 0, 'a renewed pair is trusted once it serves')
})

t.test('the listener for health stays plain', async (t) => {
  const [port = 0] = await freePorts(1)
  await startTlsScene(t, {
    admin: `{ host: 127.0.0.1, port: 0, health_port: ${port}, token: ${ADMIN_TOKEN}, tls: { cert: tls.crt, key: tls.key, client_ca: ca.crt } }`,
  })
  t.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
})
