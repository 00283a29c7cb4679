/**
 * One property of money over everything at once: outside input, ids of others, budgets of several keys below those of teams and an organisation, the pass-through, token counters, tiers, usage that cannot be true, failures,
 * callers that leave, and kill -9 with a start on the same store; on SQLite and on PostgreSQL. No key is charged beyond its limit, what a
 * provider bills within the bounds stays within it, and what it bills beyond is in the ledger to the nano-dollar.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { ADMIN_TOKEN, adminFetch } from '../../support/admin.ts'
import { parseRows } from '../../support/crash/audit.ts'
import { freePorts } from '../../support/crash/configuration.ts'
import { eventually } from '../../support/eventually.ts'
import { createRandom } from '../../support/matrix/mutate.ts'
import { BillingProvider, CONTEXT, drawMove, firstMove, MAX_HELD, type Move, Owned } from '../../support/money-moves.ts'
import { startPostgres } from '../../support/postgres.ts'
import { serveProgram } from '../../support/program.ts'
import { runs, seed } from '../../support/seed.ts'
import { startUpstream } from '../../support/upstream.ts'

const BOSS = { authorization: 'Bearer sk-router-v1-boss56789abcdef0123456789abcdef' }
const SEEDS = Number(process.env.HEADGATE_MONEY_SEEDS ?? runs(6, 50))
const WAVES = 4
/** Rounds of two keys each between two kills. */
const LIFE = 2

interface Key {
  readonly secret: string
  readonly name: string
  readonly limit: number
  /** The budget that it draws on with the other key of its round; undefined in every third round. */
  readonly parent: Budget | undefined
  /** A report of the key's was beyond the bounds, or at a tier that was not requested. */
  hostile: boolean
}

/** Nano-dollars over all time; a limit of the week is half of it. */
interface Budget {
  readonly name: string
  readonly limit: number
  readonly hasWeek: boolean
  readonly above: Budget | undefined
}

/** It and those above it. */
function levels(budget: Budget | undefined): Budget[] {
  return budget ? [budget, ...levels(budget.above)] : []
}

const budgetLine = ({ name, limit, hasWeek, above }: Budget): string =>
  `${name}: { lifetime: "${limit / 1e9}"${hasWeek ? `, weekly: "${limit / 2e9}"` : ''}${above ? `, parent: ${above.name}` : ''} }`

interface ShownBudget {
  readonly name: string
  readonly remaining: number
  readonly windows: readonly { readonly window: string; readonly used: number; readonly limit_usd: number; readonly remaining: number }[]
}

type Serving = Awaited<ReturnType<typeof serveProgram>>
type Row = ReturnType<typeof parseRows>[number] & { readonly model: string; readonly disputed_nano: number }

class Ledger {
  readonly provider = new BillingProvider()
  readonly keys: Key[] = []
  readonly config: string
  program: Serving | undefined
  private marks = 0
  /** Generations whose replies came whole. */
  readonly whole = new Set<string>()
  /** Replies of the pass-through, by status. */
  readonly native = new Map<number, number>()

  constructor(config: string) {
    this.config = config
  }

  get url(): string {
    assert.ok(this.program)
    return this.program.url
  }

  async start(): Promise<void> {
    this.program = await serveProgram(['--config', this.config])
  }

  async kill(): Promise<void> {
    this.program?.child.kill('SIGKILL')
    await this.program?.exited
  }

  /** Of the configuration, since keys that the API makes may not use the pass-through. */
  makeKey(limit: number, parent: Budget | undefined): void {
    const name = `key-${this.keys.length}`
    this.keys.push({ secret: `sk-router-v1-${name.padEnd(32, 'x')}`, name, limit, parent, hostile: false })
  }

  private post(path: string, body: JsonObject, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
    return fetch(`${this.url}${path}`, signal ? { ...init, signal } : init)
  }

