/** Several processes over TLS and on a Unix socket: all of them listen, and a renewed certificate reaches each. */

import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import t from 'tap'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { SECRET } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { shortDirectory } from '../../support/short-directory.ts'
import { socketFetch } from '../../support/socket-fetch.ts'
import { secureFetch, tlsFiles } from '../../support/tls-files.ts'
import { startUpstream } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'
import { configured, QUESTION, serveWorkers } from '../../support/workers.ts'

t.test('workers serve TLS and a Unix socket, and take a renewed certificate', async (t) => {
  const upstream = await startUpstream(says({ text: ['fine'] }))
  t.teardown(() => upstream.close())
  const directory = shortDirectory(t)
  const path = join(directory, 'api.sock')
  mkdirSync(join(directory, 'tls'))
  const files = tlsFiles(join(directory, 'tls'))
  const pair = `tls: { cert: "${files.directory}/tls.crt", key: "${files.directory}/tls.key" }`
  const { file } = await configured(t, upstream.url, { server: `socket: "${path}", ${pair}` })
  const workerPool = await serveWorkers(t, file, 2)
  t.match(workerPool.url, /^https:/)
  const post = {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
    body: JSON.stringify(QUESTION),
  }
  const ask = async (): Promise<number> => {
    const { fetch, close } = secureFetch(files)
    const reply = await fetch(`${workerPool.url}/v1/chat/completions`, post)
    await reply.text()
    await close()
    return reply.status
  }
  t.same(
    await Promise.all(Array.from({ length: 8 }, ask)),
    Array.from({ length: 8 }, () => 200),
  )
  t.equal((statSync(path).mode & 0o777).toString(8), '660')
  const onSocket = async (): Promise<number> => {
    const { fetch, close } = socketFetch(path)
    const reply = await fetch('http://localhost/v1/chat/completions', post)
    await reply.text()
    await close()
    return reply.status
  }
  t.same(
    await Promise.all(Array.from({ length: 8 }, onSocket)),
    Array.from({ length: 8 }, () => 200),
  )

  const room = await fetch(`${workerPool.admin}/control-room/session`, {
    method: 'POST',
    headers: { 'x-control-room': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ key: ADMIN_TOKEN }),
  })
  t.equal(room.status, 201, await room.text())
  const cookie = room.headers.get('set-cookie')?.split(';')[0] ?? ''
  t.equal((await fetch(`${workerPool.admin}/v1/keys`, { headers: { cookie } })).status, 200, 'the control room reaches a worker')

  const renewed = new X509Certificate(files.replace().cert).serialNumber
  const shown = async (): Promise<string> => {
    const socket = connect({ port: Number(new URL(workerPool.url).port), host: '127.0.0.1', ca: files.ca.cert })
    await once(socket, 'secureConnect')
    const { serialNumber } = socket.getPeerCertificate()
    socket.destroy()
    return serialNumber
  }
  // Connections are dealt out among the workers by the system.
  await eventually('every worker shows the renewed certificate', async () =>
    (await Promise.all(Array.from({ length: 16 }, shown))).every((serial) => serial === renewed),
  )

  // A worker that is killed is replaced, on the same socket.
  const [worker] = workerPool.workers()
  t.ok(worker)
  if (worker) process.kill(worker, 'SIGKILL')
  await eventually('another worker has its place', () => workerPool.workers().length === 2 && !workerPool.workers().includes(worker ?? 0))
  t.equal(await onSocket(), 200)

  workerPool.child.kill('SIGTERM')
  t.equal((await workerPool.exited).code, 0)
  t.notOk(existsSync(path), 'a clean stop removes the socket')
})
