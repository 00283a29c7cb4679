/**
 * Fees of a request of the pass-through for what its provider runs: tools that the body offers, and searches of files. Tools go as they are,
 * so nothing but the body bounds their calls.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { PAID_TOOLS } from '../../core/price.ts'
import { type OutsideTable, USUAL_ADVICE } from '../../dialects/canon/outside-input.ts'
import { type Extras, holdFor, type Tariff } from '../../ledger/pricing.ts'
import { MAX_PAID_CALLS, maxRounds } from '../money/provider-rounds.ts'
import { type Fees, feesOfTools, IMAGES, USUAL_CALLS, unstatedFee, usualDrawing } from '../money/tool-fees.ts'
import { boundOr, listedTools, searchTools } from './native-input.ts'
import type { PricedModel } from './native-prices.ts'

export interface NativeFees {
  readonly of: Fees | undefined
  readonly advisors: readonly NativeAdvisor[]
  /** Calls as they are held, all that a report of the tools may have, and the same with searches of files. */
  readonly held: Extras
  readonly most: Extras
  readonly searched: Extras
}

/** Another model that a tool of the provider calls (Anthropic: `advisor_20260301`). */
interface NativeAdvisor {
  readonly model: string
  readonly most: Json | undefined
  /** Undefined where no price is known. */
  readonly tariff: Tariff | undefined
}

interface Setting {
  readonly wire: string
  readonly table: OutsideTable | undefined
  /** Price of a model, by the provider's name of it. */
  readonly price: (model: string) => Tariff | undefined
}

/** Field that bounds the calls of all tools together, by wire. */
const CALLS_FIELD: Readonly<Record<string, string>> = { 'openai-responses': 'max_tool_calls' }

export function nativeFees(body: JsonObject, { wire, table, price }: Setting): NativeFees {
  const tools = [...listedTools(body, wire), ...(table?.elsewhere?.(body) ?? [])]
  const of = feesOfTools(tools, mayHoldFiles(body))
  const advisors = tools
    .filter(({ type }) => ADVISOR.test(String(type)))
    .map(({ model, max_uses: most }) => ({
      model: String(model),
      most,
      tariff: typeof model === 'string' ? price(model) : undefined,
    }))
  const field = CALLS_FIELD[wire]
  const bound = field === undefined ? 0 : boundOr(body[field], 0)
  const calls = Math.min(MAX_PAID_CALLS, bound > 0 ? bound : maxRounds(wire) - 1)
  const usual = bound > 0 ? calls : USUAL_CALLS
  const offered = searchTools(body, wire, table)
  const searches = (each: number): number =>
    offered.reduce((sum, { max_uses: most }) => sum + boundOr(most, each), isObject(body.web_search_options) ? USUAL_CALLS : 0)
  const extras = (each: number, files: number, advice: number): Extras => ({
    advice: advisors.flatMap(({ most, tariff }) => (tariff === undefined ? [] : [{ uses: boundOr(most, advice), tariff }])),
    containers: of?.containers,
    webSearches: searches(each),
    toolCalls: Object.fromEntries(PAID_TOOLS.map((tool) => [tool, of?.tools.has(tool) ? (tool === 'document_search' ? files : each) : 0])),
    drawn: of?.tools.has(IMAGES) ? usualDrawing(bound > 0 ? bound : undefined) : 0,
  })
  return {
    of,
    advisors,
    held: extras(usual, USUAL_CALLS, USUAL_ADVICE),
    most: extras(calls, USUAL_CALLS, calls),
    searched: extras(calls, MAX_PAID_CALLS, calls),
  }
}

const ADVISOR = /^advisor_/

/** Nano-dollars that the fees of `more` are beyond those of `held`. @param input tokens that each question to an advisor shows it. */
export const feesBetween = (tariff: Tariff, input: number, { held, more }: { held: Extras; more: Extras }): number =>
  holdFor(tariff, input, 0, more).hold - holdFor(tariff, input, 0, held).hold

/** The first tool of which one of the models has no price: a key with a limit is never charged by an unknown price. */
export function unpricedTool({ of, advisors }: NativeFees, models: readonly PricedModel[]): string | undefined {
  const advisor = advisors.find(({ tariff }) => tariff === undefined)
  if (advisor) return `an advisor ${advisor.model}`
  for (const { price } of models) {
    const tool = typeof price === 'object' ? unstatedFee(of, price) : undefined
    if (tool !== undefined) return tool
  }
  return undefined
}

/** Charges beside the usage. @param tariff of the charge. */
export const chargedFees = ({ of, advisors }: NativeFees, tariff: Tariff): Extras => ({
  containers: of?.containers,
  modelTariff: (name) =>
    name === IMAGES && typeof tariff === 'object' ? tariff.drawing : advisors.find(({ model }) => model === name)?.tariff,
})

/** Members and types of a file, in any wire; and what may have some that are not in the body. */
const FILES = /^(?:(?:input_)?file|document|file_?(?:ids?|data|ur[il])|previous_response_id|conversation|item_reference)$/i

/** True where the conversation may have a file. */
function mayHoldFiles(body: JsonObject): boolean {
  const rest: (Json | undefined)[] = [body]
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (Array.isArray(value)) {
      for (const each of value) if (typeof each === 'object') rest.push(each)
    } else if (isObject(value)) {
      if (typeof value.type === 'string' && FILES.test(value.type)) return true
      for (const name in value) {
        const member = value[name]
        if (member === undefined || member === null) continue
        if (FILES.test(name)) return true
        if (typeof member === 'object') rest.push(member)
      }
    }
  }
  return false
}
