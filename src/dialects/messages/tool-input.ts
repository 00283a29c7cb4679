/** Arguments of a call, which other wires keep as text, as the object that this wire wants. */
import { isObject, type JsonObject, objectWithin } from '../../core/json.ts'
import { argumentsText, isBroken } from '../canon/call-arguments.ts'
import { withSignature } from './reasoning-block.ts'

/**
 * @returns `{}` for no arguments. Text that is no JSON object, such as one that was cut off, comes back whole under
 * `INVALID_JSON`: a tool then fails by its own check instead of running with arguments that the model did not send.
 */
export function parsedInput(args: string): JsonObject {
  if (args === '') return {}
  return objectWithin(args) ?? { INVALID_JSON: args }
}

/** Makes the input of a call an object, in place, where a provider sent it as text or not at all. @returns true where it had to. */
export function withInput(block: JsonObject): boolean {
  if (block.type !== 'tool_use' || isObject(block.input)) return false
  block.input = parsedInput(argumentsText(block.input).trim())
  return true
}

/** As `withInput` and `withSignature`, of a whole list. @returns true where the text of any is no JSON. */
export function withInputs(content: readonly JsonObject[]): boolean {
  let areBroken = false
  for (const block of content) {
    if (block.type === 'tool_use') areBroken ||= isBroken(argumentsText(block.input))
    withInput(block)
    withSignature(block)
  }
  return areBroken
}