  /** @returns the status; 0 where the connection ended. */
  async move(move: Move, keys: readonly Key[], owned: Owned): Promise<number> {
    const mark = `request-${this.marks++}`
    const body = owned.body(move, mark)
    const key = keys[move.key]
    if (!key) return 0
    this.provider.expect(mark, move, key.name)
    if (move.kind === 'hostile' || move.tier !== 'standard') key.hostile = true
    const leaving = new AbortController()
    const path = move.way === 'own' ? '/v1/messages' : '/v1/passage/up/v1/messages'
    const sent = this.post(path, body, { authorization: `Bearer ${key.secret}` }, leaving.signal)
    if (move.end === 'left') setImmediate(() => setTimeout(() => leaving.abort(), 20))
    let reply: Response
    let text: string
    try {
      reply = await sent
      if (move.way === 'native') this.provider.name(mark, reply.headers.get('x-generation-id') ?? '')
      text = await reply.text()
    } catch {
      return 0
    }
    if (move.way === 'native') this.native.set(reply.status, (this.native.get(reply.status) ?? 0) + 1)
    const names = move.kind === 'continues' || move.kind === 'container'
    // 503 where the machine is too busy to look.
    if (names && move.owner !== move.key && (body.thread || body.container)) assert.match(String(reply.status), /^(?:404|503)$/, text)
    if (reply.status !== 200 || move.end === 'cut') return reply.status
    const id = reply.headers.get('x-generation-id') ?? ''
    this.whole.add(id)
    const { containers, threads } = owned[move.way]
    const container = /"(container_of_\w[^"]*)"/.exec(text)?.[1]
    if (container) containers[move.key] = container
    if (body.thread) threads[move.key] = move.way === 'own' ? id : `msg_${mark}`
    return reply.status
  }

  /** Each key's charge is within its limit, that of both within their budget, and nothing stays held. */
  async checkKeys(keys: readonly Key[], settled: boolean): Promise<void> {
    await eventually('nothing held', async () => {
      const shown = await Promise.all(keys.map((key) => this.shown(key)))
      const budgets = await this.shownBudgets()
      const together = shown.reduce((sum, { charged }) => sum + charged, 0)
      return shown.every(({ key, charged, left }) => {
        assert.ok(charged <= key.limit, `charged ${charged} of ${key.limit}`)
        const { parent } = key
        if (parent) assert.ok(together <= parent.limit, `charged ${together} of the budget of ${parent.limit}`)
        const under = parent ? Math.round((budgets.get(parent.name)?.remaining ?? 0) * 1e9) : Number.POSITIVE_INFINITY
        if (parent) assert.ok(under <= parent.limit - together || !settled, 'no more than the nearest budget leaves')
        return !settled || left === Math.min(key.limit - charged, under)
      })
    })
  }

  private async shown(key: Key): Promise<{ key: Key; charged: number; left: number }> {
    const reply = await fetch(`${this.url}/v1/key`, { headers: { authorization: `Bearer ${key.secret}` } })
    const { data } = (await reply.json()) as { data: { usage: number; limit_remaining: number } }
    return { key, charged: Math.round(data.usage * 1e9), left: Math.round(data.limit_remaining * 1e9) }
  }

  private async shownBudgets(): Promise<ReadonlyMap<string, ShownBudget>> {
    const reply = await fetch(`${this.url}/v1/budgets`, { headers: BOSS })
    const { data } = (await reply.json()) as { data: ShownBudget[] }
    for (const { name, windows } of data)
      for (const { window, used, limit_usd: limit } of windows) assert.ok(used <= limit, `${name}: ${used} of ${limit}, ${window}`)
    return new Map(data.map((each) => [each.name, each]))
  }

  /** Each budget of each level shows the sum that the rows of the keys below it have charged. */
  async checkBudgets(budgets: readonly Budget[], rows: readonly Row[]): Promise<void> {
    const shown = await this.shownBudgets()
    for (const budget of budgets) {
      const keys = new Set(this.keys.filter(({ parent }) => levels(parent).includes(budget)).map(({ name }) => name))
      const charged = rows.filter(({ key }) => keys.has(key)).reduce((sum, { cost_nano: cost }) => sum + cost, 0)
      assert.ok(charged <= budget.limit, `${budget.name}: charged ${charged} of ${budget.limit}`)
      const used = shown.get(budget.name)?.windows.find(({ window }) => window === 'lifetime')?.used ?? 0
      assert.equal(Math.round(used * 1e9), charged, budget.name)
    }
    const spentAbove = budgets.filter(({ above, name }) => !above && (shown.get(name)?.windows[0]?.used ?? 0) > 0)
    assert.ok(spentAbove.length > 0, 'something counted at the root')
  }

  async check(budgets: readonly Budget[]): Promise<{ charged: number; beyond: number; unknown: number }> {
    assert.ok(this.program)
    const rows = parseRows(await (await adminFetch(`${this.program.admin}/ledger/export`)).text()) as Row[]
    const sums = { charged: 0, beyond: 0, unknown: 0 }
    await this.checkBudgets(budgets, rows)
    for (const key of this.keys) {
      let [billed, charged] = [0, 0]
      for (const row of rows.filter((each) => each.key === key.name)) {
        charged += row.cost_nano
        const bill = this.provider.billed.get(row.id)
        if (row.status === 'unknown') sums.unknown++
        const beyond = row.unrecovered_nano + row.disputed_nano
        if (row.status === 'unknown' || !this.whole.has(row.id)) {
          const isBilled = bill !== undefined || this.provider.hasBilled(key.name, row.cost_nano + beyond)
          const most = row.model === 'passage' ? MAX_HELD : row.hold_nano
          assert.ok(row.cost_nano <= most || isBilled, `${row.id}: ${row.cost_nano} of ${row.hold_nano}, ${beyond} beyond`)
          continue
        }
        assert.ok(bill, `${row.id} was answered without the provider`)
        assert.equal(row.cost_nano + beyond, bill.nano, `${row.id} ${JSON.stringify(bill.move)}`)
        billed += bill.nano
        sums.beyond += beyond
      }
      assert.ok(charged <= key.limit, `charged ${charged} of ${key.limit}`)
      if (!key.hostile) assert.ok(billed <= key.limit, `the provider bills ${billed} of ${key.limit}`)
      sums.charged += charged
    }
    for (const id of this.whole)
      assert.ok(
        rows.some((row) => row.id === id),
        `${id} is lost`,
      )
    return sums
  }
}

