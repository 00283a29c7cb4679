/** The API and the admin listener on Unix sockets. */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { listenOn, removeStale } from '../../../src/server/unix-socket.ts'
import { ADMIN_TOKEN } from '../../support/admin.ts'
import { oneModel } from '../../support/gateway.ts'
import { plainNode, runProgram } from '../../support/program.ts'
import { startScene } from '../../support/scene.ts'
import { shortDirectory } from '../../support/short-directory.ts'
import { socketFetch } from '../../support/socket-fetch.ts'

const BASE = 'http://localhost'

async function startOn(t: Test, directory: string, { server = '', admin = '' } = {}) {
  const path = join(directory, 'api.sock')
  const scene = await startScene(t, {
    directory,
    config: (url) => `
server: { host: 127.0.0.1, port: 0, socket: "${path}"${server} }
admin: { host: 127.0.0.1, port: 0, token: ${ADMIN_TOKEN}${admin} }
${oneModel(url, 'openai-chat')}`,
  })
  const client = () => {
    const { fetch, close } = socketFetch(path)
    t.teardown(close)
    return fetch
  }
  return { ...scene, path, client }
}

const rights = (path: string): string => (statSync(path).mode & 0o777).toString(8)

t.test('an SDK reaches the API on its socket, beside the port', async (t) => {
  const { client, gateway, path, ask } = await startOn(t, shortDirectory(t))
  t.equal(rights(path), '660')
  const openai = new OpenAI({ baseURL: `${BASE}/v1`, apiKey: gateway.key, fetch: client(), maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'hello' }]
  t.equal((await openai.chat.completions.create({ model: 'acme/one', messages })).choices[0]?.message.content, 'fine')
  let streamed = ''
  for await (const chunk of await openai.chat.completions.create({ model: 'acme/one', messages, stream: true }))
    streamed += chunk.choices[0]?.delta.content ?? ''
  t.equal(streamed, 'fine')
  t.equal((await ask()).status, 200, 'the port serves as well')
  await gateway.close()
  t.notOk(existsSync(path), 'a clean stop removes it')
})

t.test('the rights of the sockets are those of the configuration', async (t) => {
  const directory = shortDirectory(t)
  const admin = join(directory, 'admin.sock')
  const { path } = await startOn(t, directory, { server: ', socket_mode: "0600"', admin: `, socket: "${admin}", socket_mode: "0660"` })
  t.same([rights(path), rights(admin)], ['600', '660'])
})

t.test('a bad sidecar does not keep others out', async (t) => {
  const { client, gateway } = await startOn(t, shortDirectory(t))
  const bad = client()
  const statuses: number[] = []
  for (let count = 0; count < 110; count++)
    statuses.push((await bad(`${BASE}/v1/key`, { headers: { authorization: `Bearer sk-wrong-${count}` } })).status)
  t.equal(statuses.filter((status) => status === 401).length, 100)
  t.equal(statuses.filter((status) => status === 429).length, 10, 'callers on the socket are one address for wrong keys')
  const good = await client()(`${BASE}/v1/key`, { headers: { authorization: `Bearer ${gateway.key}` } })
  t.equal(good.status, 200, 'a good key works')
  t.equal((await gateway.get('/v1/key', { authorization: 'Bearer sk-wrong' })).status, 401, 'callers on the port have their own address')
})

t.test('a path that is taken is refused with its setting, and a stale socket is replaced', async (t) => {
  const directory = shortDirectory(t)
  const path = join(directory, 'api.sock')
  writeFileSync(path, 'precious')
  await t.rejects(startOn(t, directory), { message: /^server\.socket: .*exists and is no socket/ })
  t.equal(statSync(path).size, 8, 'the file is left alone')
  const other = shortDirectory(t)
  const busy = join(other, 'api.sock')
  const server = createServer().listen(busy)
  t.teardown(() => server.close())
  await t.rejects(startOn(t, other), { message: /^server\.socket: another program listens on/ })
  const third = join(other, 'third')
  const { status } = spawnSync(
    ...plainNode([
      '-e',
      `
    require('node:fs').mkdirSync(${JSON.stringify(third)})
    require('node:net').createServer().listen(${JSON.stringify(join(third, 'api.sock'))}, () => process.kill(process.pid, 'SIGKILL'))`,
    ]),
  )
  t.equal(status, null, 'a process is killed')
  t.ok(existsSync(join(third, 'api.sock')))
  const { client, gateway } = await startOn(t, third)
  t.equal((await client()(`${BASE}/v1/key`, { headers: { authorization: `Bearer ${gateway.key}` } })).status, 200)
})

t.test('a directory that is missing is named', async (t) => {
  const directory = shortDirectory(t)
  await t.rejects(
    startScene(t, {
      directory,
      config: (url) => `server: { port: 0, socket: "${directory}/none/api.sock" }\n${oneModel(url, 'openai-chat')}`,
    }),
    { message: /^server\.socket: .*its directory is not there/ },
  )
})

t.test('commands reach the admin listener on its socket by its address', async (t) => {
  const directory = shortDirectory(t)
  const admin = join(directory, 'admin.sock')
  await startOn(t, directory, { admin: `, socket: "${admin}"` })
  const health = runProgram(['health', '--url', `unix:${admin}`])
  t.equal((await health.exited).code, 0, health.err())
  const keys = runProgram(['keys', 'list', '--url', `unix:${admin}`])
  t.equal((await keys.exited).code, 0, keys.err())
  t.match(keys.out(), /test/)
})

t.test('of two processes that start on the same stale socket one has it, and the other does not take it away', async (t) => {
  const place = { path: join(shortDirectory(t), 'api.sock'), mode: 0o600, setting: 'server.socket' }
  const script = `require('node:net').createServer().listen(${JSON.stringify(place.path)}, () => process.kill(process.pid, 'SIGKILL'))`
  spawnSync(...plainNode(['-e', script]))
  t.ok(existsSync(place.path), 'a killed process has left it')
  const started: Server[] = []
  t.teardown(() => started.map((each) => each.close()))
  const begin = async (): Promise<void> => {
    await removeStale(place)
    const server = createServer()
    await listenOn(server, place)
    started.push(server)
  }
  const [first, second] = await Promise.allSettled([begin(), begin()])
  t.equal(first?.status, 'fulfilled')
  t.match(second, { status: 'rejected', reason: { message: /^server\.socket: another program listens on / } })
  t.equal(started.length, 1)
})
