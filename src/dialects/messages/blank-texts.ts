/**
 * Blocks of text without a letter: models of this wire write them (recorded: test_anthropic_opus_46_features, "\n\n" in front of a
 * thought), and the API refuses them from then on in every turn: "text content blocks must contain non-whitespace text"
 * (github.com/anthropics/claude-code/issues/23440, github.com/NousResearch/hermes-agent/pull/69517).
 */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

const isBlank = (block: Json): boolean =>
  isObject(block) && block.type === 'text' && typeof block.text === 'string' && !/\S/.test(block.text)

/** @returns the same message where nothing changes; undefined for a turn of the model that says nothing else. */
function withoutBlanks(message: Json): Json | undefined {
  if (!isObject(message) || !Array.isArray(message.content) || !message.content.some(isBlank)) return message
  const content = message.content.filter((block) => !isBlank(block))
  if (content.length > 0) return { ...message, content }
  return message.role === 'assistant' ? undefined : message
}

/** Leaves them out of a body, in place; a message of the user that has nothing else stays for the provider to judge. */
export function dropBlankTexts(body: JsonObject): void {
  const { messages } = body
  if (!Array.isArray(messages)) return
  let changed: Json[] | undefined
  for (const [index, message] of messages.entries()) {
    const fitted = withoutBlanks(message)
    if (fitted !== message) changed ??= messages.slice(0, index)
    if (fitted !== undefined) changed?.push(fitted)
  }
  if (changed) body.messages = changed
}
