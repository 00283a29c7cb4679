import t from 'tap'
import { FakeClock } from './clock.ts'
import { eventually, steady } from './eventually.ts'
import { eventsOf, foldChat, foldChatStream, foldResponse, foldResponseStream } from './fold.ts'
import { foldMessage, foldMessageStream } from './fold-messages.ts'
import { lanesOf } from './lanes.ts'
import { parseReply, RawClient, rawExchange } from './raw.ts'
import { Report } from './report.ts'
import { Gate, refusingUrl, SSE_TYPE, sseAnswer, startUpstream } from './upstream.ts'
import { framesFor, replyFor, type Said, says } from './wire.ts'

const SAID: readonly Said[] = [
  { text: ['Hel', 'lo ', 'wörld'] },
  { reasoning: ['think', 'ing'], text: ['so'] },
  {
    calls: [
      { id: 'call_1', name: 'one', args: ['{"a"', ':1}'] },
      { id: 'call_2', name: 'two', args: ['{}'] },
    ],
  },
  { refusal: ['no', ' thanks'] },
  { text: ['cut'], end: 'length' },
]

/** The same words for the end in both dialects. */
const END: Readonly<Record<string, string>> = {
  completed: 'stop',
  'incomplete: max_output_tokens': 'length',
  tool_calls: 'stop',
  stop: 'stop',
  length: 'length',
}

t.test('both wires and both ways of folding say the same', async (t) => {
  for (const said of SAID) {
    const chat = foldChat(replyFor('/chat/completions', said))
    t.same(foldChatStream(framesFor('/chat/completions', said).join('')), chat)
    const response = foldResponse(replyFor('/responses', said))
    t.same(foldResponseStream(`${framesFor('/responses', said).join('')}data: [DONE]\n\n`), response)
    t.same({ ...response, end: END[response.end] }, { ...chat, end: END[chat.end] })
    t.equal(chat.text, said.text?.join('') ?? '')
  }
  for (const said of [...SAID, { reasoning: ['hm'], signature: 'sig', text: ['so'], sequence: 'END' }]) {
    const message = foldMessage(replyFor('/v1/messages', said))
    t.same(foldMessageStream(framesFor('/v1/messages', said).join('')), message)
    t.equal(message.text, said.text?.join('') ?? '')
    t.equal(message.calls.length, said.calls?.length ?? 0)
  }
  t.throws(() => foldMessageStream(framesFor('/v1/messages', SAID[0]).slice(0, -1).join('')), /without message_stop/)
  t.throws(() => foldMessageStream(framesFor('/v1/messages', SAID[0]).slice(1).join('')), /before message_start/)
  t.throws(() => eventsOf('data: {}\n\n'), /does not end with/)
})

t.test('lanes of a pair', async (t) => {
  t.same(lanesOf('chat', 'openai-chat'), ['pass', 'observe', 'translate'])
  t.same(lanesOf('chat', 'openai-responses'), ['translate'])
})

t.test('the clock moves only when told', async (t) => {
  const clock = new FakeClock(7)
  const fired: string[] = []
  clock.after(20, () => fired.push('b'))
  clock.after(10, () => {
    fired.push('a')
    clock.after(5, () => fired.push('nested'))
  })
  clock.after(30, () => fired.push('never')).cancel()
  const armed = clock.armed(99)
  await clock.advance(25)
  t.same(fired, ['a', 'nested', 'b'])
  clock.after(99, () => undefined)
  await armed
  t.same(clock.waiting, [99])
  t.same([clock.monotonic(), clock.now() - new FakeClock().now()], [25, 25])
  const again = new FakeClock(7)
  t.same([clock.random(), clock.random()], [again.random(), again.random()])
})

t.test('what comes in its own time is awaited, and what never comes is named', async (t) => {
  let looks = 0
  t.equal(await eventually('the third look', () => (++looks === 3 ? 'there' : undefined)), 'there')
  t.equal(await eventually('a count', async () => 0), 0, 'a zero is something')
  const never = eventually('the end of time', () => false, { limit: 1, found: () => [1] })
  await t.rejects(never, { message: 'not within 0.001 s: the end of time; found [1]' })
  let bytes = 0
  const flow = setInterval(() => {
    if (++bytes === 20) clearInterval(flow)
  })
  await steady(() => bytes)
  t.equal(bytes, 20)
})

