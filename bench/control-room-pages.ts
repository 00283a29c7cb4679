/**
 * Cost of every page of the control room over a large ledger: `node bench/control-room-pages.ts [--rows 10000000] [--store postgres]
 * [--file <path>] [--url <postgres://…>] [--rounds 5] [--page NAME …]`. Fills and opens the ledger as `ledger-lists.ts` does, then opens
 * each page several times in Debian's Chromium, each time with an empty cache and a new window. Prints of each page when something is
 * seen first, when nothing changes any more, how long it has waited for the gateway, and how late the gateway's event loop was meanwhile;
 * and of each call how long it took. Ends with code 1 where a goal is missed.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { buildWeb } from '../scripts/build-web.ts'
import { CHROMIUM } from '../test/support/browser.ts'
import { ADMIN_TOKEN, keyHash, LEDGER_OPTIONS, type LedgerGateway, withLedger } from './ledger-gateway.ts'

const { values } = parseArgs({
  options: { ...LEDGER_OPTIONS, rounds: { type: 'string', default: '5' }, page: { type: 'string', multiple: true } },
})
const rounds = Number(values.rounds)
/** Milliseconds and bytes. `gateway` is for each call, and for what a page waits for in all. */
const GOAL = { paint: 1_000, gateway: 200, delay: 20, script: 200_000 }
/** Milliseconds: what has not changed for so long stands; and what a page may take before it is given up. */
const STILL = 300
const TIMEOUT_MS = 30_000
const DAY_MS = 86_400_000

interface BenchPage {
  readonly name: string
  readonly path: string
  /** A text that it shows with its data. */
  readonly shows: string | RegExp
  /** It calls on by itself until it has found enough: the sum of its calls has no goal. */
  readonly goesOn?: true
}

async function roomPages(gateway: LedgerGateway): Promise<readonly BenchPage[]> {
  const until = new Date(Date.now() - 9 * DAY_MS).toISOString()
  const { data = [] } = await gateway.get(`/v1/generations?limit=200&until=${until}`)
  const { id, session_id: session } = data.find((row) => row.session_id) ?? {}
  if (id === undefined || session === undefined) throw new Error('the ledger has no generation with a session nine days ago')
  const [model, more] = ['acme/model-0', 'Search further back']
  const pages: readonly BenchPage[] = [
    { name: 'now', path: 'now', shows: 'Providers' },
    { name: 'requests', path: 'requests', shows: more },
    { name: 'requests of a key', path: `requests?api_key_hash=${keyHash(3)}`, shows: more },
    { name: 'requests that failed', path: 'requests?status=failed,aborted', shows: more },
    { name: 'requests of a session', path: `requests?session_id=${session}`, shows: 'all that there are' },
    { name: 'requests, few alike', path: 'requests?min_cost=1', shows: /searched back to|all that there are/, goesOn: true },
    { name: 'one request', path: `requests/${id}`, shows: 'Settled as' },
    { name: 'models', path: 'models', shows: model },
    { name: 'one model', path: `models/${model}`, shows: 'Parameters it takes' },
    { name: 'models compared', path: `models/compare?models=${model},acme/model-1`, shows: model },
    { name: 'playground', path: `models/playground?model=${model}`, shows: 'The same in code' },
    { name: 'keys', path: 'keys', shows: 'Spent by day and model' },
    { name: 'keys, spending of one', path: `keys?key=${keyHash(4)}&by=row`, shows: 'Spent by day and model' },
    { name: 'one key', path: `keys/${keyHash(5)}`, shows: 'Spent by day and model' },
    { name: 'policy', path: 'policy', shows: 'In force' },
    { name: 'guardrails', path: 'guardrails', shows: 'Findings' },
    { name: 'ledger', path: 'ledger', shows: 'Adds up' },
  ]
  const wanted = values.page
  const chosen = wanted ? pages.filter(({ name }) => wanted.includes(name)) : pages
  if (chosen.length === 0) throw new Error(`--page: expected one of ${pages.map(({ name }) => name).join(', ')}`)
  return chosen
}

