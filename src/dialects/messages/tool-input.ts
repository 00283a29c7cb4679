/** Arguments of a call, which other wires keep as text, as the object that this wire wants. */
import { type JsonObject, objectWithin } from '../../core/json.ts'

/**
 * @returns `{}` for no arguments. Text that is no JSON object, such as one that was cut off, comes back whole under
 * `INVALID_JSON`: a tool then fails by its own check instead of running with arguments that the model did not send.
 */
export function parsedInput(args: string): JsonObject {
  if (args === '') return {}
  return objectWithin(args) ?? { INVALID_JSON: args }
}
