/** The guarded `fetch` that client libraries are given. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { guardedClient } from '../../src/services/outbound/guarded-client.ts'
import { OutboundPolicy, type Resolved } from '../../src/services/outbound/index.ts'

interface Canary {
  port: number
  hits: number
}

async function canary(t: Test, body: Buffer | string = 'hello', headers: Record<string, string> = {}, status = 200): Promise<Canary> {
  const seen = { port: 0, hits: 0 }
  const server = createServer((_, response) => {
    seen.hits++
    response.writeHead(status, headers).end(status === 204 ? undefined : body)
  })
  t.teardown(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  seen.port = (server.address() as AddressInfo).port
  return seen
}

const LOCAL: Resolved = { address: '127.0.0.1', family: 4 }
const PUBLIC: Resolved = { address: '93.184.216.34', family: 4 }

t.test('a name that leads into the machine is not connected to, whenever it begins to', async (t) => {
  const seen = await canary(t)
  const policy = new OutboundPolicy({ ports: [seen.port] })
  const answers: (readonly Resolved[])[] = [
    [LOCAL],
    [PUBLIC, LOCAL],
    [{ address: '::ffff:127.0.0.1', family: 6 }],
    [{ address: '169.254.169.254', family: 4 }],
    [],
  ]
  for (const answer of answers) {
    const origin = `http://rebind.example.com:${seen.port}`
    const client = await guardedClient({ policy, origin, maxBytes: 1000, resolve: async () => answer })
    await t.rejects(client.fetch(`${origin}/`), JSON.stringify(answer))
    await client.close()
  }
  t.equal(seen.hits, 0)
})

t.test('one origin, one policy, so many bytes', async (t) => {
  const seen = await canary(t)
  const policy = new OutboundPolicy({ allowPrivate: [`127.0.0.1:${seen.port}`] })
  const origin = `http://127.0.0.1:${seen.port}`
  const client = await guardedClient({ policy, origin, maxBytes: 12 })
  t.teardown(() => client.close())
  t.equal(await (await client.fetch(`${origin}/a`)).text(), 'hello')
  t.equal(await (await client.fetch(new URL(`${origin}/b`))).text(), 'hello')
  await t.rejects(async () => (await client.fetch(`${origin}/c`)).text(), 'the answers together are too long')
  t.equal(seen.hits, 3)
  const other = await canary(t)
  await t.rejects(client.fetch(`http://127.0.0.1:${other.port}/`))
  await t.rejects(client.fetch('http://127.0.0.2/'))
  await t.rejects(client.fetch('file:///etc/passwd'))
  t.equal(other.hits, 0)
  const moved = await canary(t, '', { location: `http://127.0.0.1:${other.port}/` }, 302)
  const follower = await guardedClient({
    policy: new OutboundPolicy({ allowPrivate: [`127.0.0.1:${moved.port}`] }),
    origin: `http://127.0.0.1:${moved.port}`,
    maxBytes: 10,
  })
  t.equal((await follower.fetch(`http://127.0.0.1:${moved.port}/`)).status, 302)
  t.equal(other.hits, 0, 'redirects are handed back')
  await follower.close()
})

t.test('what is inflated counts, and an answer without a body is one', async (t) => {
  const bomb = await canary(t, gzipSync(Buffer.alloc(10_000_000)), { 'content-encoding': 'gzip' })
  const origin = `http://127.0.0.1:${bomb.port}`
  const client = await guardedClient({
    policy: new OutboundPolicy({ allowPrivate: [`127.0.0.1:${bomb.port}`] }),
    origin,
    maxBytes: 100_000,
  })
  await t.rejects(async () => (await client.fetch(origin)).text())
  await client.close()
  const empty = await canary(t, '', {}, 204)
  const at = `http://127.0.0.1:${empty.port}`
  const other = await guardedClient({ policy: new OutboundPolicy({ allowPrivate: [`127.0.0.1:${empty.port}`] }), origin: at, maxBytes: 10 })
  t.equal((await other.fetch(at)).status, 204)
  await other.close()
})
