/** Facts that the pass lane reads off an upstream's Response object. */
import { asObjects, type JsonObject } from '../../core/json.ts'
import { endBroken } from '../canon/ends.ts'
import { StreamWords } from '../canon/stream-words.ts'
import type { PassFacts } from '../types.ts'
import { isCallItem } from './decode-output-item.ts'
import { hasFailed } from './decode-result.ts'
import { responseEnd } from './ends.ts'
import { decodeFault } from './fault.ts'
import { finishCalls } from './finish-calls.ts'
import { mendItem } from './item-places.ts'
import { noteItems } from './known-words.ts'
import { decodeUsage, type ShownItems } from './usage.ts'

/**
 * Usage, end and fault of an upstream's Response object. The arguments of its calls are put right in place.
 * @param strange what its stream has had that nothing knows. @param shown what its stream has shown. @param isBroken true where that had arguments that are no JSON.
 */
export function responseFacts(response: JsonObject, strange = new StreamWords(), shown?: ShownItems, isBroken = false): PassFacts {
  const facts: PassFacts = {}
  const usage = decodeUsage(response, shown)
  if (usage) facts.usage = usage
  if (hasFailed(response)) facts.fault = decodeFault(200, response)
  else {
    facts.end = responseEnd(response, asObjects(response.output).some(isCallItem))
    noteItems(strange, response.output)
    for (const item of asObjects(response.output)) mendItem(item)
    strange.addTo(facts.end)
    if (finishCalls(response.output) || isBroken) facts.fault = endBroken(facts.end)
  }
  return facts
}
