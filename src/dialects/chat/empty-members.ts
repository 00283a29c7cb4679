/**
 * Members of a message that hold nothing: servers that answer with the structs of OpenAI's Go SDK (github.com/openai/openai-go,
 * `ChatCompletionMessage`, which has no `omitempty`) send `function_call: {"name": "", "arguments": ""}` and an empty `audio` with every
 * reply, and clients take them for a call without a name and for sound.
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

/** A frame that is relayed unread must not have it. */
export const FUNCTION_CALL = '"function_call"'

const isEmpty = (value: Json | undefined): boolean => value === undefined || value === null || value === '' || value === 0

/** Takes such members out of a parsed delta or message, in place. @returns true where it had to. */
export function dropEmptyMembers(message: JsonObject): boolean {
  const { function_call: call, audio } = message
  let isChanged = false
  if (isObject(call) && Object.values(call).every(isEmpty)) {
    delete message.function_call
    isChanged = true
  }
  if (isObject(audio) && Object.values(audio).every(isEmpty)) {
    delete message.audio
    isChanged = true
  }
  return isChanged
}
