/** A new configuration under a running program: by signal and by file change, with requests in flight. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { adminFetch } from '../../support/admin.ts'
import { parseRows } from '../../support/crash/audit.ts'
import { type FileParts, fileText, freePorts, SECRET } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { foldChatStream } from '../../support/fold.ts'
import { type Program, serveProgram } from '../../support/program.ts'
import { Gate, sseAnswer, startUpstream, type Upstream } from '../../support/upstream.ts'
import { answerFor, framesFor } from '../../support/wire.ts'

const OTHER_SECRET = 'sk-router-v1-other000000000000000'
const USAGE = { input: 10, output: 2 }
/** Nano-dollars of `USAGE` at 1 and 2 USD per million tokens. */
const COST = 14_000
const TENFOLD = '{ prompt: "10.00", completion: "20.00" }'

interface Reloading {
  program: Program
  file: string
  parts: FileParts
  gate: Gate
  upstream: Upstream
  url: string
  admin: string
}

/** Streams wait at the gate after their first word; whole replies come at once. */
async function serve(t: Test, more: Partial<FileParts> = {}): Promise<Reloading> {
  const gate = new Gate()
  const upstream = await startUpstream((seen) => {
    if (seen.json.stream !== true) return answerFor(seen, { text: ['ok'], usage: USAGE })
    const frames = framesFor(seen.path, { text: ['first ', 'last'], usage: USAGE })
    const cut = frames.findIndex((frame) => frame.includes('last'))
    return sseAnswer([...frames.slice(0, cut), gate.step, ...frames.slice(cut)])
  })
  t.teardown(() => upstream.close())
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  const [port, admin] = await freePorts(2)
  const timeouts = '{ idle: 60s, first_byte: 60s }'
  const parts: FileParts = { port, admin, store: join(directory, 'ledger.db'), provider: upstream.url, timeouts, ...more }
  writeFileSync(file, fileText(parts))
  const program = await serveProgram(['--config', file])
  t.teardown(() => program.child.kill('SIGKILL'))
  return { program, file, parts, gate, upstream, url: program.url, admin: program.admin }
}

async function ask({ url }: Reloading, secret = SECRET, stream = false): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', stream, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }),
  })
}

/** Status, generation and error text of a request that is not streamed. */
async function outcome(scene: Reloading, secret = SECRET): Promise<{ status: number; id: string; text: string }> {
  const response = await ask(scene, secret)
  return { status: response.status, id: response.headers.get('x-generation-id') ?? '', text: await response.text() }
}

