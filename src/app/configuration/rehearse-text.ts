/** Outcomes of recorded requests under the running text and under one that came with a request. Runs in a thread of its own. */

import type { Outcome, RehearsalAsk, RehearsalResult } from '../../api/configuration.ts'
import type { Config } from '../../config/config.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { toRowCounts } from '../../core/row-counts.ts'
import { noUsage } from '../../dialects/canon/usage.ts'
import { replayBody } from '../../ledger/plan-inputs.ts'
import { charge, tariffAt } from '../../ledger/pricing.ts'
import type { SettleRow } from '../../ledger/types.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import { underIssuer } from '../../store/issued-keys.ts'
import { StoredSettings } from '../guardrail-settings.ts'
import type { Rehearsed } from '../rehearsal/plan-text.ts'
import { Rehearsal } from '../rehearsal/rehearsal.ts'
import { harmless } from './harmless.ts'
import { type RehearseJob, withoutFile } from './job.ts'
import { readSubmitted } from './submitted.ts'

const MAX_MESSAGE_LENGTH = 300

export async function rehearseText(job: RehearseJob): Promise<RehearsalResult> {
  const { submitted, running } = job
  const { config, problems, unchecked } = await readSubmitted(submitted)
  const notChecked = unchecked.map((each) => ({ ...each }))
  if (!config) return { problems: problems.map((problem) => ({ ...withoutFile(problem) })), notChecked, outcomes: [] }
  const before = (await readSubmitted({ ...submitted, text: running })).config
  const draws = new RepeatedDraws()
  const planned = await buildStage(config, job, draws.clock)
  const today = before && (await buildStage(before, job, draws.clock))
  try {
    return { problems: [], notChecked, outcomes: await rehearseAll(job, { today, planned }, draws) }
  } finally {
    await planned.close()
    await today?.close()
  }
}

async function rehearseAll(
  { plannedRequests, planning }: RehearseJob,
  { today, planned }: { today: Stage | undefined; planned: Stage },
  draws: RepeatedDraws,
): Promise<RehearsalResult['outcomes']> {
  const outcomes: { today: Outcome | null; planned: Outcome }[] = []
  const end = systemClock.monotonic() + planning
  for (const [at, ask] of plannedRequests.entries()) {
    if (systemClock.monotonic() >= end) break
    draws.begin(at)
    const now = today ? await today.outcome(ask) : null
    draws.begin(at)
    outcomes.push({ today: now, planned: await planned.outcome(ask) })
  }
  return outcomes
}

/** Draws the same numbers for the same request, so that no difference is one of chance. */
class RepeatedDraws {
  private state = 0
  readonly clock: Clock = { ...systemClock, random: () => this.next() }

  begin(request: number): void {
    this.state = request
    for (let i = 0; i < 3; i++) this.next()
  }

  /** A linear congruential generator with the constants of Numerical Recipes. */
  private next(): number {
    this.state = (Math.imul(this.state, 1_664_525) + 1_013_904_223) >>> 0
    return this.state / 2 ** 32
  }
}

async function buildStage(config: Config, { guardrails, listings }: RehearseJob, clock: Clock): Promise<Stage> {
  const settings = new StoredSettings()
  await settings.prepare(guardrails)
  return new Stage(new Rehearsal(harmless(config, listings), clock, { stored: settings.of(guardrails), listings }))
}

/** One configuration, with the plans that are made under it. */
class Stage {
  private readonly rehearsal: Rehearsal

  constructor(rehearsal: Rehearsal) {
    this.rehearsal = rehearsal
  }

  async outcome(ask: RehearsalAsk): Promise<Outcome> {
    const { record } = ask
    const body = replayBody(record)
    if (!body) throw new Error('a record without inputs')
    const own = this.keyHere(ask)
    if (!own) return { status: 401, type: 'authentication', message: 'The configuration does not have the key of the request' }
    // What was sent in an hour is planned in a second.
    const plan = await this.rehearsal.plan({ ...body, key: { ...own, limits: {} } })
    return this.toOutcome(plan, record.settled)
  }

  close(): Promise<void> {
    return this.rehearsal.close()
  }

  /** The key as this configuration has it; one of the store stays as it is, but for the key of a configuration that issued it. */
  private keyHere({ key, written, issuerWritten }: RehearsalAsk): ApiKey | undefined {
    const named = ({ identity }: ApiKey): ApiKey | undefined => this.rehearsal.keys.find((each) => each.identity === identity)
    if (written) return named(key)
    if (!issuerWritten || !key.issuer) return key
    const issuer = named(key.issuer)
    return issuer && underIssuer(key, issuer)
  }

  private toOutcome(found: Rehearsed, settled: SettleRow | undefined): Outcome {
    if (found.kind === 'refused') return refusal(found.status, found.body)
    const [first] = found.plan.candidates
    if (!first) return { status: 503, type: null, message: 'No endpoint' }
    const { model, provider, endpoint: tag, price } = first
    const endpoint = this.rehearsal.endpoint(model, tag)
    const tariff = endpoint ? tariffAt(endpoint, systemClock.now()) : 'unpriced'
    const counts = settled ? toRowCounts(settled) : undefined
    const cost = tariff === 'unpriced' ? null : charge({ ...noUsage(), ...counts }, tariff).total
    return { model, provider_name: provider, endpoint: `${model}@${tag}`, price, cost }
  }
}

function refusal(status: number, { error }: JsonObject): Outcome {
  const { message, metadata } = isObject(error) ? error : {}
  const type = isObject(metadata) && typeof metadata.error_type === 'string' ? metadata.error_type : null
  return { status, type, message: typeof message === 'string' ? message.slice(0, MAX_MESSAGE_LENGTH) : '' }
}
