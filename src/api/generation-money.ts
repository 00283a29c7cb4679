/** The money of one recorded request, line by line: lines sum up to the charge exactly, in nano-dollars. */
import { isObject, type Json, type JsonObject } from '../core/json.ts'
import { usd } from '../core/money.ts'
import { rateText } from '../core/money-text.ts'
import { type BillPart, partAmounts, plainParts, readPart } from '../ledger/bill-lines.ts'
import { parseDetail, parseFacts } from '../ledger/facts.ts'
import type { GenerationRecord } from '../ledger/types.ts'

interface Line {
  readonly item: string
  /** Nano-dollars. */
  readonly nano: number
  readonly name?: string | undefined
  readonly model?: string | undefined
  readonly endpoint?: string | undefined
  readonly units?: number | undefined
  /** USD as a decimal text. */
  readonly unit_price?: string | undefined
}

/** Lines of the charge. A row that keeps no quantities has one line for the providers and one for the tools. */
export function moneyLines({ settled }: GenerationRecord): JsonObject[] {
  if (!settled) return []
  const facts = parseFacts(settled)
  const detail = parseDetail(facts)
  const unrecovered = asCount(facts.unrecovered_nano)
  const tools = asCount(facts.tools_cost)
  const lines = [
    ...modelLines(facts, detail, settled),
    ...asObjects(detail.charges).map(
      (charge): Line => ({
        item: 'tools',
        name: [charge.by, charge.what].filter((part) => typeof part === 'string').join(': '),
        units: asCount(charge.calls),
        nano: asCount(charge.nano),
      }),
    ),
  ]
  if (unrecovered > 0 && lines.length > 0) lines.push({ item: 'unrecovered', nano: -unrecovered })
  const ofTools = lines.reduce((sum, { item, nano }) => (item === 'tools' ? sum + nano : sum), 0)
  if (ofTools === 0 && tools > 0) lines.push({ item: 'tools', nano: tools })
  const rest = settled.cost - lines.reduce((sum, { nano }) => sum + nano, 0)
  if (lines.length === 0 || lines.every(({ item }) => item === 'tools')) lines.unshift({ item: 'providers', nano: rest })
  else if (rest !== 0) lines.push({ item: 'other', nano: rest })
  return lines.map(shown)
}

/** Parts of the hold and how they were settled, in USD and nano-dollars. */
export function reservationEntry({ hold, settled }: GenerationRecord): JsonObject {
  const parts = parseDetail(parseFacts(settled)).holds
  const held = Array.isArray(parts) ? parts.map(asCount) : [hold.hold]
  const cost = settled?.cost ?? 0
  return {
    held: held.map((nano) => ({ nano, usd: usd(nano) })),
    in_force: { nano: hold.hold, usd: usd(hold.hold) },
    charged: { nano: cost, usd: usd(cost) },
    released: { nano: Math.max(0, hold.hold - cost), usd: usd(Math.max(0, hold.hold - cost)) },
    beyond_hold: { nano: Math.max(0, cost - hold.hold), usd: usd(Math.max(0, cost - hold.hold)) },
  }
}

function modelLines(facts: JsonObject, detail: JsonObject, settled: NonNullable<GenerationRecord['settled']>): Line[] {
  if (facts.operation === 'passage')
    return settled.cost > 0 ? [{ item: 'request', units: 1, unit_price: text(settled.cost), nano: settled.cost }] : []
  if (typeof facts.rates === 'string') return priced(plainParts(facts.rates, settled), {})
  return asObjects(detail.bill).flatMap(({ model, endpoint, parts }) => {
    const read = Array.isArray(parts) ? parts.map(readPart).filter((part) => part !== undefined) : []
    return priced(read, { model: asText(model), endpoint: asText(endpoint) })
  })
}

function priced(parts: readonly BillPart[], of: Pick<Line, 'model' | 'endpoint'>): Line[] {
  const amounts = partAmounts(parts)
  return parts.map(({ what, units, rate }, at) => ({ item: what, ...of, units, unit_price: rateText(rate), nano: amounts[at] ?? 0 }))
}

function shown({ item, nano, name, model, endpoint, units, unit_price }: Line): JsonObject {
  return {
    item,
    name: name ?? null,
    model: model ?? null,
    endpoint: endpoint ?? null,
    units: units ?? null,
    unit_price: unit_price ?? null,
    nano,
    usd: usd(nano),
  }
}

const text = (nano: number): string => rateText(BigInt(nano) * 1_000_000_000n)
const asText = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined)
const asCount = (value: Json | undefined): number => (typeof value === 'number' ? value : 0)
const asObjects = (value: Json | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : [])
