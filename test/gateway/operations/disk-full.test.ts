/** A disk filled to the brim and freed again under a gateway that serves: nothing free, nothing lost, nobody locked out. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { adminFetch } from '../../support/admin.ts'
import { bodyText } from '../../support/body-text.ts'
import { FakeClock } from '../../support/clock.ts'
import { audit, parseRows, type Row } from '../../support/crash/audit.ts'
import { freePorts, SECRET, writeConfiguration } from '../../support/crash/configuration.ts'
import { BookkeepingProvider } from '../../support/crash/provider.ts'
import { SmallDisk } from '../../support/crash/small-disk.ts'
import { eventually } from '../../support/eventually.ts'
import type { Program } from '../../support/program.ts'
import { runs, seed } from '../../support/seed.ts'

const SEED = seed()
const BOSS = 'sk-router-v1-boss0000000000000000'
const LANES = 12
/** Requests for every time that the disk is full. */
const WHILE_FULL = runs(300, 3000)
const TIMES = runs(1, 6)
const timeout = runs(300_000, 900_000)
t.setTimeout(timeout)

interface Place {
  disk: SmallDisk
  file: string
  url: string
  admin: string
  provider: BookkeepingProvider
  random: () => number
}

interface Heard {
  readonly id: string
  readonly status: number
  /** True where the reply was whole and no error. */
  readonly good: boolean
}

async function placeOn(t: Test, disk: SmallDisk, home: string): Promise<Place> {
  const clock = new FakeClock(SEED)
  const random = (): number => clock.random()
  const provider = new BookkeepingProvider(random)
  t.teardown(() => provider.close())
  const file = join(home, 'headgate.yaml')
  const [port, admin] = await freePorts(2)
  const keys = `- { name: app, key: "${SECRET}", limit: "1000.00" }\n    - { name: boss, key: "${BOSS}", management: true }`
  const timeouts = '{ idle: 1s, first_byte: 2s }'
  writeConfiguration(file, { port, admin, store: join(home, 'disk', 'ledger.db'), provider: await provider.listen(), keys, timeouts })
  return { disk, file, url: `http://127.0.0.1:${port}`, admin: `http://127.0.0.1:${admin}`, provider, random }
}

async function serving(t: Test, { disk, file }: Place): Promise<Program> {
  const program = disk.run(['--config', file])
  t.teardown(() => program.child.kill('SIGKILL'))
  await program.until(/listens on/)
  return program
}

