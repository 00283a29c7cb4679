/** The program as a process: start, bad files, signals, and what a crash leaves behind. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { foldChatStream, parseStream } from '../../support/fold.ts'
import { oneModel } from '../../support/gateway.ts'
import { CHECKOUT_LAUNCHER } from '../../support/launcher.ts'
import { type Program, runProgram, serveProgram } from '../../support/program.ts'
import { runs } from '../../support/seed.ts'
import { type Answer, Gate, type Seen, sseAnswer, startUpstream } from '../../support/upstream.ts'
import { answerFor, framesFor } from '../../support/wire.ts'

const KEY = 'sk-router-v1-program00000000'
const ROOT = join(import.meta.dirname, '..', '..', '..')
const PORTS = 'server: { host: 127.0.0.1, port: 0 }\nadmin: { host: 127.0.0.1, port: 0 }\n'

function configuration(directory: string, upstream: string): string {
  const file = join(directory, 'headgate.yaml')
  const keys = `auth: { keys: [ { name: app, key: "${KEY}" } ] }\n`
  writeFileSync(file, `${PORTS}store: { url: "sqlite:${join(directory, 'ledger.db')}" }\n${keys}${oneModel(upstream, 'openai-chat')}`)
  return file
}

const ask = (url: string, body: JsonObject): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }], ...body }),
  })

t.test('the shipped configuration: the printed curl line answers', async (t) => {
  const directory = t.testdir()
  cpSync(join(ROOT, 'config'), directory, { recursive: true })
  const file = join(directory, 'headgate.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('port: 8080', 'port: 0').replace('port: 8081', 'port: 0'))
  // From its sources, as a clone runs; all other tests start the built program where there is one.
  const program = await serveProgram(['--config', file], { cwd: directory, launcher: CHECKOUT_LAUNCHER })
  t.teardown(() => program.child.kill('SIGKILL'))
  const [line] = await program.until(/^ {2}curl .*$/m)
  const [, url] = /(http:\S+)/.exec(line) ?? []
  const [, body] = /-d '(.*)'/.exec(line) ?? []
  const headers = Object.fromEntries([...line.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name, value]) => [name, value]))
  const response = await fetch(url, { method: 'POST', headers, body })
  t.equal(response.status, 200)
  t.equal(foldChatStream(await response.text()).text, 'Hello', 'the echo')
  const models = (await (await fetch(`${program.url}/v1/models`, { headers })).json()) as { data: { id: string }[] }
  for (const name of ['echo', 'story', 'tools', 'think', 'json'])
    t.ok(
      models.data.some((model) => model.id === `sim/${name}`),
      name,
    )
  program.child.kill('SIGTERM')
  t.match(await program.exited, { code: 0 })
})

t.test('an old Node can read the launcher, so that it can say what is missing', async (t) => {
  const source = readFileSync(join(ROOT, 'bin', 'headgate.js'), 'utf8')
  /** Exports that Node 18 has already; a newer one would be a syntax error there. */
  const old = new Set(['spawn', 'spawnSync', 'existsSync', 'fileURLToPath', 'dirname', 'join', 'createRequire', 'executionAsyncResource'])
  const names = [...source.matchAll(/^import \{([^}]*)\}/gm)].flatMap(([, list]) =>
    list.split(',').map((name) => name.trim().split(' ')[0]),
  )
  t.ok(names.length > 0)
  t.same(
    names.filter((name) => !old.has(name)),
    [],
  )
})

t.test('the development key is for this machine only', async (t) => {
  const directory = t.testdir()
  cpSync(join(ROOT, 'config'), directory, { recursive: true })
  const open = runProgram(['--config', join(directory, 'headgate.yaml'), '--host', '0.0.0.0', '--port', '0'], { cwd: directory })
  t.not((await open.exited).code, 0)
  t.match(open.err(), /key/i, 'it says why')
})

t.test('a program that does not start says why', async (t) => {
  const directory = t.testdir()
  const file = join(directory, 'broken.yaml')
  writeFileSync(file, `${PORTS}auth: { keys: [ { name: app, key: "sk-very-secret", limt: "1" } ] }\n`)
  for (const args of [
    ['check', file],
    ['serve', '--config', file],
  ]) {
    const broken = runProgram(args)
    t.not((await broken.exited).code, 0, args[0])
    t.match(broken.err(), /broken\.yaml:3:\d+: .*limt/)
    t.notMatch(broken.err() + broken.out(), /sk-very-secret|listens/)
  }
  const missing = runProgram(['--config', join(directory, 'none.yaml')])
  t.not((await missing.exited).code, 0)
  t.match(missing.err(), /none\.yaml/)
  const unknown = runProgram(['dance'])
  t.not((await unknown.exited).code, 0)
  const bare = runProgram(['check'])
  t.equal((await bare.exited).code, 2)
  t.match(bare.err(), /check: expected FILE/, 'a verb that is there says what it wants')

  const good = configuration(directory, 'http://127.0.0.1:1')
  const checked = runProgram(['check', good])
  t.equal((await checked.exited).code, 0)
  t.match(checked.out(), /ok, 1 provider, 1 model, 1 key/)

  const first = await serveProgram(['--config', good])
  t.teardown(() => first.child.kill('SIGKILL'))
  const second = runProgram(['--config', good])
  t.not((await second.exited).code, 0, 'the ledger has one owner')
  t.match(second.err(), /ledger\.db/)
  const port = new URL(first.url).port
  const third = runProgram(['--config', good, '--port', port])
  t.not((await third.exited).code, 0)
  t.equal((await fetch(`${first.admin}/healthz`)).status, 200, 'the first is unaffected')
})

