/** Tokens that open nothing: what they cost, whom they count for, and whom they must not lock out. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { hasWrongChecksum, makeSecret } from '../../../src/core/secret.ts'
import { FakeClock } from '../../support/clock.ts'
import { every } from '../../support/every.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { RawClient } from '../../support/raw.ts'

const MODEL = `
providers: { sim: { dialect: sim } }
models: { sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] } }
`
const BODY = { model: 'sim/echo', messages: [{ role: 'user', content: 'x' }] }
const old = (letter: string): string => `sk-router-v1-${letter.repeat(64)}`
const withToken = (token: string, more: Record<string, string> = {}) => ({ authorization: `Bearer ${token}`, ...more })

async function facingStrangers(t: Test, server: string, more = ''): Promise<{ gateway: Gateway; clock: FakeClock; status: Status }> {
  const clock = new FakeClock()
  const gateway = await startGateway(`${more}server: { host: 127.0.0.1, port: 0, ${server} }${MODEL}`, { clock })
  t.teardown(() => gateway.close())
  const status: Status = async (token, more) => {
    const reply = await gateway.post('/v1/chat/completions', BODY, withToken(token, more))
    await reply.arrayBuffer()
    return reply.status
  }
  return { gateway, clock, status }
}

type Status = (token: string, more?: Record<string, string>) => Promise<number>

/** Adds a key to the store under a secret of any form. */
function store({ running }: Gateway, secret: string): void {
  const { store: bookkeeping, runtime } = running
  const hash = createHash('sha256').update(secret).digest('hex')
  const [like] = runtime.management.configured
  bookkeeping.keys.put({ ...like, identity: hash, hash, name: 'stored', includeByokInLimit: false, creator: null })
}

t.test('an address that sends many wrong keys gets 429, and its good keys still work', async (t) => {
  const { gateway, clock, status } = await facingStrangers(t, 'auth_failures: { burst: 3, per_minute: 60 }')
  const { secret } = makeSecret('router')
  store(gateway, secret)
  store(gateway, old('a'))
  await every(t, 'every round', async (t) => {
    for (let wrong = 0; wrong < 3; wrong++) t.equal(await status(old('0')), 401)
  })
  const refused = await gateway.post('/v1/chat/completions', BODY, withToken(old('1')))
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '1')
  t.match(await refused.json(), { error: { code: 429, message: /^Too many requests with keys that cannot be used/ } })
  await every(t, 'every path', async (t) => {
    for (const path of ['/v1/key', '/v1/models', '/v1/keys', '/v1/passage/sim/x'])
      t.equal((await gateway.get(path, withToken(old('2')))).status, 429, `${path} counts in the same bucket`)
  })
  await every(t, 'every good', async (t) => {
    for (const good of [gateway.key, secret, old('a')]) t.equal(await status(good), 200, 'a good key from the same address')
  })
  t.equal((await fetch(`${gateway.url}/v1/key`)).status, 401, 'no key at all is no failed key')
  await clock.advance(1000)
  t.equal(await status(old('3')), 401, 'a second later there is one more')
  t.equal(await status(old('3')), 429)
})

t.test('a disabled key counts as a failure', async (t) => {
  const { gateway, status } = await facingStrangers(t, 'auth_failures: { burst: 1, per_minute: 60 }')
  store(gateway, old('a'))
  const hash = createHash('sha256').update(old('a')).digest('hex')
  gateway.running.store.keys.change(hash, (key) => ({ ...key, disabled: true }))
  t.same([await status(old('a')), await status(old('a'))], [401, 429])
})

t.test('new keys carry a checksum, and a token with a wrong one is not looked up', async (t) => {
  const { gateway, status } = await facingStrangers(t, '', `store: { url: "sqlite:${join(t.testdir(), 'ledger.db')}" }\n`)
  const { secret } = makeSecret('router')
  t.match(secret, /^sk-router-v2-[0-9a-f]{64}$/)
  const last = secret.at(-1) === '0' ? '1' : '0'
  const mistyped = `${secret.slice(0, -1)}${last}`
  t.same(
    [hasWrongChecksum(secret), hasWrongChecksum(mistyped), hasWrongChecksum(old('a')), hasWrongChecksum('anything')],
    [false, true, false, false],
  )
  // The store would say yes: that it is not asked is what the 401 shows.
  store(gateway, mistyped)
  t.equal(await status(mistyped), 401)
  store(gateway, secret)
  t.equal(await status(secret), 200)
})

