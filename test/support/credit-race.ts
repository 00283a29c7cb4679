/** A race for one key's credit: a thousand requests of one fixed price at once, of which exactly a hundred fit. */
import { writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ADMIN_TOKEN, adminFetch, freshVerdict } from './admin.ts'
import { parseRows } from './crash/audit.ts'
import { freePorts } from './crash/configuration.ts'
import { runProgram } from './program.ts'
import { Gate, startUpstream, type Upstream } from './upstream.ts'
import { answerFor } from './wire.ts'

const SECRET = 'sk-router-v1-race0000000000000000'
const REQUESTS = 1000
const FITTING = 100
const BODY = JSON.stringify({ model: 'acme/fixed', messages: [{ role: 'user', content: 'Hello' }] })

export interface Place {
  readonly urls: readonly string[]
  readonly admins: readonly string[]
  readonly upstream: Upstream
}

export interface Shape {
  /** Programs, each with its own address. */
  programs: number
  workers?: number
  /** In place of a SQLite file. */
  store?: string
  shared?: string
}

/** Starts the programs on one store, with one key that has credit for exactly `FITTING` requests. */
export async function place(t: Test, shape: Shape): Promise<Place> {
  const upstream = await startUpstream((seen) => answerFor(seen, { text: ['ok'] }))
  t.teardown(() => upstream.close())
  const directory = t.testdir()
  const found = { urls: [] as string[], admins: [] as string[], upstream }
  for (let index = 0; index < shape.programs; index++) {
    const [port, admin] = await freePorts(2)
    const file = join(directory, `${index}.yaml`)
    const store = shape.store ?? `sqlite:${join(directory, 'ledger.db')}`
    writeFileSync(
      file,
      `server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}, token: ${ADMIN_TOKEN} }
store: { url: "${store}", journal: "${join(directory, `journal-${index}.db`)}" }
${shape.shared ? `shared: { url: "${shape.shared}" }` : ''}
auth: { keys: [ { name: app, key: "${SECRET}", limit: "1.00", limits: { requests: 1000000 } } ] }
providers: { up: { dialect: openai-chat, base_url: "${upstream.url}/v1", key: "sk-up", timeouts: { first_byte: 120s } } }
models: { acme/fixed: { context: 8000, endpoints: [ { provider: up, model: m, price: { prompt: "0", completion: "0", request: "0.01" } } ] } }
`,
    )
    const workers = shape.workers === undefined ? [] : ['--workers', String(shape.workers)]
    const program = runProgram(['--config', file, ...workers])
    t.teardown(async () => {
      program.child.kill('SIGTERM')
      await program.exited
    })
    await program.until(/listens on/)
    found.urls.push(`http://127.0.0.1:${port}`)
    found.admins.push(`http://127.0.0.1:${admin}`)
  }
  return found
}

/** Each over a connection of its own, so that workers share them. */
async function ask(url: string, agent: Agent): Promise<{ status: number; text: string }> {
  const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json', 'content-length': BODY.length }
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers }, resolve).on('error', reject).end(BODY)
  })
  let text = ''
  reply.setEncoding('utf8')
  for await (const chunk of reply) text += chunk as string
  return { status: reply.statusCode ?? 0, text }
}

interface KeyView {
  usage: number
  limit_remaining: number
}

async function keyAt(url: string): Promise<KeyView> {
  const reply = await fetch(`${url}/v1/key`, { headers: { authorization: `Bearer ${SECRET}` } })
  return ((await reply.json()) as { data: KeyView }).data
}

/** Runs it, and looks at everything afterwards. */
export async function race(t: Test, { urls, admins, upstream }: Place): Promise<void> {
  const gate = new Gate()
  upstream.script = async (seen) => {
    await gate.opened
    return answerFor(seen, { text: ['ok'] })
  }
  const agent = new Agent({ maxSockets: REQUESTS })
  t.teardown(() => agent.destroy())
  const refusals = new Gate()
  let refused = 0
  const replies = Array.from({ length: REQUESTS }, async (_, index) => {
    const reply = await ask(urls[index % urls.length], agent)
    if (reply.status !== 200 && ++refused === REQUESTS - FITTING) refusals.open()
    return reply
  })
  const samples: KeyView[] = []
  let over = false
  const watch = (async (): Promise<void> => {
    while (!over) for (const url of urls) samples.push(await keyAt(url))
  })()
  // If one more than fits is let through, the gate opens as well, and the counts below are wrong.
  await Promise.race([refusals.opened, upstream.request(FITTING)])
  gate.open()
  const all = await Promise.all(replies)
  over = true
  await watch
  const statuses = new Map<number, number>()
  for (const { status } of all) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  t.same(Object.fromEntries(statuses), { 200: FITTING, 402: REQUESTS - FITTING })
  t.equal(upstream.requests.length, FITTING, 'the provider saw no more')
  t.same(
    samples.filter(({ usage, limit_remaining: left }) => usage > 1 || left < 0 || usage + left > 1 + 1e-9),
    [],
    'never above the limit at any sample',
  )
  // What one process has settled the others hear when it has handed it in.
  for (const admin of admins) while ((await freshVerdict(admin)).charged < 1_000_000_000);
  for (const url of urls) t.match(await keyAt(url), { usage: 1, limit_remaining: 0 }, 'everybody shows the same')
  const exported = parseRows(await (await adminFetch(`${admins[0]}/ledger/export`)).text())
  t.equal(exported.length, FITTING, 'one row each')
  t.ok(exported.every(({ cost_nano: cost }) => cost === 10_000_000))
  for (const admin of admins) t.match(await freshVerdict(admin), { ok: true, charged: 1_000_000_000 })
}