t.test('the upstream misbehaves as scripted and keeps a record', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream(says({ text: ['hi'] }))
  t.teardown(() => upstream.close())
  const post = (): Promise<Response> => fetch(`${upstream.url}/v1/chat/completions`, { method: 'POST', body: '{"stream":true}' })
  t.equal(foldChatStream(await (await post()).text()).text, 'hi')
  const first = await upstream.request(0)
  t.same(first.json, { stream: true })
  t.equal((await first.closed).aborted, false)

  upstream.script = () => ({ before: 'reset' })
  await t.rejects(post())
  upstream.script = () => sseAnswer(['data: 1\n\n'], { after: 'close' })
  await t.rejects(post().then((response) => response.text()))
  upstream.script = () => sseAnswer(['data: ä\n\n', 'data: 2\n\n'], { lineEnd: '\r', split: 1, gzip: true })
  t.equal(await (await post()).text(), 'data: ä\r\rdata: 2\r\r')

  upstream.script = () => ({ headers: SSE_TYPE, body: ['data: 1\n\n', gate.step, 'data: 2\n\n'], after: 'stall' })
  const aborter = new AbortController()
  const stalled = await fetch(upstream.url, { method: 'POST', body: '{}', signal: aborter.signal })
  const seen = await upstream.request(4)
  t.equal(stalled.status, 200)
  aborter.abort()
  t.equal((await seen.closed).aborted, true)
  gate.open()
  await t.rejects(fetch(await refusingUrl()))
})

t.test('raw bytes go out and come back', async (t) => {
  const upstream = await startUpstream(() => ({ headers: { 'content-type': 'text/plain' }, body: ['some', 'thing'] }))
  t.teardown(() => upstream.close())
  const request = 'POST /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}'
  const reply = parseReply(await rawExchange(upstream.url, request))
  t.same([reply.status, reply.headers.get('content-type'), reply.body], [200, 'text/plain', 'something'])
  const client = await RawClient.open(upstream.url)
  client.send(request.slice(0, 30)).send(request.slice(30)).halfClose()
  t.match(await client.until(/thing/), /200 OK/)
  await t.rejects(client.until(/never/), /closed before/)
  client.close()
})

t.test('the report counts assertions and tells what failed', async (t) => {
  const run = (tap: string, code: number): { lines: string[]; exit: number } => {
    const lines: string[] = []
    const report = new Report({ out: (line) => lines.push(line) })
    report.write(Buffer.from(tap))
    return { exit: report.close(code), lines }
  }
  const file = (body: string, ok: boolean): string =>
    `TAP version 14\n# Subtest: a.test.ts\n${body}${ok ? 'ok' : 'not ok'} 1 - a.test.ts\n1..1\n`
  const good = run(file('    # lanes: pass 2, translate 3\n    ok 1 - one\n    ok 2 - two\n    1..2\n', true), 0)
  t.same(good, { exit: 0, lines: ['ok      a.test.ts  2', '# lanes: pass 2, translate 3', '2 passed, 0 failed'] })
  const bad = run(
    file('    ok 1 - one\n    not ok 2 - two\n      ---\n      diff: |\n        -a\n        +b\n      ...\n    1..2\n', false),
    1,
  )
  t.equal(bad.exit, 1)
  t.match(bad.lines.join('\n'), /not ok {2}a\.test\.ts > two\n {4}-a\n {4}\+b/)
  t.equal(bad.lines.at(-1), '1 passed, 1 failed')
  t.equal(run(file('    ok 1 - one\n    ok 2 - two # SKIP later\n    1..2\n', true), 0).lines.at(-1), '1 passed, 0 failed, 1 skipped')
  t.same(run('', 0), { exit: 1, lines: ['not ok  nothing ran', '0 passed, 1 failed'] }, 'nothing ran')
  t.equal(run(file('    ok 1 - one\n    1..1\n', true), 7).lines.at(-1), '1 passed, 1 failed', 'tap itself fails')
  const empty = run('TAP version 14\nok 1 - a.test.ts # SKIP no tests found\n1..1\n', 0)
  t.equal(empty.lines.at(-1), '0 passed, 1 failed', 'a file without tests')
  const crash = run(
    file('    ok 1 - one\n    1..1\n', false).replace('not ok 1 - a.test.ts', 'not ok 1 - a.test.ts\n  ---\n  exitCode: 3\n  ...'),
    1,
  )
  t.match(crash.lines.join('\n'), /exited with code 3/)
  t.equal(crash.lines.at(-1), '1 passed, 1 failed', 'a crash after the assertions')
})