t.test('SIGHUP reloads, SIGTERM drains', async (t) => {
  const gate = new Gate()
  const upstream = await startUpstream((seen) => {
    const frames = framesFor(seen.path, { text: ['one', 'two'] })
    const cut = frames.findIndex((frame) => frame.includes('"two"'))
    return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
  })
  t.teardown(() => upstream.close())
  const file = configuration(t.testdir(), upstream.url)
  const program = await serveProgram(['--config', file])
  t.teardown(() => program.child.kill('SIGKILL'))
  const live = await ask(program.url, { stream: true })
  writeFileSync(file, readFileSync(file, 'utf8').replace('acme/one:', 'acme/two:'))
  program.child.kill('SIGHUP')
  await program.until(/configuration reloaded/)
  t.equal((await ask(program.url, {})).status, 404, 'the new file counts')
  program.child.kill('SIGTERM')
  await program.until(/draining/)
  await t.rejects(ask(program.url, {}), 'nothing new')
  gate.open()
  t.equal(parseStream(await live.text()).length > 2, true, 'the open stream has its end')
  t.match(await program.exited, { code: 0, signal: null })
})

interface Row {
  id: string
  status: string
  usage: { input_tokens: number }
}

async function exported(file: string): Promise<Row[]> {
  const program = runProgram(['ledger', 'export', '--config', file])
  const { code } = await program.exited
  if (code !== 0) throw new Error(program.err())
  return program
    .out()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row)
}

/** Sends until the program is gone. */
async function load(url: string, gone: () => boolean): Promise<number> {
  let sent = 0
  while (!gone()) {
    try {
      await (await ask(url, { stream: sent % 2 === 0 })).text()
      sent++
    } catch {
      if (!gone()) throw new Error('the gateway failed while it was alive')
    }
  }
  return sent
}

t.test('killed under load, nothing is lost and nothing is there twice', async (t) => {
  /** Each answer reports an input of its own, so that a row tells which answer it is for. */
  const completed = new Set<number>()
  let serial = 1000
  const answer = (seen: Seen): Answer => {
    const input = serial++
    void seen.closed.then(() => {
      if (!seen.aborted) completed.add(input)
    })
    return answerFor(seen, { text: ['some', ' words'], usage: { input, output: 2 } })
  }
  const upstream = await startUpstream(answer)
  t.teardown(() => upstream.close())
  const file = configuration(t.testdir(), upstream.url)
  const rounds = runs(3, 20)
  for (let round = 0; round < rounds; round++) {
    const program: Program & { url: string } = await serveProgram(['--config', file])
    let gone = false
    const clients = Array.from({ length: 8 }, () => load(program.url, () => gone))
    await upstream.request(upstream.requests.length + 60 + round * 7)
    gone = true
    program.child.kill('SIGKILL')
    await Promise.all([...clients, program.exited])
  }
  const last = await serveProgram(['--config', file])
  last.child.kill('SIGTERM')
  await last.exited
  const rows = await exported(file)
  const known = rows.filter((row) => row.status === 'completed').map((row) => row.usage.input_tokens)
  const unknown = rows.filter((row) => row.status === 'unknown')
  t.ok(completed.size > rounds * 50, `${completed.size} answers were completed`)
  t.equal(new Set(known).size, known.length, 'no answer is recorded twice')
  t.equal(new Set(rows.map((row) => row.id)).size, rows.length, 'no generation is recorded twice')
  t.same(
    known.filter((input) => input < 1000 || input >= serial),
    [],
    'nothing is recorded that was not answered',
  )
  const lost = [...completed].filter((input) => !known.includes(input))
  t.ok(lost.length <= unknown.length, `${lost.length} answers without their settlement, ${unknown.length} generations settled as unknown`)
  t.ok(unknown.length <= rounds * 8, 'no more than were under way')
  t.ok(rows.length >= upstream.requests.length, 'every call to the provider has its row')
  const verified = runProgram(['ledger', 'verify', '--config', file])
  t.equal((await verified.exited).code, 0, verified.out())
})
