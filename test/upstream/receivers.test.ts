/** In which order a call reports a reply: the head, its body in pieces, then one end and nothing more. */
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Fault } from '../../src/core/faults.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { AnswerOrError } from '../../src/pipeline/attempt/upstream-attempt.ts'
import { type BodyReceiver, type Receiver, UpstreamCall } from '../../src/services/upstream/call.ts'
import { JsonBody } from '../../src/services/upstream/json-body.ts'
import { Pools } from '../../src/services/upstream/pools.ts'
import { FakeClock } from '../support/clock.ts'
import { type Answer, Gate, startUpstream } from '../support/upstream.ts'

const TIMEOUTS = { connect: 5_000, firstByte: 6_000, idle: 7_000, total: 8_000 }

/** Writes down what it is called with; pieces of the body that follow each other are one. */
class Recorder implements Receiver {
  readonly calls: string[] = []
  readonly began = new Gate()
  readonly over = new Gate()

  head(status: number): this {
    this.calls.push(`head ${status}`)
    this.began.open()
    return this
  }

  data(chunk: Buffer): void {
    if (this.calls.at(-1)?.startsWith('data ')) this.calls.push(`${this.calls.pop()}${chunk}`)
    else this.calls.push(`data ${chunk}`)
  }

  end(): void {
    this.calls.push('end')
    this.over.open()
  }

  fail(fault: Fault): void {
    this.calls.push(`fail ${fault.code}`)
    this.over.open()
  }
}

/** Sends one request, whose reply goes to `receiver`. */
async function sent(t: Test, answer: Answer, receiver: Receiver) {
  const upstream = await startUpstream(() => answer)
  const pools = new Pools()
  t.teardown(() => Promise.all([pools.close(), upstream.close()]))
  const clock = new FakeClock()
  const call = new UpstreamCall(receiver, clock, TIMEOUTS)
  call.send(pools.for({ origin: upstream.url, connectTimeout: 5_000 }), { path: '/', headers: [], body: '{}' })
  return { call, clock, upstream }
}

const CASES: Readonly<Record<string, [answer: Answer, calls: string[]]>> = {
  'a whole reply': [{ body: ['{"a":', '1}'] }, ['head 200', 'data {"a":1}', 'end']],
  'a reply without a body': [{ status: 204, body: [] }, ['head 204', 'end']],
  'an error status': [{ status: 500, body: ['no'] }, ['head 500', 'data no', 'end']],
  'a compressed reply': [{ headers: { 'content-encoding': 'gzip' }, body: [gzipSync('plain')] }, ['head 200', 'data plain', 'end']],
  'an unknown coding': [{ headers: { 'content-encoding': 'rot13' }, body: ['x'] }, ['head 200', 'fail upstream_garbled']],
  'a reply that is cut': [{ body: ['half'], after: 'reset' }, ['head 200', 'data half', 'fail upstream_cut']],
  'no reply': [{ before: 'reset' }, ['fail upstream_cut']],
}

for (const [name, [answer, calls]] of Object.entries(CASES))
  t.test(name, async (t) => {
    const recorder = new Recorder()
    const { call } = await sent(t, answer, recorder)
    await recorder.over.opened
    call.fail(new Fault('upstream_silent'))
    call.abort()
    t.same(recorder.calls, calls)
  })

t.test('a call that is given up reports nothing more', async (t) => {
  const recorder = new Recorder()
  const { call, upstream } = await sent(t, { body: ['a'], after: 'stall' }, recorder)
  await recorder.began.opened
  const before = [...recorder.calls]
  call.abort()
  await upstream.requests[0].closed
  t.same(recorder.calls, before)
})

t.test('a call that is ended with a fault reports that one, once', async (t) => {
  const recorder = new Recorder()
  const { call, upstream } = await sent(t, { body: [], after: 'stall' }, recorder)
  await recorder.began.opened
  call.fail(new Fault('deadline'))
  call.fail(new Fault('upstream_silent'))
  await upstream.requests[0].closed
  t.same(recorder.calls, ['head 200', 'fail deadline'])
})

/** Receivers behind `AnswerOrError` get bodies only. */
class Body implements BodyReceiver {
  readonly calls: string[] = []
  readonly over = new Gate()
  private readonly body = new JsonBody(16)

  data(chunk: Buffer): void {
    if (!this.body.push(chunk)) this.calls.push('too long')
  }

  end(): void {
    let body: JsonObject
    try {
      body = this.body.parse()
    } catch (thrown) {
      this.fail(thrown as Fault)
      return
    }
    this.calls.push(JSON.stringify(body))
    this.over.open()
  }

  fail(fault: Fault): void {
    this.calls.push(`fail ${fault.code} ${fault.retryAfter ?? ''}`.trim())
    this.over.open()
  }
}

const long = 'x'.repeat(70_000)
const ANSWERS: Readonly<Record<string, [answer: Answer, calls: string[]]>> = {
  'an answer': [{ body: ['{"a"', ':1}'] }, ['{"a":1}']],
  'an answer beyond the limit': [{ body: [`{"a":"${'b'.repeat(20)}"}`] }, ['too long', 'fail upstream_empty']],
  'an empty answer': [{ body: [] }, ['fail upstream_empty']],
  'an answer that is no object': [{ body: ['[1]'] }, ['fail upstream_garbled']],
  'an error': [{ status: 429, headers: { 'retry-after': '7' }, body: ['{}'] }, ['fail upstream_limited 7']],
  'an error that is cut': [{ status: 429, body: ['{'], after: 'reset' }, ['fail upstream_limited']],
  'an error without end': [{ status: 429, body: [long], after: 'stall' }, ['fail upstream_limited']],
  'an answer that is cut': [{ body: ['{'], after: 'reset' }, ['fail upstream_cut']],
}

for (const [name, [answer, calls]] of Object.entries(ANSWERS))
  t.test(`of an answer or an error: ${name}`, async (t) => {
    const body = new Body()
    const clock = new FakeClock()
    const receiver = new AnswerOrError(body, {
      clock,
      accepts: (status) => status === 200,
      dialect: { decodeFault: (status) => new Fault(status === 429 ? 'upstream_limited' : 'upstream_error') },
    })
    const { call } = await sent(t, answer, receiver)
    await body.over.opened
    call.abort()
    t.same(body.calls, calls)
  })
