import { spawnSync } from 'node:child_process'
import t, { Test, type TestOpts } from 'tap'
import { FakeClock } from './clock.ts'
import { eventually, realTime, startWatch, steady } from './eventually.ts'
import { every } from './every.ts'
import { foldChat, foldChatStream, foldResponse, foldResponseStream, parseStream } from './fold.ts'
import { foldMessage, foldMessageStream } from './fold-messages.ts'
import { lanesBetween } from './lanes.ts'
import { ofAll, ofChildren } from './processor-time.ts'
import { parseReply, RawClient, rawExchange } from './raw.ts'
import { type FileEnd, Report } from './report.ts'
import { Gate, REFUSING_URL, SSE_TYPE, sseAnswer, startUpstream } from './upstream.ts'
import { framesFor, replyFor, says, type Utterance } from './wire.ts'

const UTTERANCES: readonly Utterance[] = [
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
  for (const utterance of UTTERANCES) {
    const chat = foldChat(replyFor('/chat/completions', utterance))
    t.same(foldChatStream(framesFor('/chat/completions', utterance).join('')), chat)
    const response = foldResponse(replyFor('/responses', utterance))
    t.same(foldResponseStream(`${framesFor('/responses', utterance).join('')}data: [DONE]\n\n`), response)
    t.same({ ...response, end: END[response.end] }, { ...chat, end: END[chat.end] })
    t.equal(chat.text, utterance.text?.join('') ?? '')
  }
  for (const utterance of [...UTTERANCES, { reasoning: ['hm'], signature: 'sig', text: ['so'], sequence: 'END' }]) {
    const message = foldMessage(replyFor('/v1/messages', utterance))
    t.same(foldMessageStream(framesFor('/v1/messages', utterance).join('')), message)
    t.equal(message.text, utterance.text?.join('') ?? '')
    t.equal(message.calls.length, utterance.calls?.length ?? 0)
  }
  t.throws(() => foldMessageStream(framesFor('/v1/messages', UTTERANCES[0]).slice(0, -1).join('')), /without message_stop/)
  t.throws(() => foldMessageStream(framesFor('/v1/messages', UTTERANCES[0]).slice(1).join('')), /before message_start/)
  t.throws(() => parseStream('data: {}\n\n'), /does not end with/)
})

