/** Verdict on a rehearsed request: it met its expectation, or the place where they part. */
import { entryAt } from '../../core/entry-at.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { nanoFromUsd } from '../../core/money-text.ts'
import type { Plan } from '../../pipeline/plan/answer.ts'
import type { Rehearsed } from './plan-text.ts'
import type { Expectation } from './policy-fixture.ts'

/** @returns lines that say what differs; none where all holds. */
export function differences(expect: Expectation, found: Rehearsed): string[] {
  if (found.kind === 'refused') {
    const excluded = excludedDifferences(expect, listExcluded(found.body))
    return [...refusalDifferences(expect, found), ...excluded, ...listDifference('policies', expect.policies, refusingPolicy(found.body))]
  }
  const { plan } = found
  return [
    ...(expect.error ? [`expected an error, found ${planTags(plan).join(', ')}`] : []),
    ...orderDifferences(expect, plan),
    ...listDifference('models', expect.models, plan.models),
    ...listDifference('plugins', expect.plugins, plan.plugins),
    ...listDifference('guardrails', expect.guardrails, plan.guardrails),
    ...listDifference(
      'policies',
      expect.policies,
      plan.policies.map(({ name }) => name),
    ),
    ...(expect.strategy === undefined || expect.strategy === plan.strategy
      ? []
      : [`strategy: expected ${expect.strategy}, found ${plan.strategy}`]),
    ...excludedDifferences(expect, plan.excluded),
    ...holdDifferences(expect, plan),
  ]
}

type Refused = Extract<Rehearsed, { kind: 'refused' }>

function refusalDifferences({ error }: Expectation, { status, body }: Refused): string[] {
  const found = isObject(body.error) ? body.error : {}
  const message = String(found.message)
  if (!error) return [`refused with ${status}: ${message}`]
  const metadata = isObject(found.metadata) ? found.metadata : {}
  const availability = isObject(found.availability) ? found.availability : {}
  const lines: string[] = []
  const compare = (what: string, expected: string | number | undefined, actual: unknown): void => {
    if (expected !== undefined && expected !== actual) lines.push(`error.${what}: expected ${expected}, found ${String(actual ?? 'none')}`)
  }
  compare('status', error.status, status)
  compare('type', error.type, metadata.error_type)
  compare('code', error.code, availability.code)
  if (error.message !== undefined && !message.includes(error.message))
    lines.push(`error.message: expected "${error.message}" in: ${message}`)
  return lines
}

interface Place {
  model: string
  endpoint: string
}

const names = (tag: string, place: Place | undefined): boolean =>
  place !== undefined && (tag === place.endpoint || tag === `${place.model}@${place.endpoint}`)

/** With the model where there are several. */
function planTags({ candidates }: Plan): string[] {
  const several = new Set(candidates.map(({ model }) => model)).size > 1
  return candidates.map(({ model, endpoint }) => (several ? `${model}@${endpoint}` : endpoint))
}

function orderDifferences({ order, first }: Expectation, plan: Plan): string[] {
  const { candidates } = plan
  const lines: string[] = []
  if (first !== undefined && !names(first, candidates[0])) lines.push(`first: expected ${first}, found ${planTags(plan)[0] ?? 'none'}`)
  const agrees = order === undefined || (order.length === candidates.length && order.every((tag, i) => names(tag, candidates[i])))
  if (order && !agrees) {
    lines.push('order: - expected, + found')
    for (const line of orderDiff(order, planTags(plan), (tag, at) => names(tag, candidates[at]))) lines.push(`  ${line}`)
  }
  return lines
}

function listDifference(what: string, expected: readonly string[] | undefined, found: readonly string[]): string[] {
  if (!expected || (expected.length === found.length && expected.every((entry, i) => entry === found[i]))) return []
  const shown = (list: readonly string[]): string => `[${list.join(', ')}]`
  return [`${what}: expected ${shown(expected)}, found ${shown(found)}`]
}

/** The policy that has refused the request; a list of none or one. */
function refusingPolicy(body: JsonObject): string[] {
  const metadata = isObject(body.error) && isObject(body.error.metadata) ? body.error.metadata : {}
  return typeof metadata.policy === 'string' ? [metadata.policy] : []
}

function listExcluded(body: JsonObject): Excluded[] {
  const metadata = isObject(body.error) && isObject(body.error.metadata) ? body.error.metadata : {}
  if (!Array.isArray(metadata.excluded)) return []
  return metadata.excluded.filter(isObject).map(({ model, endpoint, filter }) => ({
    model: String(model),
    endpoint: String(endpoint),
    filter: String(filter),
  }))
}

interface Excluded extends Place {
  filter: string
}

function excludedDifferences({ excluded }: Expectation, found: readonly Excluded[]): string[] {
  const lines: string[] = []
  for (const [tag, filter] of Object.entries(excluded ?? {})) {
    const filters = [...new Set(found.filter((entry) => names(tag, entry)).map((entry) => entry.filter))]
    if (filters.length === 0) lines.push(`excluded: expected ${tag} by ${filter}, but it is not left out`)
    else if (filters.some((one) => one !== filter)) lines.push(`excluded: expected ${tag} by ${filter}, found ${filters.join(', ')}`)
  }
  return lines
}

function holdDifferences({ hold_at_most_usd: most }: Expectation, { hold }: Plan): string[] {
  if (most === undefined || (nanoFromUsd(hold.usd) ?? 0) <= (nanoFromUsd(most) ?? 0)) return []
  return [`hold: expected at most $${most}, found $${hold.usd}`]
}

/**
 * Two orders line by line: what both have, what was expected and is missing, what is there and was not expected.
 * @param same true where an expected entry names a found one.
 * @returns lines that begin with two spaces, `- ` or `+ `.
 */
function orderDiff(expected: readonly string[], found: readonly string[], same: (expected: string, at: number) => boolean): string[] {
  const longest = commonLengths(expected, found, same)
  const lines: string[] = []
  let e = 0
  let f = 0
  while (e < expected.length || f < found.length) {
    const wanted = expected[e]
    if (wanted !== undefined && f < found.length && same(wanted, f)) {
      lines.push(`  ${found[f++]}`)
      e++
    } else if (f === found.length || (wanted !== undefined && longest(e + 1, f) >= longest(e, f + 1))) {
      lines.push(`- ${wanted}`)
      e++
    } else lines.push(`+ ${found[f++]}`)
  }
  return lines
}

/** Length of the longest common order of what follows each pair of places. */
function commonLengths(
  expected: readonly string[],
  found: readonly string[],
  same: (expected: string, at: number) => boolean,
): (e: number, f: number) => number {
  const lengths = expected.map(() => new Array<number>(found.length).fill(0))
  // Behind the end of either nothing follows.
  const from = (e: number, f: number): number => lengths[e]?.[f] ?? 0
  for (const [e, row] of [...lengths.entries()].reverse()) {
    const wanted = entryAt(expected, e)
    for (let f = found.length - 1; f >= 0; f--) row[f] = same(wanted, f) ? from(e + 1, f + 1) + 1 : Math.max(from(e + 1, f), from(e, f + 1))
  }
  return from
}
