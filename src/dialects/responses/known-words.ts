/**
 * Types of events, items and parts of this wire that are known, whether they are read, passed on or passed over (npm openai 7.59.0,
 * `ResponseStreamEvent`, `ResponseOutputItem`). `test/drift/decisions.ts` says which.
 */
import { asObjects, type Json } from '../../core/json.ts'
import type { StreamWords } from '../canon/stream-words.ts'

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Events that no handler reads: callers of this wire get them as they are. */
export const PASSED_EVENTS = words(`
  response.audio.delta response.audio.done response.audio.transcript.delta response.audio.transcript.done
  response.code_interpreter_call.completed response.code_interpreter_call.in_progress response.code_interpreter_call.interpreting
  response.code_interpreter_call_code.delta response.code_interpreter_call_code.done response.compaction.compacting
  response.file_search_call.completed response.file_search_call.in_progress response.file_search_call.searching
  response.image_generation_call.completed response.image_generation_call.generating response.image_generation_call.in_progress
  response.mcp_call.completed response.mcp_call.failed response.mcp_call.in_progress response.mcp_call_arguments.delta
  response.mcp_call_arguments.done response.mcp_list_tools.completed response.mcp_list_tools.failed
  response.mcp_list_tools.in_progress response.shell_call_command.added response.shell_call_command.delta
  response.shell_call_command.done response.shell_call_output_content.delta response.shell_call_output_content.done
  response.web_search_call.completed response.web_search_call.in_progress response.web_search_call.searching`)

/** Events that are read elsewhere than by the decoder of streams, and those by which servers keep a connection open. */
const OTHER_EVENTS = words(`
  error keepalive ping heartbeat response.custom_tool_call_input.delta response.custom_tool_call_input.done
  response.image_generation_call.partial_image response.reasoning_summary_part.done`)

export const KNOWN_ITEMS = words(`
  additional_tools apply_patch_call apply_patch_call_output code_interpreter_call compaction computer_call computer_call_output
  custom_tool_call custom_tool_call_output file_search_call function_call function_call_output image_generation_call local_shell_call
  local_shell_call_output mcp_approval_request mcp_approval_response mcp_call mcp_list_tools message program program_output reasoning
  shell_call shell_call_output tool_search_call tool_search_output web_search_call`)

const PARTS = words('output_text refusal reasoning_text summary_text')

/** @param type of an event that no handler is for. */
export function noteEvent(found: StreamWords, type: unknown): void {
  if (typeof type === 'string' && !OTHER_EVENTS.has(type)) found.note('event', type, PASSED_EVENTS)
}

/** @param part of a message. */
export const notePart = (found: StreamWords, type: unknown): void => found.note('part', type, PARTS)

/** @param output the items of a reply. */
export function noteItems(found: StreamWords, output: Json | undefined): void {
  for (const { type, content } of asObjects(output)) {
    found.note('item', type, KNOWN_ITEMS)
    if (type === 'message') for (const part of asObjects(content)) notePart(found, part.type)
  }
}
