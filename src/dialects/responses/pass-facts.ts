/** What the pass lane reads off an upstream's Response object. */
import { type JsonObject, objectsOf } from '../../core/json.ts'
import type { PassFacts } from '../types.ts'
import { hasFailed } from './decode-result.ts'
import { decodeFault, endOf } from './fault.ts'
import { decodeUsage, type ShownItems } from './usage.ts'
import { isCallItem } from './whole-item.ts'

/** Usage, end and fault of an upstream's Response object. @param shown what its stream has shown. */
export function factsOf(response: JsonObject, shown?: ShownItems): PassFacts {
  const facts: PassFacts = {}
  const usage = decodeUsage(response, shown)
  if (usage) facts.usage = usage
  if (hasFailed(response)) facts.fault = decodeFault(200, response)
  else facts.end = endOf(response, objectsOf(response.output).some(isCallItem))
  return facts
}