async function spend({ url }: Reloading, secret = SECRET): Promise<number> {
  const response = await fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${secret}` } })
  return Math.round(((await response.json()) as { data: { usage: number } }).data.usage * 1e9)
}

async function generationCost({ admin }: Reloading, id: string): Promise<number | undefined> {
  const rows = parseRows(await (await adminFetch(`${admin}/ledger/export`)).text())
  return rows.find((row) => row.id === id)?.cost_nano
}

async function counter({ admin }: Reloading, name: string): Promise<number> {
  const text = await (await fetch(`${admin}/metrics`)).text()
  return Number(new RegExp(`^headgate_${name} (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
}

/** Changes something and waits until the program has counted it. */
async function counted(scene: Reloading, name: 'reloads_total' | 'reload_failures_total', change: () => void): Promise<void> {
  const before = await counter(scene, name)
  if (Number.isNaN(before)) throw new Error(`no metric ${name}`)
  change()
  await eventually(`headgate_${name} counts`, async () => (await counter(scene, name)) !== before)
}

const hup = (scene: Reloading): void => {
  scene.program.child.kill('SIGHUP')
}

/** Renames a new file into place, as editors and volumes do, so that none is ever half there. */
function replace({ file }: Reloading, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

/** Whatever comes first, the change of the file or the signal, reloads: the second one may reload again. */
async function reconfigure(scene: Reloading, parts: Partial<FileParts>, by: 'signal' | 'file'): Promise<void> {
  const text = fileText({ ...scene.parts, ...parts })
  await counted(scene, 'reloads_total', () => {
    replace(scene, text)
    if (by === 'signal') hup(scene)
  })
}

for (const by of ['signal', 'file'] as const) {
  t.test(`reload by ${by}, with requests in flight`, async (t) => {
    const scene = await serve(t)
    const paid = await outcome(scene)
    t.equal(await generationCost(scene, paid.id), COST)

    const live = await ask(scene, SECRET, true)
    const liveId = String(live.headers.get('x-generation-id'))
    await reconfigure(scene, { price: TENFOLD }, by)
    const dearer = await outcome(scene)
    t.equal(await generationCost(scene, dearer.id), 10 * COST, 'a new request pays the new price')

    await reconfigure(scene, { models: 'acme/two' }, by)
    const gone = await outcome(scene)
    t.equal(gone.status, 404, 'the model is gone for the next request')
    t.match(JSON.parse(gone.text), { error: { code: 404, message: /acme\/one/ } })

    await reconfigure(scene, { keys: `- { name: stranger, key: "${OTHER_SECRET}" }` }, by)
    t.equal((await outcome(scene)).status, 401, 'the key is gone for the next request')
    t.equal((await outcome(scene, OTHER_SECRET)).status, 200)

    await reconfigure(scene, { keys: `- { name: app, key: "${OTHER_SECRET}" }`, price: TENFOLD }, by)
    t.equal(await spend(scene, OTHER_SECRET), 11 * COST, 'the name keeps its spend under a new secret')

    scene.gate.open()
    t.equal(foldChatStream(await live.text()).text, 'first last', 'what was under way went on through all of it')
    t.equal(await generationCost(scene, liveId), COST, 'at the price of its admission')
    t.equal(await spend(scene, OTHER_SECRET), 12 * COST, 'under the name that it was admitted for')

    await reconfigure(scene, { limit: '0.00001' }, by)
    const broke = await outcome(scene)
    t.equal(broke.status, 402, 'a lowered limit holds for the next request')
    t.match(JSON.parse(broke.text), { error: { code: 402 } })
    await reconfigure(scene, { limit: '1.00' }, by)
    t.equal((await outcome(scene)).status, 200, 'and a raised one as well')
    t.equal(await spend(scene), 13 * COST)
    t.equal(await counter(scene, 'reload_failures_total'), 0)
  })
}

/** The log is written in batches: waits for the line, then gives it. */
async function logged({ program }: Reloading, pattern: RegExp): Promise<Record<string, unknown>> {
  const line = await program.until(new RegExp(`^.*${pattern.source}.*$`, 'm'))
  return JSON.parse(line[0]) as Record<string, unknown>
}

async function stillServes(t: Test, scene: Reloading): Promise<void> {
  t.equal((await fetch(`${scene.admin}/readyz`)).status, 200)
  const { status, id } = await outcome(scene)
  t.equal(status, 200)
  t.equal(await generationCost(scene, id), COST, 'by the old configuration')
}

t.test('a bad file keeps the old one', async (t) => {
  const scene = await serve(t)
  const good = readFileSync(scene.file, 'utf8')
  await counted(scene, 'reload_failures_total', () => {
    replace(scene, fileText({ ...scene.parts, price: '{ prompt: "dear" }' }))
    hup(scene)
  })
  const { problem } = await logged(scene, /configuration kept: the new one cannot be used/)
  const line = good.split('\n').findIndex((text) => text.includes('price:')) + 1
  t.match(problem, new RegExp(`headgate\\.yaml:${line}:\\d+: .*price.*prompt.*expected`))
  t.notMatch(scene.program.out(), new RegExp(SECRET), 'no secret is told')
  await stillServes(t, scene)

  await counted(scene, 'reload_failures_total', () => writeFileSync(scene.file, good.slice(0, good.indexOf('models:') + 20)))
  await stillServes(t, scene)
  await counted(scene, 'reload_failures_total', () => rmSync(scene.file))
  await stillServes(t, scene)
  await counted(scene, 'reloads_total', () => writeFileSync(scene.file, fileText({ ...scene.parts, price: TENFOLD })))
  t.equal(await generationCost(scene, (await outcome(scene)).id), 10 * COST, 'the next good one is taken')
})

t.test('refuses settings that need a restart, and names them', async (t) => {
  const scene = await serve(t)
  const [port] = await freePorts(1)
  const changes: Record<string, Partial<FileParts>> = {
    'server.port': { port },
    'admin.port': { admin: port },
    'store.url': { store: `${scene.parts.store}2` },
  }
  for (const [name, parts] of Object.entries(changes)) {
    await counted(scene, 'reload_failures_total', () => {
      replace(scene, fileText({ ...scene.parts, ...parts, price: TENFOLD }))
      hup(scene)
    })
    const { settings, msg } = await logged(scene, new RegExp(`"${name}"`))
    t.same(settings, [name])
    t.match(msg, /need a restart/)
    await stillServes(t, scene)
  }
  await reconfigure(scene, { price: TENFOLD }, 'signal')
  t.equal(await generationCost(scene, (await outcome(scene)).id), 10 * COST)
})

t.test('a drain has the grace time of the last reload', async (t) => {
  const scene = await serve(t, { server: 'drain: 600s' })
  const live = await ask(scene, SECRET, true)
  await reconfigure(scene, { server: 'drain: 200ms' }, 'signal')
  let ended = false
  void scene.program.exited.then(() => (ended = true))
  scene.program.child.kill('SIGTERM')
  await eventually('the program ends', () => ended)
  t.match(await scene.program.exited, { code: 0, signal: null })
  await t.rejects(live.text(), 'the stream is cut')
})

t.test('a hundred reloads under load: none fails, the last one counts', async (t) => {
  const scene = await serve(t)
  let done = false
  const statuses: number[] = []
  const clients = Array.from({ length: 4 }, async () => {
    while (!done) statuses.push((await outcome(scene)).status)
  })
  for (let i = 0; i < 100; i++) {
    replace(scene, fileText({ ...scene.parts, price: i % 2 === 0 ? TENFOLD : undefined }))
    hup(scene)
  }
  await reconfigure(scene, { price: '{ prompt: "2.00", completion: "4.00" }' }, 'signal')
  // Signals of one kind that come while one is pending are one: the last is taken, how many before it does not matter.
  await eventually('the last price', async () => (await generationCost(scene, (await outcome(scene)).id)) === 2 * COST)
  done = true
  await Promise.all(clients)
  // On a machine that is short of time a hundred reloads are overload, and what is refused for that is counted.
  const shed = await counter(scene, 'shed_total')
  const served = statuses.filter((status) => status !== 503)
  t.same([...new Set(served)], [200])
  t.ok(statuses.length - served.length <= shed, `${statuses.length - served.length} got 503, ${shed} of them all for overload`)
  t.equal(await counter(scene, 'reload_failures_total'), 0)
  t.equal(scene.program.child.exitCode, null)
})
