/** The end of the program: as npm runs it, as an old Node hands it over, hurried, late, and before it has begun. Runs with `npm run test:servers`. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseRows, type Row } from '../../support/crash/audit.ts'
import { freePorts, SECRET, writeConfiguration } from '../../support/crash/configuration.ts'
import { isFree, left, oldNode, processFamily, ROOT, runShell } from '../../support/crash/processes.ts'
import { foldChatStream } from '../../support/fold.ts'
import { type Program, runProgram, serveProgram } from '../../support/program.ts'
import { Gate, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { framesFor } from '../../support/wire.ts'

const STREAMS = 3

interface Drainable {
  file: string
  port: number
  admin: number
  /** Lets every stream go on after its first word. */
  gate: Gate
  upstream: Upstream
}

async function drainable(t: Test, server?: string): Promise<Drainable> {
  const gate = new Gate()
  const upstream = await startUpstream((seen) => {
    const frames = framesFor(seen.path, { text: ['first ', 'last'], usage: { input: 10, output: 2 } })
    const cut = frames.findIndex((frame) => frame.includes('last'))
    return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
  })
  t.teardown(() => upstream.close())
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  const [port, admin] = await freePorts(2)
  const timeouts = '{ idle: 60s, first_byte: 60s }'
  writeConfiguration(file, { port, admin, store: join(directory, 'ledger.db'), provider: upstream.url, server, timeouts })
  return { file, port, admin, gate, upstream }
}

interface Stream {
  id: string
  /** Rejects where the stream is cut. */
  rest: Promise<string>
}

/** A stream of which the first word has come. */
async function openStream({ port }: Drainable): Promise<Stream> {
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  while (!text.includes('first ')) text += decoder.decode((await reader.read()).value, { stream: true })
  const rest = (async (): Promise<string> => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return text
      text += decoder.decode(value, { stream: true })
    }
  })()
  rest.catch(() => {})
  return { id: String(response.headers.get('x-generation-id')), rest }
}

const openStreams = (scene: Drainable): Promise<Stream[]> => Promise.all(Array.from({ length: STREAMS }, () => openStream(scene)))

/** Rows of the ledger for these requests, read from the file once nobody owns it; the ledger must add up. */
async function rowsFor(t: Test, { file }: Drainable, streams: readonly Stream[]): Promise<(Row | undefined)[]> {
  const verified = runProgram(['ledger', 'verify', '--config', file])
  t.match(await verified.exited, { code: 0 }, 'the journal is intact')
  t.match(verified.out(), /, 0 open, .*: ok$/m)
  const exported = runProgram(['ledger', 'export', '--config', file])
  await exported.exited
  const rows = parseRows(exported.out())
  t.equal(new Set(rows.map((row) => row.id)).size, rows.length)
  return streams.map(({ id }) => rows.find((row) => row.id === id))
}

const readiness = async ({ admin }: Drainable): Promise<number> => (await fetch(`http://127.0.0.1:${admin}/readyz`)).status

/** Three open streams, one signal to the process that was started: they finish, and nothing is left. */
async function drains(t: Test, scene: Drainable, program: Program, signal: (pid: number) => void): Promise<void> {
  const pid = program.child.pid
  if (pid === undefined) throw new Error('no process')
  await program.until(/listens on/)
  const family = processFamily(pid)
  t.teardown(() => {
    for (const { pid } of left(family)) process.kill(pid, 'SIGKILL')
  })
  t.equal(await readiness(scene), 200)
  const streams = await openStreams(scene)
  signal(pid)
  await program.until(/draining 3 open/)
  t.equal(await readiness(scene), 503, 'not ready from the signal on')
  await t.rejects(openStream(scene), 'nothing new is taken')
  t.equal(left(family).length, family.length, 'all of it still runs')
  scene.gate.open()
  for (const { rest } of streams) {
    const text = await rest
    t.equal(foldChatStream(text).text, 'first last')
    t.match(text, /data: \[DONE\]\n\n$/)
  }
  t.match(await program.exited, { code: 0, signal: null })
  t.same(left(family), [], 'no process is left behind')
  t.ok(await isFree(scene.port), 'the port is free again')
  t.ok(await isFree(scene.admin))
  for (const row of await rowsFor(t, scene, streams)) t.match(row, { status: 'completed', cost_nano: 14_000 })
}

