/** The inputs of a plan, read from an exchange for its row: names and counts, never a text. */
import type { JsonObject } from '../../core/json.ts'
import type { PlanInputs } from '../../ledger/facts.ts'
import { isPlanParameter } from '../../ledger/plan-inputs.ts'
import type { Accepted, MaybeAimed } from '../exchange.ts'
import { callerCap, inputModalities, offersTools } from '../route/needs.ts'

/** Characters of the preferences, and models, that a row keeps: a request with more is planned without the rest. */
const LONGEST_PREFERENCES = 2000
const MOST_MODELS = 16

/** @param held slug of the model that the hold names. */
export function planInputs(exchange: Accepted & MaybeAimed, held: string | undefined): PlanInputs {
  const { request, wish } = exchange
  const { body, gateway, bytes } = request
  const { models, provider, route } = gateway
  const written = provider === undefined ? undefined : JSON.stringify(provider)
  const media = request.mayHoldMedia && !request.client.embedding ? inputModalities(exchange) : undefined
  return {
    requested: wish === undefined || wish.requested === held ? undefined : wish.requested,
    models: models.length > 0 ? models.slice(0, MOST_MODELS) : undefined,
    provider: written !== undefined && written.length <= LONGEST_PREFERENCES ? written : undefined,
    route: route ?? undefined,
    parameters: parametersOf(body),
    bytes,
    cap: callerCap(exchange),
    media: media && [...media],
    tools: offersTools(exchange) || undefined,
  }
}

function parametersOf(body: JsonObject): string[] | undefined {
  let names: string[] | undefined
  for (const name in body)
    if (isPlanParameter(name)) {
      if (names) names.push(name)
      else names = [name]
    }
  return names
}