t.setTimeout(3_000_000)
const postgres = await startPostgres(t)
for (const store of ['sqlite', 'postgresql'] as const)
  t.test(`${SEEDS} rounds of two keys on ${store}`, { skip: store === 'postgresql' && !postgres }, async (t) => {
    const directory = t.testdir()
    const [port = 0, admin = 0] = await freePorts(2)
    const url =
      store === 'sqlite'
        ? `url: "sqlite:${directory}/ledger.db"`
        : `url: "${await postgres?.database()}", journal: "${directory}/journal.db"`
    const ledger = new Ledger(join(directory, 'headgate.yaml'))
    const random = createRandom(seed())
    const below = (most: number): number => Math.floor(random() * most)
    const most = Math.ceil(SEEDS / 6) * 1e6
    const root: Budget = { name: 'organisation', limit: (600 + below(800)) * most, hasWeek: below(2) === 0, above: undefined }
    const division: Budget = { name: 'division', limit: (500 + below(500)) * most, hasWeek: below(2) === 0, above: root }
    const teams = [division, root].map((above, team): Budget => {
      return { name: `team-${team}`, limit: (300 + below(500)) * most, hasWeek: below(2) === 0, above }
    })
    const rounds = Array.from({ length: SEEDS }, (_, round): Budget => {
      return { name: `round-${round}`, limit: (1 + below(500)) * 1e6, hasWeek: false, above: teams[round % 2] }
    })
    const budgets = [...rounds, ...teams, division, root]
    for (let round = 0; round < SEEDS; round++)
      for (const _ of ['first', 'second']) ledger.makeKey((1 + below(400)) * 1e6, round % 3 === 2 ? undefined : rounds[round])
    const keyLines = ledger.keys.map(
      ({ name, secret, limit, parent }) =>
        `    - { name: ${name}, key: "${secret}", limit: "${limit / 1e9}", pass_through: true${parent ? `, parent: ${parent.name}` : ''} }`,
    )
    const upstream = await startUpstream(ledger.provider.answer)
    t.teardown(() => upstream.close())
    writeFileSync(
      ledger.config,
      `
server: { host: 127.0.0.1, port: ${port} }
admin: { host: 127.0.0.1, port: ${admin}, token: ${ADMIN_TOKEN} }
store: { ${url} }
auth:
  keys:
    - { name: boss, key: "${BOSS.authorization.slice(7)}", management: true }
${keyLines.join('\n')}
budgets: { ${budgets.map(budgetLine).join(', ')} }
providers: { up: { dialect: anthropic, base_url: "${upstream.url}", key: k, quirks: { threads: true }, pass_through: { price: "0" }, timeouts: { first_byte: 20s } } }
models:
  acme/one:
    context: ${CONTEXT}
    max_output: 50
    input: [ text, image, file ]
    endpoints:
      - { provider: up, model: up, price: { prompt: "1.00", completion: "2.00" } }
      - { provider: up, model: up, tier: priority, price: { prompt: "2.00", completion: "4.00" } }
`,
    )
    await ledger.start()
    t.teardown(() => ledger.kill())
    const statuses = new Map<number, number>()
    for (let round = 0; round < SEEDS; round++) {
      const keys = ledger.keys.slice(2 * round, 2 * round + 2)
      const owned = new Owned()
      const killing = round % LIFE === LIFE - 1
      await Promise.all(keys.map((_, key) => ledger.move(firstMove(key), keys, owned)))
      for (let wave = 0; wave < WAVES; wave++) {
        const moves = Array.from({ length: 1 + below(8) }, () => drawMove(below))
        const running = moves.map((move) => ledger.move(move, keys, owned))
        if (killing && wave === WAVES - 2) {
          const before = upstream.requests.length
          const some = below(4)
          await Promise.race([eventually('some at the provider', () => upstream.requests.length >= before + some), Promise.all(running)])
          await ledger.kill()
          await Promise.all(running)
          await ledger.start()
        }
        for (const status of await Promise.all(running)) statuses.set(status, (statuses.get(status) ?? 0) + 1)
        await ledger.checkKeys(keys, store === 'sqlite' || !killing)
      }
    }
    const sums = await ledger.check(budgets)
    const { ok } = (await (await adminFetch(`${ledger.program?.admin}/ledger/verify/full`)).json()) as { ok: boolean }
    t.equal(ok, true, 'the ledger agrees with itself')
    t.ok((statuses.get(200) ?? 0) > SEEDS && (statuses.get(402) ?? 0) > 0 && (statuses.get(404) ?? 0) > 0)
    t.ok(sums.charged > 0 && sums.beyond > 0)
    for (const status of [200, 402, 404]) t.ok((ledger.native.get(status) ?? 0) > 0, `the pass-through has returned ${status}`)
    t.comment(JSON.stringify({ statuses: [...statuses], native: [...ledger.native], ...sums, counts: ledger.provider.counts }))
  })