t.test('a secret of the configuration may look as it likes', async (t) => {
  const written = 'sk-router-v2-chosen-by-hand'
  const gateway = await startGateway(`auth: { keys: [ { name: mine, key: "${written}" } ] }${MODEL}`)
  t.teardown(() => gateway.close())
  t.equal((await gateway.post('/v1/chat/completions', BODY, withToken(written))).status, 200)
})

const forwarded = (value: string): Record<string, string> => ({ 'x-forwarded-for': value })

t.test('behind trusted proxies failures count by the right-most address that is none of them', async (t) => {
  const { status } = await facingStrangers(t, 'auth_failures: { burst: 1, per_minute: 60 }, trusted_proxies: [ 127.0.0.1, 10.0.0.0/8 ]')
  t.equal(await status(old('0'), forwarded('203.0.113.1')), 401)
  t.equal(await status(old('0'), forwarded('203.0.113.1')), 429)
  t.equal(await status(old('0'), forwarded('203.0.113.2')), 401, 'another caller has a bucket of its own')
  await every(t, 'every same', async (t) => {
    for (const same of ['198.51.100.7, 203.0.113.1', '203.0.113.1, 10.1.2.3', '203.0.113.1:4711', 'made up, 203.0.113.1, 10.9.9.9'])
      t.equal(await status(old('0'), forwarded(same)), 429, same)
  })
  t.equal(await status(old('0'), forwarded('2001:db8:1:2::1')), 401)
  await every(t, 'every same', async (t) => {
    for (const same of ['2001:db8:1:2:ffff::9', '[2001:0db8:0001:0002::1]:443', '2001:DB8:1:2:3:4:5:6'])
      t.equal(await status(old('0'), forwarded(same)), 429, `${same}: one network of 64 bits`)
  })
  t.equal(await status(old('0'), forwarded('2001:db8:1:3::1')), 401, 'the next network')
  t.equal(await status(old('0'), forwarded('::ffff:203.0.113.1')), 429, 'an IPv4 address in IPv6')
  t.equal(await status(old('0'), forwarded('10.1.1.1')), 401, 'where all are trusted, the left-most')
  t.equal(await status(old('0'), forwarded('10.1.1.1')), 429)
})

t.test('no other client can choose the address that counts', async (t) => {
  const { gateway, status } = await facingStrangers(t, 'auth_failures: { burst: 1, per_minute: 60 }')
  t.equal(await status(old('0'), forwarded('203.0.113.1')), 401)
  t.equal(await status(old('0'), forwarded('203.0.113.2')), 429)
  t.equal(await status(gateway.key, forwarded('203.0.113.2')), 200)
  const warnings = gateway.logs.filter((line) => line.includes('server.trusted_proxies'))
  t.equal(warnings.length, 1, 'an inner address that forwards is reported once')
})

t.test('a proxy that is not listed is reported at its first request, whose key is right', async (t) => {
  const { gateway, status } = await facingStrangers(t, 'auth_failures: { burst: 1, per_minute: 60 }')
  const warnings = (): string[] => gateway.logs.filter((line) => line.includes('server.trusted_proxies'))
  t.equal(await status(gateway.key), 200)
  t.same(warnings(), [], 'a caller without a proxy')
  for (const _ of [1, 2]) t.equal(await status(gateway.key, forwarded('203.0.113.2')), 200)
  t.equal(warnings().length, 1)
})

const ASK = (token: string): string => `GET /v1/key HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`
const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

/** A header of version 2. @param family 0x11 for TCP over IPv4, 0x21 over IPv6. */
function v2(family: number, rest: Buffer, command = 1): Buffer {
  const fixed = Buffer.from([0x20 | command, family, 0, 0])
  fixed.writeUInt16BE(rest.length, 2)
  return Buffer.concat([SIGNATURE, fixed, rest])
}

const ipv4 = (last: number): Buffer => Buffer.from([203, 0, 113, last, 192, 0, 2, 1, 0x10, 0, 0, 80])
const ipv6 = (text: string): Buffer => Buffer.from(`${text.replaceAll(':', '')}${'00'.repeat(16)}10000050`, 'hex')

