/** `headgate ledger export|verify|recovery`: asks the running gateway, and opens the file itself only when nobody answers. */
import { pipeline } from 'node:stream/promises'
import { exportLines, verdict } from '../api/ledger.ts'
import { type Bookkeeping, openBookkeeping } from '../cluster/bookkeeping.ts'
import { loadConfig } from '../config/load.ts'
import type { Config } from '../config/types.ts'
import { systemClock } from '../core/clock.ts'
import { usdText } from '../core/money.ts'
import type { Reconciliation } from '../ledger/types.ts'
import type { Verdict } from '../ledger/verify.ts'
import { SHIPPED_CONFIG } from './serve.ts'

/** @returns the exit code. */
export async function ledger(verb: string, configFile = SHIPPED_CONFIG): Promise<number> {
  if (verb !== 'export' && verb !== 'verify' && verb !== 'recovery') {
    process.stderr.write(`headgate: ledger: expected export, verify or recovery, found ${verb}\n`)
    return 2
  }
  try {
    const config = loadConfig(configFile, process.env)
    const host = config.admin.host.includes(':') ? `[${config.admin.host}]` : config.admin.host
    const reply = await askOwner(`http://${host}:${config.admin.port}/ledger/${verb}`)
    if (verb === 'export') {
      if (reply?.body) await written(reply.body)
      else await fromStore(config, ({ ledger }) => written(exportLines(ledger)))
      return 0
    }
    const text = await reply?.text()
    if (verb === 'recovery') {
      if (text === undefined) tellRecovery(await fromStore(config, async ({ recovered }) => recovered), 'open: the next start will charge')
      else tellRecovery(JSON.parse(text) as Reconciliation, 'settled as unknown at the start, charged')
      return 0
    }
    const found = text === undefined ? await fromStore(config, ({ ledger }) => verdict(ledger)) : (JSON.parse(text) as Verdict)
    return report(found)
  } catch (error) {
    process.stderr.write(`headgate: ${error instanceof Error ? error.message : error}\n`)
    return 1
  }
}

function report(found: Verdict): number {
  const carried = found.carried > 0 ? `, $${usdText(found.carried)} carried over` : ''
  process.stdout.write(
    `${found.generations} generations, ${found.open} open, $${usdText(found.charged)} charged${carried}: ${found.ok ? 'ok' : 'wrong'}\n`,
  )
  for (const problem of found.problems) process.stdout.write(`${problem}\n`)
  return found.ok ? 0 : 1
}

/** What a crash left open. @param fate what has become of it. */
function tellRecovery(found: Reconciliation, fate: string): void {
  const { count, charged, oldest, newest, keys, generations } = found
  const lines = [`${count} generations ${count > 0 ? `${fate} $${usdText(charged)}` : 'left open'}`]
  if (count > 0) lines.push(`admitted from ${oldest} to ${newest}`)
  for (const each of keys) lines.push(`key ${each.key}: ${each.count}, $${usdText(each.charged)}`)
  process.stdout.write(`${[...lines, ...generations].join('\n')}\n`)
}

/** Where no gateway runs: opens the store itself. */
async function fromStore<T>(config: Config, read: (books: Bookkeeping) => Promise<T>): Promise<T> {
  const books = await openBookkeeping({ ...config.store, clock: systemClock, aside: true, report: () => {} })
  try {
    return await read(books)
  } finally {
    await books.close()
  }
}

/** As fast as the reader reads: a ledger may be longer than memory. */
function written(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  return pipeline(pieces, process.stdout, { end: false })
}

/** @returns undefined where nobody listens. A long ledger takes its time, so there is no limit to it. */
async function askOwner(url: string): Promise<Response | undefined> {
  let response: Response
  try {
    response = await fetch(url)
  } catch (thrown) {
    if (isRefused(thrown)) return undefined
    throw thrown
  }
  if (!response.ok) throw new Error(`the running gateway refused the ledger: status ${response.status}`)
  return response
}

function isRefused(thrown: unknown): boolean {
  const { cause } = thrown as { cause?: { code?: string } }
  return cause?.code === 'ECONNREFUSED'
}
