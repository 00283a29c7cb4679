/** Problems of the ledger as events, and `headgate events`, both from outside. Programs of their own: this takes a while. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { type EventFlags, events } from '../../src/cli/events.ts'
import { isObject, type JsonObject } from '../../src/core/json.ts'
import { adminFetch } from '../support/admin.ts'
import { freePorts, SECRET, writeConfiguration } from '../support/crash/configuration.ts'
import { disks } from '../support/crash/disks.ts'
import { eventually } from '../support/eventually.ts'
import { type Printed, printed } from '../support/printed.ts'
import { type Program, runProgram } from '../support/program.ts'
import { Gate, startUpstream } from '../support/upstream.ts'
import { startReceiver, WEBHOOK_SECRET } from '../support/webhook-receiver.ts'
import { says } from '../support/wire.ts'

t.setTimeout(300_000)

interface Place {
  readonly file: string
  readonly store: string
  readonly url: string
  readonly admin: string
}

async function place(t: Test): Promise<Place> {
  const fine = says({ text: ['fine'], usage: { input: 10, output: 2 } })
  const never = new Gate()
  const upstream = await startUpstream(async (seen, index) => {
    if (seen.body.includes('wait for ever')) await never.opened
    return fine(seen, index)
  })
  t.teardown(() => upstream.close())
  const home = t.testdir()
  const [port, admin] = await freePorts(2)
  const [file, store] = [join(home, 'headgate.yaml'), join(home, 'ledger.db')]
  writeConfiguration(file, { port, admin, store, provider: upstream.url, timeouts: '{ idle: 60s, first_byte: 60s }' })
  return { file, store, url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${admin}` }
}

async function started(t: Test, program: Program): Promise<Program> {
  t.teardown(() => program.child.kill('SIGKILL'))
  await program.until(/listens on/)
  return program
}

async function stop(program: Program): Promise<void> {
  program.child.kill('SIGTERM')
  await program.exited
}

const ask = async ({ url }: Place, content = 'Hello'): Promise<number> => {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content }] }),
  })
  await reply.text()
  return reply.status
}

const say = (words: readonly string[], config: string, flags: EventFlags = {}): Promise<Printed> =>
  printed((streams) => events(words, { config, ...flags }, streams))

/** Problems of the ledger that the command line lists, the newest first. */
async function problems(file: string): Promise<unknown[]> {
  const { out } = await say(['list'], file, { json: true })
  const { data } = JSON.parse(out) as JsonObject
  const listed = Array.isArray(data) ? data.filter(isObject) : []
  return listed.filter(({ type }) => type === 'headgate.ledger.problem').map(({ subject }) => subject)
}

/** Generations that are open. */
const openIn = async ({ admin }: Place): Promise<unknown> => {
  const headers = { 'cache-control': 'no-cache' }
  return ((await (await adminFetch(`${admin}/ledger/verify`, { headers })).json()) as JsonObject).open
}

const change = (store: string, sql: string): void => {
  const db = new DatabaseSync(store)
  db.exec(sql)
  db.close()
}

t.test('what a crash left open is an event of the next start, and what does not add up one of its check', async (t) => {
  const at = await place(t)
  const first = await started(t, runProgram(['--config', at.file]))
  t.equal(await ask(at), 200)
  t.same(await problems(at.file), [], 'nothing is wrong')
  const cut = ask(at, 'wait for ever').catch(() => 0)
  await eventually('the request is open', async () => (await openIn(at)) === 1)
  first.child.kill('SIGKILL')
  await first.exited
  t.equal(await cut, 0)

  const second = await started(t, runProgram(['--config', at.file]))
  await eventually('the event of the recovery', async () => (await problems(at.file)).includes('recovered'))
  t.match(await (await adminFetch(`${at.admin}/ledger/verify`)).json(), { ok: true })
  t.same(await problems(at.file), ['recovered'], 'a check that finds nothing is no event')
  await stop(second)
  change(at.store, 'UPDATE settlement SET cost = cost + 1 WHERE seq = (SELECT MIN(seq) FROM settlement)')

  const third = await started(t, runProgram(['--config', at.file]))
  const verify = async (): Promise<unknown> => (await adminFetch(`${at.admin}/ledger/verify`)).json()
  t.match(await verify(), { ok: false })
  await eventually('the event of the check', async () => (await problems(at.file)).includes('differs'))
  await verify()
  await verify()
  t.same((await problems(at.file)).filter((problem) => problem === 'differs').length, 1, 'a verdict is reported once')
  await stop(third)
})

