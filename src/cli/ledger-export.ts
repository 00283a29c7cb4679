/** `headgate ledger export --to …`: a past range to an export of the configuration, a folder or S3, by this command itself. */
import type { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import { type LedgerRange, settledIn } from '../api/ledger-range.ts'
import { systemClock } from '../core/clock.ts'
import type { ExportSettings } from '../services/exports/destination.ts'
import { openDestination } from '../services/exports/open-destination.ts'
import { AT_BEGIN, type ExportedLine, exportRange, positionText, type RunPosition, readPosition } from '../services/exports/range-export.ts'
import type { Gateway } from './gateway.ts'
import { parseMoment } from './guardrails.ts'

export interface RangeFlags {
  readonly to: string
  readonly since?: string | undefined
  readonly until?: string | undefined
  /** Position of an earlier run. */
  readonly after?: string | undefined
}

interface Out {
  readonly gateway: Gateway
  readonly say: (line: string) => void
}

/** @returns the exit code. @throws Error for a flag that does not fit. */
export async function exportTo(flags: RangeFlags, { gateway, say }: Out): Promise<number> {
  const settings = await exportTarget(flags.to, gateway)
  const position = startPosition(flags.after)
  const range = { ...flagPeriod(flags), after: position }
  const destination = openDestination(settings, systemClock)
  let reached = position
  const run = (lines: AsyncIterable<ExportedLine>): Promise<number> =>
    exportRange({
      settings,
      destination,
      lines,
      position,
      clock: systemClock,
      progress: (at, rows) => {
        reached = at
        say(`${rows} generations in ${at.batches - position.batches} batches, go on with --after ${positionText(at)}`)
      },
      failed: (error, pause) => say(`${destination.place} took no batch: ${errorText(error)}; another try in ${pause / 1000} s`),
    })
  try {
    const reply = await gateway.send({ method: 'GET', path: `/ledger/generations?${rangeQuery(range)}` })
    const rows = await (reply ? run(replyLines(reply)) : gateway.onStore(({ ledger }) => run(settledIn(ledger, range)), { isThere: true }))
    say(rows === 0 ? nothingText(range) : `exported ${rows} generations to ${destination.place}`)
    return 0
  } catch (error) {
    say(`headgate: the export has stopped: ${errorText(error)}`)
    say(`the same command with --after ${positionText(reached)} goes on`)
    return 1
  } finally {
    destination.close()
  }
}

const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error))

function nothingText({ since, until, after }: LedgerRange): string {
  const behind = after.seq < 0 ? '' : ', behind the position of --after'
  return `nothing was written: no settled generation was admitted${since === 0 ? ' until' : ` from ${new Date(since).toISOString()} to`} ${new Date(until).toISOString()}${behind}`
}

function startPosition(after: string | undefined): RunPosition {
  if (after === undefined) return { begunAt: Date.now(), batches: 0, ...AT_BEGIN }
  const position = readPosition(after)
  if (!position) throw new Error('--after: expected the position that an earlier run has shown')
  return position
}

/** All up to now without flags. @throws Error for times that do not fit. */
export function flagPeriod({ since, until }: Pick<Partial<RangeFlags>, 'since' | 'until'>): Pick<LedgerRange, 'since' | 'until'> {
  const now = Date.now()
  const period = {
    since: since === undefined ? 0 : parseMoment(since, now),
    until: until === undefined ? now : parseMoment(until, now, '--until'),
  }
  if (period.since >= period.until) throw new Error('--since: expected a time before --until')
  return period
}

function rangeQuery({ since, until, after }: LedgerRange): string {
  const query = new URLSearchParams({ since: new Date(since).toISOString(), until: new Date(until).toISOString() })
  if (after.seq >= 0) query.set('after', after.tag === '' ? String(after.seq) : `${after.seq} ${after.tag}`)
  return query.toString()
}

/** As fast as they are delivered. */
async function* replyLines(reply: IncomingMessage): AsyncGenerator<ExportedLine> {
  for await (const line of createInterface({ input: reply, crlfDelay: Number.POSITIVE_INFINITY })) {
    const [head = '', seq, tag] = /^(\d+) ([\w-]{12}) /.exec(line) ?? []
    // Else a resumed export would lose what was admitted at the sequence of its last generation.
    if (seq === undefined || tag === undefined) throw new Error('the gateway is of another version: use the command of that version')
    yield { seq: Number(seq), tag, text: `${line.slice(head.length)}\n` }
  }
  if (!reply.complete) throw new Error('the gateway has broken the connection')
}

const PATH = '{name}-{batch}'
const ROWS = 10_000
const TIMEOUT = 60_000

/** An export of the configuration by its name, `s3://BUCKET/PREFIX`, or else a folder. */
async function exportTarget(to: string, gateway: Gateway): Promise<ExportSettings> {
  const own = { name: 'generations', path: PATH, rows: ROWS, interval: 0, timeout: TIMEOUT } as const
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(to) ?? []
  if (bucket !== undefined)
    return { ...own, compression: 'gzip', s3: { bucket, prefix: prefix.replace(/[^/]$/, '$&/'), ...awsPlace(process.env) } }
  if (to.startsWith('s3:')) throw new Error('--to: expected s3://BUCKET/PREFIX')
  if (/[/.\\]/.test(to)) return { ...own, compression: 'none', file: { path: to } }
  const { file, exports } = await gateway.configuration()
  const named = exports.find(({ name }) => name === to)
  if (!named)
    throw new Error(
      `--to: expected the name of an export of ${file} (--config names another file), s3://BUCKET/PREFIX, or a folder such as ./${to}`,
    )
  return named
}

/** The variables of the AWS SDKs ("AWS Region", "Service-specific endpoints"). */
function awsPlace(env: NodeJS.ProcessEnv): { region: string; endpoint?: string } {
  const region = env.AWS_REGION ?? env.AWS_DEFAULT_REGION
  if (!region) throw new Error('--to: expected the region of the bucket in AWS_REGION')
  const endpoint = env.AWS_ENDPOINT_URL_S3 ?? env.AWS_ENDPOINT_URL
  return { region, ...(endpoint === undefined ? {} : { endpoint }) }
}