t.test('npm start, as a newcomer types it: a signal to npm drains', async (t) => {
  const started = await drainable(t)
  const program = runShell(`npm start -- --config ${started.file}`)
  await drains(t, started, program, (pid) => process.kill(pid, 'SIGTERM'))
})

t.test('npm start and Ctrl-C: the terminal tells every process of the group, npm tells its child again', async (t) => {
  const started = await drainable(t)
  const program = runShell(`npm start -- --config ${started.file}`, true)
  await drains(t, started, program, (pid) => process.kill(-pid, 'SIGINT'))
  t.notMatch(program.err(), /second signal/)
})

t.test('an old Node hands over to a newer one, and passes signals on', async (t) => {
  const started = await drainable(t)
  const command = [...oldNode(), join(ROOT, 'bin', 'headgate.js'), 'serve', '--config', started.file]
  const program = runShell(`exec ${command.map((word) => `'${word}'`).join(' ')}`)
  await program.until(/listens on/)
  program.child.kill('SIGHUP')
  await program.until(/configuration reloaded/)
  await drains(t, started, program, (pid) => process.kill(pid, 'SIGTERM'))
})

/** Serves with three open streams that will not end by themselves. */
async function stuck(t: Test, server: string): Promise<{ started: Drainable; program: Program; streams: Stream[] }> {
  const started = await drainable(t, server)
  const program = await serveProgram(['--config', started.file])
  t.teardown(() => program.child.kill('SIGKILL'))
  return { started, program, streams: await openStreams(started) }
}

async function cutButSettled(t: Test, started: Drainable, streams: readonly Stream[]): Promise<void> {
  for (const { rest } of streams) await t.rejects(rest, 'the stream is cut')
  for (const seen of started.upstream.requests) t.equal((await seen.closed).aborted, true, 'so is the provider')
  for (const row of await rowsFor(t, started, streams)) {
    t.match(row, { status: 'aborted', estimated: true }, 'as a caller that left')
    t.ok(row && row.cost_nano > 0 && row.cost_nano <= row.hold_nano, 'charged for what was relayed')
  }
}

t.test('a second signal hurries: streams are cut, and settled', async (t) => {
  const { started, program, streams } = await stuck(t, 'drain: 600s')
  program.child.kill('SIGTERM')
  await program.until(/draining 3 open/)
  t.equal(await readiness(started), 503)
  // Signals that come together count as one, so the second is repeated until it is heard.
  const again = setInterval(() => program.child.kill('SIGTERM'), 50)
  await program.until(/second signal/).finally(() => clearInterval(again))
  t.match(await program.exited, { code: 0, signal: null })
  await cutButSettled(t, started, streams)
})

t.test('when the grace time is over, streams are cut, and settled', async (t) => {
  const { started, program, streams } = await stuck(t, 'drain: 200ms')
  program.child.kill('SIGTERM')
  t.match(await program.exited, { code: 0, signal: null })
  t.notMatch(program.err(), /second signal/)
  await cutButSettled(t, started, streams)
})

t.test('a signal while it starts ends it, and the journal is intact', async (t) => {
  const started = await drainable(t)
  started.gate.open()
  const first = await serveProgram(['--config', started.file])
  const stream = await openStream(started)
  await stream.rest
  first.child.kill('SIGKILL')
  await first.exited
  for (const ms of [0, 150, 300, 450]) {
    const program = runProgram(['--config', started.file])
    const [ended] = await Promise.all([
      program.exited,
      new Promise((resolve) => setTimeout(resolve, ms)).then(() => program.child.kill('SIGTERM')),
    ])
    t.ok(ended.code === 0 || ended.signal === 'SIGTERM', `after ${ms} ms: ${JSON.stringify(ended)}`)
    t.notMatch(program.err(), /rror/)
  }
  t.ok(await isFree(started.port))
  const [row] = await rowsFor(t, started, [stream])
  t.match(row, { status: 'completed', cost_nano: 14_000 })
})