t.test('a ledger that cannot be written is an event, once it can be written again', async (t) => {
  const at = await place(t)
  const [disk] = disks()
  if (!disk) return t.fail('every machine has one of these')
  const program = await started(t, disk.start(at.file, join(at.store, '..')))
  t.equal(await ask(at), 200)
  await disk.fill(program, '')
  await eventually('a refusal', async () => (await ask(at)) === 503)
  await disk.free(program, '')
  await eventually('it serves again', async () => (await ask(at)) === 200)
  await eventually('the event', async () => (await problems(at.file)).includes('refused'))
  await stop(program)
  t.ok((await problems(at.file)).includes('refused'), 'and the store has kept it')
})

t.test('headgate events: a running gateway, its store, and what is no command', async (t) => {
  const receiver = await startReceiver()
  t.teardown(() => receiver.close())
  const at = await place(t)
  const receivers = `events: { receivers: [ { name: ops, url: "${receiver.url}", secret: "${WEBHOOK_SECRET}" } ] }\n`
  writeFileSync(at.file, `${readFileSync(at.file, 'utf8')}\n${receivers}`)
  const program = await started(t, runProgram(['--config', at.file]))
  const made = runProgram(['keys', 'create', 'reports', '--config', at.file])
  t.equal((await made.exited).code, 0, made.err())
  await eventually('its delivery', () => receiver.typesTaken().includes('headgate.key.created'))

  const list = await say([], at.file)
  t.equal(list.code, 0)
  t.match(list.out, /event +time +type +subject/)
  const id = /evt_\w+(?=.*headgate\.key\.created)/.exec(list.out)?.[0] ?? ''
  t.ok(id, list.out)
  const shown = JSON.parse((await say(['show', id], at.file)).out) as JsonObject
  t.match(shown, { id, type: 'headgate.key.created', data: { name: 'reports' } })
  t.match((await say(['receivers'], at.file)).out, /ops +0 +0 +takes events/)
  t.equal((await say(['redeliver', id, 'ops'], at.file)).code, 0)
  await eventually('it comes again', () => receiver.received.filter(({ event }) => event.id === id).length === 2)
  t.match((await say(['dead'], at.file)).out, /^\s*event +type +receiver +attempts +problem\s*$/)
  t.match((await say(['pending'], at.file, { json: true })).out, /"data"/)
  t.equal((await say(['enable', 'ops'], at.file)).code, 0)

  const refused: [string[], number, RegExp][] = [
    [['show'], 2, /expected list, show ID/],
    [['list', 'more'], 2, /expected list/],
    [['forget', id], 2, /expected list/],
    [['redeliver', id, 'ops', 'more'], 2, /expected list/],
    [['show', 'evt_none'], 1, /evt_none|event/i],
    [['redeliver', id, 'nobody'], 1, /no such delivery/],
    [['enable', 'nobody'], 1, /nobody|receiver/i],
  ]
  for (const [words, code, error] of refused) {
    const utterance = await say(words, at.file)
    t.equal(utterance.code, code, words.join(' '))
    t.match(utterance.error, error, words.join(' '))
    t.equal(utterance.out, '', words.join(' '))
  }
  t.match(await say(['list'], at.file, { cursor: 'forged' }), { code: 1, error: /cursor/ })
  await stop(program)
  const after = await say([], at.file)
  t.equal(after.code, 0, 'without a gateway it reads the store')
  t.match(after.out, id)
})