/** Notes when the page changes and how many calls are open. */
const WATCH = `
  globalThis.bench = { open: 0, changed: 0 }
  const { fetch } = globalThis
  globalThis.fetch = async (...call) => {
    bench.open++
    try {
      return await fetch(...call)
    } finally {
      bench.open--
      bench.changed = performance.now()
    }
  }
  new MutationObserver(() => (bench.changed = performance.now())).observe(document, {
    subtree: true, childList: true, characterData: true, attributes: true,
  })`
const STANDS = `bench.open === 0 && !document.querySelector('.loading, .boot') && performance.now() - bench.changed > ${STILL}`
const SEEN = `(() => {
  const loaded = performance.getEntriesByType('resource')
  const scripts = loaded.filter(({ name }) => name.endsWith('.js'))
  return {
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    stands: bench.changed,
    script: scripts.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0),
    calls: loaded.filter(({ initiatorType }) => initiatorType === 'fetch')
      .map(({ name, requestStart, responseEnd, responseStatus }) => ({ url: name, from: requestStart, to: responseEnd, status: responseStatus })),
  }
})()`

/** Milliseconds since the page was opened, and bytes of script. */
interface Seen {
  readonly paint: number
  readonly stands: number
  readonly script: number
  readonly calls: readonly { readonly url: string; readonly from: number; readonly to: number; readonly status: number }[]
}