t.test('lanes of a pair', async (t) => {
  t.same(lanesBetween('chat', 'openai-chat'), ['pass', 'observe', 'translate'])
  t.same(lanesBetween('chat', 'openai-responses'), ['translate'])
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
  await t.rejects(fetch(REFUSING_URL))
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

t.test('the report counts assertions and shows what failed', async (t) => {
  const run = (tap: string | undefined, end: Partial<FileEnd> = {}): { lines: string[]; exit: number } => {
    const lines: string[] = []
    const report = new Report({ out: (line) => lines.push(line) })
    if (tap !== undefined) {
      const file = report.file('a.test.ts')
      file.write(Buffer.from(`TAP version 14\n${tap}`))
      file.end({ code: 0, ...end })
    }
    return { exit: report.close(), lines }
  }
  const good = run('# lanes: pass 2, translate 3\nok 1 - one\nok 2 - two\n1..2\n')
  t.same(good, { exit: 0, lines: ['ok      a.test.ts  2', '# lanes: pass 2, translate 3', '2 passed, 0 failed'] })
  const bad = run('ok 1 - one\nnot ok 2 - two\n  ---\n  diff: |\n    -a\n    +b\n  ...\n1..2\n', { code: 1 })
  t.equal(bad.exit, 1)
  t.match(bad.lines.join('\n'), /not ok {2}a\.test\.ts > two\n {4}-a\n {4}\+b/)
  t.equal(bad.lines.at(-1), '1 passed, 1 failed')
  t.equal(run('ok 1 - one\nok 2 - two # SKIP later\n1..2\n').lines.at(-1), '1 passed, 0 failed, 1 skipped')
  t.same(run(undefined), { exit: 1, lines: ['not ok  nothing ran', '0 passed, 1 failed'] }, 'nothing ran')
  const nested = run('# Subtest: x\n    ok 1 - one\n    ok 2 - two\n    1..2\nok 1 - x\n1..1\n')
  t.equal(nested.lines.at(-1), '2 passed, 0 failed', 'the line of a test that holds others is none of its own')
  t.equal(run('1..0 # no tests found\n').lines.at(-1), '0 passed, 1 failed', 'a file without tests')
  const [skipped, whole] = [run('1..0 # SKIP no Redis here\n'), run('ok 1 - one\n')]
  t.equal(skipped.lines[0], 'ok      a.test.ts  0', 'a file that needs what is missing')
  t.equal(skipped.exit, 0, 'a run of such files alone')
  t.equal(whole.lines.at(-1), '1 passed, 1 failed', 'a file that stops in the middle')
  const crash = run('ok 1 - one\n1..1\n', { code: 3 })
  t.match(crash.lines.join('\n'), /exited with code 3/)
  t.equal(crash.lines.at(-1), '1 passed, 1 failed', 'a crash after the assertions')
  t.match(run('ok 1 - one\n', { code: null, signal: 'SIGKILL', expired: '120 s' }).lines.join('\n'), /timed out: 120 s/)
})

t.test('the report of many files shows which took longest, and which took most of the processor', (t) => {
  const lines: string[] = []
  const report = new Report({ out: (line) => lines.push(line) })
  for (let number = 1; number <= 13; number++) {
    const file = report.file(`${number}.test.ts`)
    file.write('TAP version 14\nok 1 - one\n1..1\n')
    file.end({ code: 0, time: number * 1000, processor: number === 1 ? 9000 : 100 })
  }
  report.close()
  t.match(lines.join('\n'), /^# slowest: 13\.test\.ts 13\.0 s, 12\.test\.ts 12\.0 s, /m)
  t.match(lines.join('\n'), /^# processor time: 10\.2 s in all, most of it: 1\.test\.ts 9\.0 s, 2\.test\.ts 0\.1 s, /m)
  t.end()
})

t.test('a file that runs again counts once, and the report names it', (t) => {
  const lines: string[] = []
  const report = new Report({ out: (line) => lines.push(line) })
  const ran = (name: string, tap: string, code: number): void => {
    const file = report.file(name)
    file.write(`TAP version 14\n${tap}1..1\n`)
    file.end({ code })
  }
  ran('a.test.ts', 'not ok 1 - one\n', 1)
  ran('b.test.ts', 'not ok 1 - one\n', 1)
  t.same(report.failedFiles(), ['a.test.ts', 'b.test.ts'])
  ran('a.test.ts', 'ok 1 - one\n', 0)
  ran('b.test.ts', 'not ok 1 - one\n', 1)
  t.same(report.failedFiles(), ['b.test.ts'])
  t.equal(report.close(), 1)
  t.match(lines.join('\n'), /^not ok {2}a\.test\.ts > one/m, 'the first failure stays in sight')
  t.same(lines.slice(-2), ['# failed beside others, passed when run again alone: a.test.ts', '1 passed, 1 failed'])
  t.end()
})

t.test('the processor time of a program that has ended counts as that of whoever started it', (t) => {
  const [children, all] = [ofChildren(), ofAll()]
  spawnSync(process.execPath, ['-e', 'while (process.cpuUsage().user < 200_000);'])
  t.ok(ofChildren() - children >= 200, `${ofChildren() - children} ms`)
  t.ok(ofAll() - all >= 200)
  t.end()
})

t.test('a watch does not count the time in which the process gets no turn', async (t) => {
  const [watch, from] = [startWatch(), performance.now()]
  while (performance.now() - from < 300);
  t.ok(watch() < 50, `${watch()} ms of 300`)
  const [slow, begun] = [realTime(100), performance.now()]
  while (performance.now() - begun < 200);
  await slow
  t.ok(performance.now() - begun >= 280, 'a time that is waited for lasts longer')
})

t.test('a loop asserts once, and shows its rounds where one fails', async (t) => {
  const options: TestOpts = { name: 'outer' }
  const outer = new Test(options)
  let tap = ''
  outer.on('data', (text) => {
    tap += String(text)
  })
  await every(outer, 'all are small', (t) => {
    for (const number of [1, 2, 3]) t.ok(number < 4)
  })
  await every(outer, 'all are even', (t) => {
    for (const number of [2, 3]) t.equal(number % 2, 0, `${number}`)
  })
  await every(outer, 'none', () => undefined)
  outer.end()
  t.same(
    tap.match(/^ *(?:not )?ok \d+ - [^#\n]*/gm)?.map((line) => line.trimEnd()),
    ['ok 1 - all are small', '    ok 1 - 2', '    not ok 2 - 3', 'not ok 2 - all are even', 'not ok 3 - none: no round asserts anything'],
  )
})
