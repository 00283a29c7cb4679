/** Tools of this wire that single providers run, beside functions: an endpoint takes those of its quirk `provider_tools`. */

/**
 * Groq: npm groq-sdk 1.6.0, `ChatCompletionTool.type`, and console.groq.com/docs/tool-use/remote-mcp. Mistral: npm @mistralai/mistralai 2.7.0,
 * `ChatCompletionRequestTool`. Moonshot: platform.kimi.ai/docs/guide/use-web-search.
 */
export const PROVIDER_TOOLS: ReadonlySet<string> = new Set([
  'browser_search',
  'builtin_function',
  'code_interpreter',
  'connector',
  'document_library',
  'mcp',
  'web_search_premium',
])