async function visit(context: BrowserContext, { path, shows }: Pick<BenchPage, 'path' | 'shows'>): Promise<Seen> {
  const page: Page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  await page.addInitScript(WATCH)
  await page.goto(`/control-room/${path}`)
  try {
    await page.getByText(shows).filter({ visible: true }).first().waitFor()
    // Through the debugger: the policy of the page lets no other text run.
    for (const end = performance.now() + TIMEOUT_MS; !(await page.evaluate<boolean>(STANDS)); ) {
      if (performance.now() > end) throw new Error('it goes on changing')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  } catch (cause) {
    throw new Error(`${path} does not show ${shows}: ${(await page.locator('main').innerText()).slice(0, 300)}`, { cause })
  }
  const seen = await page.evaluate<Seen>(SEEN)
  const failed = seen.calls.find(({ status }) => status >= 400)
  if (failed) throw new Error(`${path}: ${failed.url} was answered with ${failed.status}`)
  return seen
}

/** Milliseconds in which at least one call was open. */
function waited({ calls }: Seen): number {
  let [sum, until] = [0, 0]
  for (const { from, to } of calls.toSorted((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, until))
    until = Math.max(until, to)
  }
  return sum
}

/** A call without the values of its parameters. */
function urlName(url: string): string {
  const { pathname, searchParams } = new URL(url)
  const path = pathname.replace(/[0-9a-f]{64}/, '{hash}').replace(/gen-[\w-]+/, '{id}')
  const names = [...new Set(searchParams.keys())]
  return names.length > 0 ? `${path}?${names.join('&')}` : path
}

interface Spread {
  readonly first: number
  readonly median: number
  readonly worst: number
}

function sampleSpread(all: readonly number[]): Spread {
  const sorted = all.toSorted((a, b) => a - b)
  return { first: all[0] ?? 0, median: sorted[Math.floor(sorted.length / 2)] ?? 0, worst: sorted.at(-1) ?? 0 }
}

const spreadText = ({ first, median, worst }: Spread): string => [first, median, worst].map((ms) => ms.toFixed(0)).join(', ')
const mark = (text: string, missed: boolean): string => (missed ? `**${text}**` : text)

interface Measured {
  readonly row: string
  readonly calls: readonly string[]
  readonly isFine: boolean
}

async function measurePage(page: BenchPage, gateway: LedgerGateway, open: () => Promise<BrowserContext>): Promise<Measured> {
  const seen: Seen[] = []
  await gateway.delays()
  const cpu = gateway.cpuMs()
  for (let round = 0; round < rounds; round++) {
    const context = await open()
    seen.push(await visit(context, page))
    await context.close()
  }
  const each = (gateway.cpuMs() - cpu) / rounds
  const [delay, longest] = await gateway.delays()
  const [paint, stands, wait] = [seen.map((one) => one.paint), seen.map((one) => one.stands), seen.map(waited)].map(sampleSpread)
  if (!paint || !stands || !wait) throw new Error('no visit')
  const script = Math.max(...seen.map((one) => one.script))
  const missed = {
    paint: paint.worst >= GOAL.paint,
    wait: page.goesOn === undefined && wait.worst >= GOAL.gateway,
    delay: delay >= GOAL.delay,
    script: script >= GOAL.script,
  }
  const cells = [
    mark(page.name, Object.values(missed).includes(true)),
    mark(spreadText(paint), missed.paint),
    spreadText(stands),
    mark(spreadText(wait), missed.wait),
    each.toFixed(0),
    mark((script / 1000).toFixed(0), missed.script),
    mark(delay.toFixed(1), missed.delay),
    longest.toFixed(1),
  ]
  const byName = Map.groupBy(
    seen.flatMap(({ calls }) => calls),
    ({ url }) => urlName(url),
  )
  let isFine = !Object.values(missed).includes(true)
  const calls = [...byName].map(([name, calls]) => {
    const took = sampleSpread(calls.map(({ from, to }) => to - from))
    if (took.worst >= GOAL.gateway) isFine = false
    const count = (calls.length / rounds).toFixed(calls.length % rounds === 0 ? 0 : 1)
    return `| ${page.name} | \`${name}\` | ${count} | ${mark(spreadText(took), took.worst >= GOAL.gateway)} |`
  })
  return { row: `| ${cells.join(' | ')} |`, calls, isFine }
}

async function signedIn(browser: Browser, gateway: LedgerGateway): Promise<() => Promise<BrowserContext>> {
  const options = { baseURL: gateway.admin, viewport: { width: 1440, height: 900 } }
  const context = await browser.newContext(options)
  // The browser has shown a page before the first one counts.
  await visit(context, { path: '', shows: 'Management key or admin token' })
  const headers = { 'x-control-room': '1' }
  const reply = await context.request.post('/control-room/session', { data: { key: ADMIN_TOKEN }, headers })
  if (reply.status() !== 201) throw new Error(`the sign-in was answered with ${reply.status()}`)
  await gateway.delays()
  const begun = performance.now()
  const verdict = await context.request.get('/ledger/verify', { headers: { ...headers, 'cache-control': 'no-cache' }, timeout: 0 })
  const { ok, generations } = (await verdict.json()) as { ok: boolean; generations: number }
  const [delay, longest] = await gateway.delays()
  console.log(
    `the check of what no check has covered yet, ${generations} generations: ${((performance.now() - begun) / 1000).toFixed(1)} s, ok: ${ok}, event loop p99 ${delay.toFixed(1)} ms, longest ${longest.toFixed(1)}`,
  )
  const storageState = await context.storageState()
  await context.close()
  return () => browser.newContext({ ...options, storageState })
}

/**
 * The browser stands for one on another machine: it takes no processor from the gateway. Its processes are a session of their own, and
 * between sessions Linux weighs the priority of the session alone (man 7 sched, "The autogroup feature").
 */
function leaveProcessor(browser: number | undefined): void {
  const file = `/proc/${browser}/autogroup`
  if (existsSync(file)) writeFileSync(file, '19')
}

/** @returns whether every page keeps the goals. */
async function measure(gateway: LedgerGateway): Promise<boolean> {
  const pages = await roomPages(gateway)
  const server = await chromium.launchServer({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
  leaveProcessor(server.process().pid)
  const browser = await chromium.connect(server.wsEndpoint())
  try {
    const open = await signedIn(browser, gateway)
    const all: Measured[] = []
    console.log(`Milliseconds of ${rounds} visits: the first, the median, the worst.\n`)
    console.log('| page | first paint | data stands | waits for the gateway | its processor | script, KB | event loop p99 | longest |')
    console.log('|---|---:|---:|---:|---:|---:|---:|---:|')
    for (const page of pages) {
      const measured = await measurePage(page, gateway, open)
      console.log(measured.row)
      all.push(measured)
    }
    console.log('\n| page | call | per visit | took |\n|---|---|---:|---:|')
    console.log(all.flatMap(({ calls }) => calls).join('\n'))
    return all.every(({ isFine }) => isFine)
  } finally {
    await server.close()
  }
}

buildWeb()
  .then(() => withLedger(values, measure))
  .then(
    (isFine) => process.exit(isFine ? 0 : 1),
    (error: unknown) => {
      console.error('bench:', error)
      process.exit(2)
    },
  )
