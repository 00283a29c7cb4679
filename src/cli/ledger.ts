/** `headgate ledger export|verify`: asks the running gateway, and opens the file itself only when nobody answers. */

import { exportLines, verdict } from '../api/ledger.ts'
import { loadConfig } from '../config/load.ts'
import { systemClock } from '../core/clock.ts'
import { usdText } from '../core/money.ts'
import type { Verdict } from '../ledger/verify.ts'
import { openStore } from '../store/open.ts'
import { SHIPPED_CONFIG } from './serve.ts'

/** @returns the exit code. */
export async function ledger(verb: string, configFile = SHIPPED_CONFIG): Promise<number> {
  if (verb !== 'export' && verb !== 'verify') {
    process.stderr.write(`headgate: ledger: expected export or verify, found ${verb}\n`)
    return 2
  }
  try {
    const config = loadConfig(configFile, process.env)
    const host = config.admin.host.includes(':') ? `[${config.admin.host}]` : config.admin.host
    const text = await askOwner(`http://${host}:${config.admin.port}/ledger/${verb}`)
    if (verb === 'export') {
      if (text !== undefined) process.stdout.write(text)
      else
        fromFile(config.store.url, (journal) => {
          for (const line of exportLines(journal)) process.stdout.write(line)
        })
      return 0
    }
    const found = text === undefined ? fromFile(config.store.url, verdict) : (JSON.parse(text) as Verdict)
    return report(found)
  } catch (error) {
    process.stderr.write(`headgate: ${error instanceof Error ? error.message : error}\n`)
    return 1
  }
}

function report(found: Verdict): number {
  process.stdout.write(
    `${found.generations} generations, ${found.open} open, $${usdText(found.charged)} charged: ${found.ok ? 'ok' : 'wrong'}\n`,
  )
  for (const problem of found.problems) process.stdout.write(`${problem}\n`)
  return found.ok ? 0 : 1
}

function fromFile<T>(url: string, read: (journal: ReturnType<typeof openStore>['journal']) => T): T {
  const store = openStore(url, { clock: systemClock })
  try {
    return read(store.journal)
  } finally {
    store.close()
  }
}

async function askOwner(url: string): Promise<string | undefined> {
  let response: Response
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(30_000) })
  } catch {
    return undefined
  }
  if (!response.ok) throw new Error(`the running gateway refused the ledger: status ${response.status}`)
  return response.text()
}