async function ask({ url, random }: Place, key: string): Promise<{ response: Response; heard: Heard }> {
  const stream = random() < 0.5
  const [path, question] =
    random() < 0.5 ? ['chat/completions', { messages: [{ role: 'user', content: 'Hello' }] }] : ['responses', { input: 'Hello' }]
  const response = await fetch(`${url}/v1/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'acme/one', stream, ...question }),
  })
  const text = await bodyText(response)
  const good = response.status === 200 && !/"error":\{|"response\.failed"/.test(text) && (!stream || text.endsWith('data: [DONE]\n\n'))
  return { response, heard: { id: String(response.headers.get('x-generation-id')), status: response.status, good } }
}

/** Asks on several lanes, with keys in turn, until `enough` says so of what has been heard. */
async function load(t: Test, place: Place, keys: readonly string[], enough: (heard: readonly Heard[]) => boolean): Promise<Heard[]> {
  const all: Heard[] = []
  const lane = async (): Promise<void> => {
    while (!enough(all)) {
      const { response, heard } = await ask(place, keys[all.length % keys.length])
      all.push(heard)
      if (response.status === 503 && !/^\d+$/.test(response.headers.get('retry-after') ?? '')) t.fail('a 503 without Retry-After')
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return all
}

const manage = (place: Place, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(`${place.url}/v1/${path}`, {
    method,
    headers: { authorization: `Bearer ${BOSS}`, 'content-type': 'application/json' },
    body: body === undefined ? null : JSON.stringify(body),
  })

/** @returns a secret of a key in the store that has not been used yet. */
async function newKey(place: Place, name: string): Promise<string> {
  const reply = await manage(place, 'POST', 'keys', { name, limit: 1000 })
  if (reply.status !== 201) throw new Error(`no key: ${reply.status} ${await reply.text()}`)
  return ((await reply.json()) as { key: string }).key
}

async function keyNames(place: Place): Promise<string[]> {
  const { data } = (await (await manage(place, 'GET', 'keys')).json()) as { data: { name: string }[] }
  return data.map(({ name }) => name)
}

const exported = async ({ admin }: Place): Promise<Row[]> => parseRows(await (await adminFetch(`${admin}/ledger/export`)).text())

async function checkLedger(t: Test, place: Place, heard: readonly Heard[], keys: readonly string[]): Promise<void> {
  await eventually('all is settled', async () => !(await exported(place)).some(({ status }) => status === 'open'))
  const rows = await exported(place)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const found = audit(rows, place.provider.calls)
  t.same(found.problems, [])
  t.match(found, { lost: 0, double: 0 })
  t.equal(found.settled + found.unknown, found.completed, 'every answer that the provider gave is charged')
  const unrecorded = heard.filter(({ good, id }) => good && byId.get(id)?.status !== 'completed')
  t.same(unrecorded, [], 'nothing successful goes unrecorded')
  const verdict = await (await adminFetch(`${place.admin}/ledger/verify`)).json()
  t.match(verdict, { ok: true, open: 0, generations: rows.length })
  let spent = 0
  const held: string[] = []
  for (const key of keys) {
    const { data } = (await (await fetch(`${place.url}/v1/key`, { headers: { authorization: `Bearer ${key}` } })).json()) as {
      data: { usage: number; limit: number; limit_remaining: number }
    }
    if (Math.round((data.limit - data.limit_remaining) * 1e9) !== Math.round(data.usage * 1e9)) held.push(JSON.stringify(data))
    spent += Math.round(data.usage * 1e9)
  }
  t.same(held, [], 'no hold is left over')
  t.equal(
    spent,
    rows.reduce((sum, row) => sum + row.cost_nano, 0),
    'the keys have spent what the rows say',
  )
}

async function whileFull(t: Test, place: Place, keys: string[]): Promise<Heard[]> {
  const before = await keyNames(place)
  place.disk.fill()
  // What stands in the log already is written over for a while: the disk is felt some commits later.
  const heard = await load(t, place, keys, (all) => all.some(({ status }) => status === 503))
  const fresh = keys.at(-1) ?? ''
  heard.push(...(await load(t, place, keys, (all) => all.length >= WHILE_FULL)))
  const statuses = new Set(heard.map(({ status }) => status))
  // 502: the provider itself failed.
  t.same(
    [...statuses].filter((status) => ![200, 502, 503].includes(status)),
    [],
    'nobody is told that the key is wrong or the money gone',
  )
  t.equal((await fetch(`${place.admin}/readyz`)).status, 503)
  t.equal((await ask(place, `${SECRET}x`)).response.status, 401, 'strangers are still told apart')
  t.same(await keyNames(place), before, 'what is there can be read')
  // Room in the log that may be written over is enough for one key.
  const made = await manage(place, 'POST', 'keys', { name: 'late', limit: 1 })
  t.ok(made.status === 201 || made.status === 503, `a new key: ${made.status}`)
  t.same(await keyNames(place), made.status === 201 ? [...before, 'late'] : before, 'and it is there only if it was said to be')
  t.equal((await fetch(`${place.url}/v1/key`, { headers: { authorization: `Bearer ${fresh}` } })).status, 200)
  t.equal((await adminFetch(`${place.admin}/ledger/export`)).status, 200)
  return heard
}

const home = t.testdir({ disk: {} })
mkdirSync(join(home, 'disk'), { recursive: true })
const disk = await SmallDisk.mount(join(home, 'disk'), '2m')
if (!disk) {
  process.stderr.write('\n*** A full disk cannot be tested here and is SKIPPED: it takes the right to mount a tmpfs ***\n\n')
  t.plan(0, 'nothing can be mounted')
} else {
  t.teardown(() => disk.close())

  t.test(`full and freed ${TIMES} times under load, with keys of the file and of the store (seed ${SEED})`, { timeout }, async (t) => {
    const place = await placeOn(t, disk, home)
    let program = await serving(t, place)
    const keys = [SECRET]
    const heard: Heard[] = []
    for (let time = 0; time < TIMES; time++) {
      keys.push(await newKey(place, `key ${time}`))
      heard.push(...(await load(t, place, keys.slice(0, -1), (all) => all.length >= 60)))
      heard.push(...(await whileFull(t, place, keys)))
      place.disk.free()
      heard.push(...(await load(t, place, keys, (all) => all.filter(({ good }) => good).length >= 20)))
      await eventually('it is ready again', async () => (await fetch(`${place.admin}/readyz`)).status === 200)
      await checkLedger(t, place, heard, keys)
    }
    t.ok(heard.filter(({ good }) => good).length > TIMES * 60 && heard.some(({ status }) => status === 503), `${heard.length} requests`)
    t.equal(program.child.exitCode, null, 'one process all the time')

    place.disk.fill()
    const loading = load(t, place, keys, () => false).catch(() => [])
    await eventually('the full disk is noticed', async () => (await fetch(`${place.admin}/readyz`)).status === 503)
    program.child.kill('SIGKILL')
    await loading
    await program.exited
    const blocked = place.disk.run(['--config', place.file])
    const started = await Promise.race([
      blocked.until(/listens on/).then(
        () => true,
        () => false,
      ),
      blocked.exited.then(() => false),
    ])
    if (started) blocked.child.kill('SIGKILL')
    const { code } = await blocked.exited
    const named = blocked.err().includes('ledger.db')
    t.ok(started || (code === 1 && named), `a start that cannot settle what was open does not serve, and names the file: ${blocked.err()}`)
    place.disk.free()
    program = await serving(t, place)
    await checkLedger(t, place, heard, keys)
    program.child.kill('SIGTERM')
    t.match(await program.exited, { code: 0 })
  })
}
