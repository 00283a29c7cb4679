/** `headgate ledger export|verify|recovery|rebuild`: calls the running gateway, and opens the file itself only when none answers. */
import { json } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import type { RebuiltReply } from '../api/admin-replies.ts'
import { focusLines } from '../api/focus-export.ts'
import { exportLines, rebuild } from '../api/ledger.ts'
import { resolveKeys } from '../config/keys.ts'
import { usdText } from '../core/money-text.ts'
import type { Reconciliation } from '../ledger/types.ts'
import { type Verdict, verifyLedger } from '../ledger/verify.ts'
import { Gateway, type GatewayFlags } from './gateway.ts'
import type { RangeFlags } from './ledger-export.ts'

export interface LedgerFlags extends Partial<RangeFlags>, GatewayFlags {
  readonly full?: boolean | undefined
  /** Of an export to standard output. */
  readonly format?: string | undefined
}

/** @returns the exit code. */
export async function ledger(verb: string, flags: LedgerFlags = {}): Promise<number> {
  const { full = false, to } = flags
  if (verb !== 'export' && verb !== 'verify' && verb !== 'recovery' && verb !== 'rebuild') {
    process.stderr.write(`headgate: ledger: expected export, verify, recovery, rebuild or entries, found ${verb}\n`)
    return 2
  }
  try {
    const gateway = await Gateway.find(flags)
    if (verb === 'export' && flags.format !== undefined) return await exportFocus(flags, gateway)
    if (verb === 'export' && to !== undefined) {
      const { exportTo } = await import('./ledger-export.ts')
      return await exportTo({ ...flags, to }, { gateway, say: (line) => process.stderr.write(`${line}\n`) })
    }
    // A long ledger takes its time, so there is no limit to it.
    const method = verb === 'rebuild' ? 'POST' : 'GET'
    const path = `/ledger/${verb}${verb === 'verify' && full ? '/full' : ''}`
    const reply = await gateway.send({ method, path, headers: { 'cache-control': 'no-cache' } })
    if (verb === 'export') {
      if (reply) await written(reply)
      else await gateway.onStore(({ ledger }) => written(exportLines(ledger)), { isThere: true })
      return 0
    }
    if (verb === 'recovery') {
      if (!reply) tellRecovery(await gateway.onStore(async ({ recovered }) => recovered), 'open: the next start will charge')
      else tellRecovery((await json(reply)) as Reconciliation, 'settled as unknown at the start, charged')
      return 0
    }
    if (verb === 'rebuild') {
      const { from } = reply ? ((await json(reply)) as RebuiltReply) : await gateway.onStore(({ ledger }) => rebuild(ledger))
      process.stdout.write(`sums of use are made anew from ${from} on, in the background\n`)
      return 0
    }
    const found = reply
      ? ((await json(reply)) as Verdict)
      : await gateway.onStore(({ ledger }) => verifyLedger(ledger, { full }), { isThere: true })
    return report(found)
  } catch (error) {
    process.stderr.write(`headgate: ${error instanceof Error ? error.message : error}\n`)
    return 1
  }
}

/** Rows of FOCUS 1.2 go to standard output. @throws Error for options that do not fit. */
async function exportFocus({ format, to, ...flags }: LedgerFlags, gateway: Gateway): Promise<number> {
  if (format !== 'focus') throw new Error('--format: expected focus')
  if (to !== undefined) throw new Error('--to: expected none with --format focus, which writes to standard output: > focus.csv')
  const { flagPeriod } = await import('./ledger-export.ts')
  const range = flagPeriod(flags)
  const times = { since: new Date(range.since).toISOString(), until: new Date(range.until).toISOString() }
  const reply = await gateway.send({ method: 'GET', path: `/ledger/export?${new URLSearchParams({ format, ...times })}` })
  if (reply) await written(reply)
  else
    await gateway.onStore(
      ({ ledger, keys: store }, config) => {
        const { keys, generated } = resolveKeys(config)
        return written(focusLines({ ledger, store, configured: generated === undefined ? keys : [], brand: config.brand.word }, range))
      },
      { isThere: true },
    )
  return 0
}

function report(found: Verdict): number {
  // Beyond 2^53 they arrive as texts.
  const [charged, carriedOver] = [BigInt(found.charged), BigInt(found.carried)]
  const { before } = found
  const earlier = before
    ? `checked before: ${before.generations} generations admitted until ${before.until}, $${usdText(BigInt(before.charged))} charged, at ${before.checked_at}\n`
    : ''
  const carried = carriedOver > 0n ? `, $${usdText(carriedOver)} carried over` : ''
  process.stdout.write(
    `${earlier}${found.generations} ${before ? 'newer ' : ''}generations, ${found.open} open, $${usdText(charged)} charged${carried}: ${found.ok ? 'ok' : 'wrong'}\n`,
  )
  if (found.entries) process.stdout.write(entriesText(found.entries))
  for (const problem of found.problems) process.stdout.write(`${problem}\n`)
  return found.ok ? 0 : 1
}

/** Empty where there are no entries. */
function entriesText({ open, ...sums }: NonNullable<Verdict['entries']>): string {
  const parts = Object.entries(sums).flatMap(([kind, nano]) =>
    BigInt(nano) === 0n ? [] : [`$${usdText(BigInt(nano))} ${NAMES[kind] ?? kind}`],
  )
  return parts.length === 0 ? '' : `entries: ${parts.join(', ')}; $${usdText(BigInt(open))} of what was lost is open\n`
}

const NAMES: Readonly<Record<string, string>> = { correction: 'corrected', refund: 'refunded', write_off: 'written off' }

/** Generations that a crash left open. @param fate what has become of it. */
function tellRecovery(found: Reconciliation, fate: string): void {
  const { count, charged, oldest, newest, keys, generations } = found
  const lines = [`${count} generations ${count > 0 ? `${fate} $${usdText(charged)}` : 'left open'}`]
  if (count > 0) lines.push(`admitted from ${oldest} to ${newest}`)
  for (const each of keys) lines.push(`key ${each.key}: ${each.count}, $${usdText(each.charged)}`)
  process.stdout.write(`${[...lines, ...generations].join('\n')}\n`)
}

/** As fast as the reader reads: a ledger may be longer than memory. */
function written(pieces: AsyncIterable<string | Uint8Array>): Promise<void> {
  return pipeline(pieces, process.stdout, { end: false })
}
