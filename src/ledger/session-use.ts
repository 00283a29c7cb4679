/** What was used per session: the figures behind `/v1/sessions` and `headgate sessions`. */
import { Fault } from '../core/faults.ts'
import { factsOf } from './facts.ts'
import type { GenerationRecord, LedgerReader, SessionQuery, SessionUse } from './types.ts'
import { eachPage, eachSettled, savedNano, textOr } from './use.ts'

/** Sessions of one scan: callers choose their names, so that their number is bounded. About 20 MB. */
const MOST_SESSIONS = 50_000
/** Milliseconds of work between two rests. */
const SLICE_MS = 6

/**
 * Reads every generation of the query, in slices.
 * @returns sessions, the one that was used last first.
 * @throws Fault 400 where there are too many sessions; `unavailable` where the ledger cannot be read.
 */
export async function scanSessions(ledger: LedgerReader, query: SessionQuery): Promise<SessionUse[]> {
  const sums = new Map<string, SessionUse>()
  const add = (row: SessionUse): void => {
    const name = `${row.key.length} ${row.key}${row.session}`
    const sum = sums.get(name)
    if (!sum && sums.size === MOST_SESSIONS)
      throw new Fault('bad_request', { message: `since: the period has more than ${MOST_SESSIONS} sessions: name a shorter one, or a key` })
    sums.set(name, sum ? addSession(sum, row) : row)
  }
  const { sessionPage } = ledger
  if (sessionPage) await eachPage((after) => sessionPage.call(ledger, query, after), add, SLICE_MS)
  else
    await eachSettled(ledger, query, (record, settled) => {
      const row = rowOf(record, settled)
      if (row && (query.session === undefined || row.session === query.session)) add(row)
    })
  return [...sums.values()].sort((a, b) => b.last - a.last || byText(a.session, b.session) || byText(a.key, b.key))
}

const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

function addSession(a: SessionUse, b: SessionUse): SessionUse {
  const added = b.models.filter((model) => !a.models.includes(model))
  return {
    key: a.key,
    session: a.session,
    models: added.length === 0 ? a.models : [...a.models, ...added],
    requests: a.requests + b.requests,
    failed: a.failed + b.failed,
    cost: a.cost + b.cost,
    input: a.input + b.input,
    output: a.output + b.output,
    cached: a.cached + b.cached,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    reasoning: a.reasoning + b.reasoning,
    cacheSaved: a.cacheSaved + b.cacheSaved,
    first: Math.min(a.first, b.first),
    last: Math.max(a.last, b.last),
  }
}

/** Undefined where the generation belongs to no session. */
function rowOf({ at, hold }: GenerationRecord, settled: NonNullable<GenerationRecord['settled']>): SessionUse | undefined {
  const { session_id: session, model, cache_discount: saved } = factsOf(settled)
  if (typeof session !== 'string' || session === '') return undefined
  const { cost, input, output, cached, cacheWrite, reasoning, status } = settled
  return {
    key: hold.key,
    session,
    models: [textOr(model, hold.model)],
    requests: 1,
    failed: status === 'failed' || status === 'unknown' ? 1 : 0,
    cost: BigInt(cost),
    input,
    output,
    cached,
    cacheWrite,
    reasoning,
    cacheSaved: savedNano(saved),
    first: at,
    last: at,
  }
}
