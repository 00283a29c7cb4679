/** Pace at which callers have to take what waits for them: on a stand-in connection, since the system takes bytes in large steps. */
import type { ServerResponse } from 'node:http'
import t from 'tap'
import { ReadingWatch } from '../../src/server/http-connection.ts'
import { FakeClock } from '../support/clock.ts'
import { every } from '../support/every.ts'

const MINUTE = 60_000
/** Bytes that a caller has to take in a minute. */
const ENOUGH = 16 * 1024 * 60

interface Standing {
  clock: FakeClock
  watch: ReadingWatch
  /** Node's count of the connection: bytes that were written, and of those the bytes that wait. */
  socket: { bytesWritten: number; writableLength: number }
  response: { socket: Standing['socket'] | null; destroyed: boolean }
  take(bytes: number): void
}

function standing(waiting = 100_000_000): Standing {
  const clock = new FakeClock()
  const socket = { bytesWritten: waiting, writableLength: waiting }
  const response = {
    socket: socket as Standing['socket'] | null,
    destroyed: false,
    writableFinished: false,
    writableLength: waiting,
    destroy: () => {
      response.destroyed = true
    },
  }
  const watch = new ReadingWatch(response as unknown as ServerResponse, clock)
  return {
    clock,
    watch,
    socket,
    response,
    take: (bytes) => {
      socket.writableLength -= bytes
    },
  }
}

t.test('a caller that takes nothing is cut off after a minute, and not before', async (t) => {
  const { clock, watch, response } = standing()
  watch.begin()
  await clock.advance(MINUTE - 1)
  t.equal(response.destroyed, false)
  await clock.advance(1)
  t.equal(response.destroyed, true)
  t.same(clock.waiting, [])
})

t.test('from a minute on 16 KB per second are required on average', async (t) => {
  const enough = standing()
  enough.watch.begin()
  enough.take(ENOUGH)
  await enough.clock.advance(MINUTE)
  t.equal(enough.response.destroyed, false)
  const less = standing()
  less.watch.begin()
  less.take(ENOUGH - 1)
  await less.clock.advance(MINUTE - 1)
  t.equal(less.response.destroyed, false)
  await less.clock.advance(1)
  t.equal(less.response.destroyed, true)
})

t.test('what was taken before makes time for what follows', async (t) => {
  const { clock, watch, response, take } = standing()
  watch.begin()
  take(3 * ENOUGH)
  await every(t, 'every round', async (t) => {
    for (let minute = 0; minute < 3; minute++) {
      await clock.advance(MINUTE - 1)
      t.equal(response.destroyed, false)
      take(1)
    }
  })
  await clock.advance(4)
  t.equal(response.destroyed, true, 'three minutes')
  const silent = standing()
  silent.watch.begin()
  silent.take(100 * ENOUGH)
  await silent.clock.advance(MINUTE)
  t.equal(silent.response.destroyed, false)
  await silent.clock.advance(MINUTE)
  t.equal(silent.response.destroyed, true, 'but a minute without a byte has none')
})

t.test('a caller that takes 150 KB every 15 seconds is cut off after a minute', async (t) => {
  const { clock, watch, response, take } = standing()
  watch.begin()
  await every(t, 'every round', async (t) => {
    for (let at = 0; at < 4; at++) {
      t.equal(response.destroyed, false)
      take(150_000)
      await clock.advance(15_000)
    }
  })
  t.equal(response.destroyed, true)
})

t.test('waits add up, and the time between them does not count', async (t) => {
  const { clock, watch, response, socket, take } = standing(0)
  const wrong: string[] = []
  const wait = async (ms: number): Promise<void> => {
    socket.bytesWritten += 64 * 1024
    socket.writableLength += 64 * 1024
    if (!watch.begin()) wrong.push('the watch does not begin')
    if (watch.begin()) wrong.push('the watch begins twice')
    await clock.advance(ms)
    if (response.destroyed) return
    take(64 * 1024)
    watch.end()
    if (clock.waiting.length > 0) wrong.push('a timer is left')
    await clock.advance(3_600_000)
  }
  for (let at = 0; at < 100; at++) await wait(3_500)
  t.equal(response.destroyed, false, 'more than 16 KB per second')
  for (let at = 0; at < 100 && !response.destroyed; at++) await wait(4_500)
  t.equal(response.destroyed, true, 'less')
  t.same(wrong, [])
})

t.test('a reply behind another one on its connection has no time of its own', async (t) => {
  const { clock, watch, response, socket } = standing()
  response.socket = null
  watch.begin()
  await clock.advance(10 * MINUTE)
  t.equal(response.destroyed, false)
  response.socket = socket
  await clock.advance(2 * MINUTE - 1)
  t.equal(response.destroyed, false)
  await clock.advance(1)
  t.equal(response.destroyed, true)
})

t.test('a reply whose next bytes are still to come has time', async (t) => {
  const { clock, watch, response } = standing(0)
  watch.begin()
  await clock.advance(10 * MINUTE)
  t.equal(response.destroyed, false)
  watch.end()
  t.same(clock.waiting, [])
})