t.test('PROXY headers of both versions name the caller', async (t) => {
  const { gateway } = await facingStrangers(
    t,
    'auth_failures: { burst: 1, per_minute: 60 }, trusted_proxies: [ 127.0.0.1 ], proxy_protocol: true',
  )
  const told = /^HTTP\/1\.1 (\d+)/
  const answer = async (header: string | Buffer, token: string, bytewise = false): Promise<number> => {
    const client = await RawClient.open(gateway.url)
    const all = Buffer.concat([Buffer.from(header), Buffer.from(ASK(token))])
    if (bytewise) for (const byte of all) client.send(Buffer.from([byte]))
    else client.send(all)
    return Number((await client.until(told)) && told.exec(client.text)?.[1])
  }
  const line = (address: string): string => `PROXY TCP4 ${address} 192.0.2.1 4711 80\r\n`
  t.equal(await answer(line('203.0.113.1'), old('0')), 401)
  t.equal(await answer(line('203.0.113.1'), old('0')), 429)
  t.equal(await answer(line('203.0.113.2'), old('0'), true), 401, 'also byte by byte')
  t.equal(await answer(line('203.0.113.1'), gateway.key, true), 200)
  t.equal(await answer(v2(0x11, ipv4(1)), old('0')), 429, 'the same caller')
  t.equal(await answer(v2(0x11, ipv4(3)), old('0'), true), 401)
  t.equal(await answer(v2(0x11, Buffer.concat([ipv4(4), Buffer.from([4, 0, 1, 0])])), gateway.key), 200, 'extensions are skipped')
  t.equal(await answer(v2(0x21, ipv6('2001:0db8:0001:0002:0000:0000:0000:0001')), old('0')), 401)
  t.equal(await answer('PROXY TCP6 2001:db8:1:2::9 ::1 4711 80\r\n', old('0')), 429)
  t.equal(await answer('PROXY UNKNOWN\r\n', gateway.key), 200)
  t.equal(await answer(v2(0x00, Buffer.alloc(0), 0), gateway.key), 200, "the balancer's own check")
})

t.test('a connection that does not begin with the header is closed', async (t) => {
  const { gateway, clock } = await facingStrangers(t, 'trusted_proxies: [ 127.0.0.1 ], proxy_protocol: true')
  const wrong: (string | Buffer)[] = [
    ASK(gateway.key),
    'PROXY TCP4 not-an-address 192.0.2.1 1 2\r\n',
    'PROXY TCP4 2001:db8::1 192.0.2.1 1 2\r\n',
    `PROXY TCP4 203.0.113.1 ${'1'.repeat(100)}\r\n`,
    v2(0x11, Buffer.alloc(3)),
    v2(0x11, Buffer.alloc(5000)),
    Buffer.concat([SIGNATURE, Buffer.from([0x31, 0x11, 0, 12]), ipv4(1)]),
  ]
  await every(t, 'every bytes', async (t) => {
    for (const bytes of wrong) {
      const client = (await RawClient.open(gateway.url)).send(bytes)
      await client.closed()
      t.equal(client.text, '', String(bytes).slice(0, 30))
    }
  })
  const silent = (await RawClient.open(gateway.url)).send('PROXY TCP4 203')
  await clock.advance(10_000)
  await silent.closed()
  t.equal(silent.text, '', 'nor one that begins it and stops')
})

t.test('without proxy_protocol the header is no request', async (t) => {
  const { gateway } = await facingStrangers(t, 'trusted_proxies: [ 127.0.0.1 ]')
  const client = (await RawClient.open(gateway.url)).send(`PROXY TCP4 203.0.113.1 192.0.2.1 4711 80\r\n${ASK(gateway.key)}`)
  await client.closed()
  t.match(client.text, /^HTTP\/1\.1 400/)
})

t.test('proxy_protocol needs to know whose header to believe', async (t) => {
  await t.rejects(startGateway(`server: { proxy_protocol: true }${MODEL}`), {
    message: /server\.proxy_protocol: expected server\.trusted_proxies/,
  })
  await t.rejects(startGateway(`server: { trusted_proxies: [ "10.0.0.0/33" ] }${MODEL}`), {
    message: /trusted_proxies.*expected an IP address/,
  })
})
