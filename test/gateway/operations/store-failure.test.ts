/** A store that cannot be written, is somebody else's, or is damaged. Runs with `npm run test:servers`. */
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { adminFetch } from '../../support/admin.ts'
import { cutReadable } from '../../support/body-text.ts'
import { parseRows, type Row } from '../../support/crash/audit.ts'
import { freePorts, SECRET, writeConfiguration } from '../../support/crash/configuration.ts'
import { type Disk, disks } from '../../support/crash/disks.ts'
import { type Program, runProgram, serveProgram } from '../../support/program.ts'
import { Gate, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, framesFor } from '../../support/wire.ts'

const USAGE = { input: 10, output: 2 }
const COST = 14_000
/** Requests within which a full disk must have been noticed: each writes several pages. */
const MOST = 2000

interface OnSmallDisk {
  file: string
  store: string
  directory: string
  url: string
  admin: string
  upstream: Upstream
  gate: Gate
}

async function onSmallDisk(t: Test, durability?: Disk['durability']): Promise<OnSmallDisk> {
  const gate = new Gate()
  const upstream = await startUpstream((seen) => {
    if (seen.json.stream !== true) return answerFor(seen, { text: ['ok'], usage: USAGE })
    const frames = framesFor(seen.path, { text: ['first ', 'last'], usage: USAGE })
    const cut = frames.findIndex((frame) => frame.includes('last'))
    return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
  })
  t.teardown(() => upstream.close())
  const home = t.testdir()
  const directory = join(home, 'disk')
  mkdirSync(directory)
  const file = join(home, 'headgate.yaml')
  const store = join(directory, 'ledger.db')
  const [port, admin] = await freePorts(2)
  const timeouts = '{ idle: 60s, first_byte: 60s }'
  writeConfiguration(file, { port, admin, store, provider: upstream.url, timeouts, durability })
  return { file, store, directory, upstream, gate, url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${admin}` }
}

const ask = ({ url }: OnSmallDisk, stream = false): Promise<Response> =>
  cutReadable(
    fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'acme/one', stream, messages: [{ role: 'user', content: 'Hello' }] }),
    }),
  )

const generation = (response: Response): string => String(response.headers.get('x-generation-id'))

async function rows({ admin }: OnSmallDisk): Promise<Map<string, Row>> {
  return new Map(parseRows(await (await adminFetch(`${admin}/ledger/export`)).text()).map((row) => [row.id, row]))
}

/** The verb's exit code and output. */
async function ledger(verb: string, file: string): Promise<{ code: number | null; text: string }> {
  const program = runProgram(['ledger', verb, '--config', file])
  const { code } = await program.exited
  return { code, text: program.out() + program.err() }
}

/** Asks until the first refusal. @returns the generations that were served before it, and the refusal. */
async function untilRefused(scene: OnSmallDisk): Promise<{ served: string[]; refusal: Response }> {
  const served: string[] = []
  while (served.length < MOST) {
    const response = await ask(scene)
    if (response.status !== 200) return { served, refusal: response }
    await response.text()
    served.push(generation(response))
  }
  throw new Error('a disk that takes no more was never noticed')
}

async function fullDisk(t: Test, disk: Disk): Promise<void> {
  const place = await onSmallDisk(t, disk.durability)
  const { upstream, directory } = place
  const program = disk.start(place.file, directory)
  t.teardown(() => program.child.kill('SIGKILL'))
  await program.until(/listens on/)
  const served: string[] = []
  for (let i = 0; i < 5; i++) {
    const response = await ask(place)
    t.equal(response.status, 200)
    await response.text()
    served.push(generation(response))
  }
  const live = await ask(place, true)
  await disk.fill(program, directory)
  const { served: late, refusal } = await untilRefused(place)
  served.push(...late)

  t.equal(refusal.status, 503, 'new work is refused')
  t.match(refusal.headers.get('content-type'), /^application\/json/)
  t.equal(refusal.headers.get('retry-after'), '1')
  const { error } = (await refusal.json()) as { error: { code: number; message: string } }
  t.equal(error.code, 503)
  t.notMatch(error.message, /sqlite|disk|ledger\.db/i, 'what is behind it is not told')
  const more = await Promise.all(Array.from({ length: 20 }, () => ask(place)))
  for (const reply of more) {
    t.ok(reply.status === 503 || (!disk.firm && reply.status === 200), `status ${reply.status}`)
    await reply.text()
    if (reply.status === 200) served.push(generation(reply))
  }
  if (disk.firm) t.equal((await ask(place, true)).status, 503, 'streams as well, by their status')
  // Where some commits succeed, a request may have been called for and then be refused, since its charge was not written.
  if (disk.firm) t.equal(upstream.requests.length, served.length + 1, 'for what is refused no provider is asked')
  t.equal((await fetch(`${place.admin}/healthz`)).status, 200, 'the process lives')
  const ready = await fetch(`${place.admin}/readyz`)
  t.equal(ready.status, 503, 'and asks for no traffic')
  t.match(await ready.json(), { reasons: ['the ledger cannot be written'] })

  place.gate.open()
  const text = await live.text()
  t.match(text, /"first "/)
  if (disk.firm) {
    t.match(text, /"error"/, 'a stream whose charge cannot be written does not end as if all were well')
    t.notMatch(text, /"finish_reason":"stop"[^}]*\}\][^\n]*"usage"/)
  }
  t.equal(program.child.exitCode, null)

  await disk.free(program, directory)
  const back = await ask(place)
  t.equal(back.status, 200, 'it recovers when there is room again')
  await back.text()
  served.push(generation(back))
  const found = await rows(place)
  for (const id of served) t.match(found.get(id), { status: 'completed', cost_nano: COST }, 'no success is unrecorded')
  t.match(found.get(generation(live)), { status: 'completed', cost_nano: COST }, 'what the provider did is charged after all')
  t.equal(found.size, upstream.requests.length, 'every call has its row, and what was refused before it has none')
  t.match(await ledger('verify', place.file), { code: 0, text: / 0 open, .*: ok/ })
  const key = (await (await fetch(`${place.url}/v1/key`, { headers: { authorization: `Bearer ${SECRET}` } })).json()) as {
    data: { usage: number; limit: number; limit_remaining: number }
  }
  t.equal(Math.round(key.data.usage * 1e9), found.size * COST)
  t.equal(Math.round((key.data.limit - key.data.limit_remaining) * 1e9), found.size * COST, 'no hold is left over')
  program.child.kill('SIGTERM')
  t.match(await program.exited, { code: 0 })
  t.match(program.out(), /"level":50,[^\n]*"errstr":"[^\n]*the ledger cannot be written/, 'the operator was told why')
}

for (const disk of disks()) t.test(`refuses new work when the disk is full: ${disk.name}`, (t) => fullDisk(t, disk))

/** A store with some rows in it that nobody owns. @returns what it holds. */
async function filled(t: Test): Promise<{ place: OnSmallDisk; before: Row[] }> {
  const place = await onSmallDisk(t)
  const program = await serveProgram(['--config', place.file])
  t.teardown(() => program.child.kill('SIGKILL'))
  for (let i = 0; i < 40; i++) await (await ask(place)).text()
  program.child.kill('SIGKILL')
  await program.exited
  const before = parseRows((await ledger('export', place.file)).text)
  t.equal(before.length, 40)
  return { place, before }
}

async function refuses(t: Test, { file }: OnSmallDisk, why: RegExp): Promise<void> {
  for (const args of [
    ['serve', '--config', file],
    ['ledger', 'verify', '--config', file],
  ]) {
    const program: Program = runProgram(args)
    t.match(await program.exited, { code: 1, signal: null }, args[0])
    t.match(program.err(), why)
    t.match(program.err(), /ledger\.db/, 'the file is named')
    t.equal(program.err().trim().split('\n').length, 1, 'in one line')
    t.notMatch(program.out(), /listens|ok$/)
  }
}

t.test('refuses a second process on the same file', async (t) => {
  const { place } = await filled(t)
  const first = await serveProgram(['--config', place.file])
  t.teardown(() => first.child.kill('SIGKILL'))
  const other = join(place.directory, 'other.yaml')
  const [port, admin] = await freePorts(2)
  writeConfiguration(other, { port, admin, store: place.store, provider: place.upstream.url })
  await refuses(t, { ...place, file: other }, /is in use by another process/)
  t.equal((await ask(place)).status, 200, 'the first is unaffected')
})

t.test('refuses a damaged file, and says why', async (t) => {
  const { place } = await filled(t)
  const whole = readFileSync(place.store)
  t.ok(whole.length > 8 * 2048, 'there is something to damage')
  const damages: Record<string, [Buffer, RegExp]> = {
    'not a database': [Buffer.from('these are not the rows that you are looking for '.repeat(200)), /is damaged or not a database/],
    'pages overwritten': [Buffer.concat([whole.subarray(0, 4096), Buffer.alloc(8192, 0xa5), whole.subarray(12_288)]), /is damaged/],
    'the end is missing': [whole.subarray(0, whole.length - 3 * 2048), /is damaged/],
    'another version': [patched(whole, 60, 99), /schema version 99/],
    'another program': [patched(whole, 68, 1), /database of another program/],
  }
  for (const [name, [bytes, why]] of Object.entries(damages)) {
    t.comment(name)
    writeFileSync(place.store, bytes)
    await refuses(t, place, why)
    t.same(readFileSync(place.store).subarray(0, 100), bytes.subarray(0, 100), 'it is left as it was')
  }
  writeFileSync(place.store, whole)
  t.match(await ledger('verify', place.file), { code: 0, text: /^40 generations/ })
})

/** A copy with one 32-bit number of the file's header changed. */
function patched(whole: Buffer, at: number, value: number): Buffer {
  const copy = Buffer.from(whole)
  copy.writeUInt32BE(value, at)
  return copy
}

t.test('reads files copied from under a running program, with a torn write at the end of the log', async (t) => {
  const place = await onSmallDisk(t)
  const program = await serveProgram(['--config', place.file])
  t.teardown(() => program.child.kill('SIGKILL'))
  for (let i = 0; i < 20; i++) await (await ask(place)).text()
  const copy = join(place.directory, 'copy.db')
  // Stopped, so that file and log are of one moment.
  program.child.kill('SIGSTOP')
  for (const suffix of ['', '-wal']) copyFileSync(`${place.store}${suffix}`, `${copy}${suffix}`)
  program.child.kill('SIGCONT')
  appendFileSync(`${copy}-wal`, Buffer.alloc(3000, 0x5a))
  const committed = await rows(place)
  t.equal(committed.size, 20)
  const other = join(place.directory, 'other.yaml')
  const [port, admin] = await freePorts(2)
  writeConfiguration(other, { port, admin, store: copy, provider: place.upstream.url })
  const restored = await serveProgram(['--config', other])
  t.teardown(() => restored.child.kill('SIGKILL'))
  const kept = parseRows((await ledger('export', other)).text)
  t.same(kept, [...committed.values()], 'nothing is missing, nothing is new')
  t.match(await ledger('verify', other), { code: 0, text: /^20 generations, 0 open, .*: ok/ })
})
