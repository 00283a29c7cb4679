/** The inputs of a plan, read from an exchange for its row: names and counts, never a text. */
import type { JsonObject } from '../../core/json.ts'
import { isPlanParameter } from '../../ledger/plan-inputs.ts'
import type { Accepted, MaybeAimed } from '../exchange.ts'
import { callerCap, inputModalities, offersTools } from '../route/needs.ts'

/** Characters of the preferences, and models, that a row keeps: a request with more is planned without the rest. */
const LONGEST_PREFERENCES = 2000
const MOST_MODELS = 16

/**
 * `PlanInputs` as JSON text, made without the object: most requests have two or three of its members.
 * @param held slug of the model that the hold names.
 */
export function planInputsText(exchange: Accepted & MaybeAimed, held: string | undefined): string {
  const { request, wish } = exchange
  const { models, provider, route } = request.gateway
  let text = '{'
  if (wish !== undefined && wish.requested !== held) text += `"requested":${JSON.stringify(wish.requested)},`
  if (models.length > 0) text += `"models":${JSON.stringify(models.slice(0, MOST_MODELS))},`
  if (provider !== undefined) {
    const written = JSON.stringify(provider)
    if (written.length <= LONGEST_PREFERENCES) text += `"provider":${JSON.stringify(written)},`
  }
  if (route) text += `"route":${JSON.stringify(route)},`
  text += `${parametersText(request.body)}"bytes":${request.bytes}`
  const cap = callerCap(exchange)
  if (cap !== undefined) text += `,"cap":${cap}`
  const media = request.client.embedding ? undefined : inputModalities(exchange)
  if (media) text += `,"media":${JSON.stringify([...media])}`
  return offersTools(exchange) ? `${text},"tools":true}` : `${text}}`
}

/** Names that have no character to escape. */
function parametersText(body: JsonObject): string {
  let names = ''
  for (const name in body) if (isPlanParameter(name)) names += names === '' ? `"${name}"` : `,"${name}"`
  return names === '' ? '' : `"parameters":[${names}],`
}
