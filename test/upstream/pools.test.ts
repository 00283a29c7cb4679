/** Connections to one provider: a free one is used again, a busy one never, and those that have closed are forgotten. */
import t, { type Test } from 'tap'
import type { Dispatcher } from 'undici'
import { NameLookups } from '../../src/core/name-lookups.ts'
import { MAX_IDLE } from '../../src/machines/http1-client/whole-requests.ts'
import { type ConnectionPool, Pools } from '../../src/services/upstream/pools.ts'
import { eventually } from '../support/eventually.ts'
import { type RawUpstream, startRawUpstream } from '../support/raw-upstream.ts'
import { REFUSING_URL } from '../support/upstream.ts'

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

interface Call {
  /** Resolves with the body, or rejects. */
  done: Promise<string>
  abort(): void
}

function ask(pool: ConnectionPool, path = '/', headers: Record<string, string> = {}): Call {
  let controller: Dispatcher.DispatchController | undefined
  const done = new Promise<string>((resolve, reject) => {
    let body = ''
    pool.begin(
      { method: 'GET', path, headers, body: null, isRelayed: true },
      {
        onRequestStart: (given) => {
          controller = given
        },
        onResponseStart: () => undefined,
        onResponseData: (_controller, chunk) => {
          body += chunk
        },
        onResponseEnd: () => resolve(body),
        onResponseError: (_controller, error) => reject(error),
      },
    )
  })
  return { done, abort: () => controller?.abort(new Error('aborted')) }
}

async function scene(t: Test, answer: RawUpstream['answer'] = () => OK): Promise<{ upstream: RawUpstream; pool: ConnectionPool }> {
  const upstream = await startRawUpstream(answer)
  const pools = new Pools()
  t.teardown(async () => {
    await pools.close()
    await upstream.close()
  })
  return { upstream, pool: pools.for({ origin: upstream.url, connectTimeout: 5_000 }) }
}

t.test('one call after the other uses one connection', async (t) => {
  const { upstream, pool } = await scene(t)
  for (let i = 0; i < 5; i++) {
    t.equal(await ask(pool).done, 'ok')
    await eventually('one connection is idle', () => pool.idleCount === 1)
  }
  t.equal(upstream.accepted, 1)
  t.equal(pool.made, 1)
})

t.test('a connection with a request takes no second one, and is used again after it', async (t) => {
  const { upstream, pool } = await scene(t, () => undefined)
  const calls = Array.from({ length: 40 }, (_, index) => ask(pool, `/${index}`))
  await upstream.request(39)
  t.equal(new Set(upstream.requests.map(({ socket }) => socket)).size, 40)
  t.equal(pool.size, 40)
  for (const socket of upstream.sockets) socket.write(OK)
  t.same(await Promise.all(calls.map(({ done }) => done)), Array(40).fill('ok'))
  await eventually('40 connections are idle', () => pool.idleCount === 40)
  upstream.answer = () => OK
  await Promise.all(Array.from({ length: 40 }, () => ask(pool).done))
  t.equal(upstream.accepted, 40, 'none was opened anew')
})

t.test('connections that the provider closes are forgotten, idle or not', async (t) => {
  const { upstream, pool } = await scene(t)
  await Promise.all(Array.from({ length: 20 }, () => ask(pool).done))
  await eventually('20 connections are idle', () => pool.idleCount === 20)
  for (const socket of upstream.sockets) socket.end()
  await eventually('no connection is left', () => pool.size === 0)
  t.equal(pool.idleCount, 0)
  upstream.answer = (_request, socket) => {
    socket.resetAndDestroy()
    return undefined
  }
  await t.rejects(ask(pool).done)
  await eventually('no connection is left', () => pool.size === 0)
  upstream.answer = () => 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok'
  t.equal(await ask(pool).done, 'ok')
  await eventually('no connection is left', () => pool.size === 0)
  upstream.answer = () => OK
  t.equal(await ask(pool).done, 'ok')
})

t.test('of a burst only so many connections stay', async (t) => {
  const { pool } = await scene(t)
  await Promise.all(Array.from({ length: MAX_IDLE + 40 }, () => ask(pool).done))
  await eventually('the most idle connections are left', () => pool.size === MAX_IDLE)
  t.equal(pool.idleCount, MAX_IDLE)
})

t.test('requests that fail before they are sent leave nothing behind', async (t) => {
  const { upstream, pool } = await scene(t)
  await t.rejects(ask(pool, 'no path').done, { code: 'UND_ERR_INVALID_ARG' })
  await t.rejects(ask(pool, '/', { 'x-bad': 'a\nb' }).done, { code: 'UND_ERR_INVALID_ARG' })
  t.equal(pool.size, 0)
  t.equal(await ask(pool).done, 'ok', 'the next one is served')
  await eventually('one connection is idle', () => pool.idleCount === 1)
  await t.rejects(ask(pool, 'no path').done)
  t.equal(await ask(pool).done, 'ok')
  t.equal(upstream.requests.length, 2)
  const pools = new Pools()
  const nobody = pools.for({ origin: REFUSING_URL, connectTimeout: 5_000 })
  await t.rejects(ask(nobody).done, { code: 'ECONNREFUSED' })
  t.equal(nobody.size, 0)
  await pools.close()
  await t.rejects(ask(nobody).done, { code: 'UND_ERR_DESTROYED' }, 'and after the end nothing is opened')
})

t.test('a call that is given up takes its connection along', async (t) => {
  const { upstream, pool } = await scene(t, () => undefined)
  const call = ask(pool)
  await upstream.request(0)
  call.abort()
  await t.rejects(call.done)
  await eventually('no connection is left on either side', () => pool.size === 0 && upstream.sockets.size === 0)
  upstream.answer = () => OK
  t.equal(await ask(pool).done, 'ok')
})

t.test('a request that is given up while its connection is made leaves at once, with its body', async (t) => {
  const waiting: string[] = []
  const names = new NameLookups({ system: (host) => void waiting.push(host), servers: async () => [] })
  const pools = new Pools({ names })
  t.teardown(() => pools.close())
  const pool = pools.for({ origin: 'http://silent.test', connectTimeout: 60_000 })
  for (const method of ['POST', 'GET'] as const) {
    const ended = new Promise<Error>((resolve) => {
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: () => undefined,
        onResponseData: () => undefined,
        onResponseEnd: () => undefined,
        onResponseError: (_controller, error) => resolve(error),
      }
      const started = pool.begin({ method, path: '/', headers: [], body: method === 'POST' ? '{}' : null }, handler)
      if (method === 'POST') t.equal(started.phase, 'name', 'it says what it waits for')
      started.abort(new Error('given up'))
    })
    t.ok(await ended, method)
    await eventually('nothing is left', () => pool.size === 0)
  }
})
