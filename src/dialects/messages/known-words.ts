/**
 * Types of events, blocks and deltas of this wire that are known, whether they are read, passed on or passed over (npm @anthropic-ai/sdk
 * 1.14.0, `BetaRawMessageStreamEvent`, `BetaContentBlock`, `BetaRawContentBlockDelta`). `test/drift/decisions.ts` says which.
 */
const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

export const KNOWN_BLOCKS = words(`
  advisor_tool_result bash_code_execution_tool_result code_execution_tool_result compaction container_upload fallback mcp_tool_listing
  mcp_tool_result mcp_tool_use redacted_thinking server_tool_use text text_editor_code_execution_tool_result thinking
  tool_search_tool_result tool_use web_fetch_tool_result web_search_tool_result`)

/** Beside those of a reply: by this one the provider keeps the connection open (platform.claude.com, Streaming messages, "Ping events"). */
export const KNOWN_EVENTS = words(`
  content_block_delta content_block_start content_block_stop error message_delta message_start message_stop ping`)

export const KNOWN_DELTAS = words('citations_delta compaction_delta input_json_delta signature_delta text_delta thinking_delta')
