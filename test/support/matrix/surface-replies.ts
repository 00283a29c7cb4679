/** Every leaf that a provider can answer with, for each wire. Settings that a reply only echoes are not among them. */
import type { WireName } from '../wire.ts'
import { bytes, like, number, pick, type Surface, text } from './markers.ts'
import { CHAT_REPLIES, RESPONSES_REPLIES } from './surface-replies-openai.ts'

const url = like('https://a.example/*')

const ANTHROPIC_USAGE = {
  input_tokens: number(10007, 10009),
  output_tokens: number(5003, 5009),
  cache_read_input_tokens: number(1009),
  cache_creation_input_tokens: 503,
  cache_creation: { ephemeral_5m_input_tokens: 330, ephemeral_1h_input_tokens: number(173) },
  output_tokens_details: { thinking_tokens: number(701) },
  server_tool_use: { web_search_requests: number(7), web_fetch_requests: number(19) },
  // Callers see a fast reply as the tier `priority`, whatever tier stands beside it.
  service_tier: pick('standard', 'priority'),
  inference_geo: text,
  speed: pick('standard', 'fast'),
}

const anthropic = (content: readonly Surface[], more: { [key: string]: Surface } = {}): Surface => ({
  id: 'msg_upstream',
  type: 'message',
  role: 'assistant',
  model: 'upstream-model',
  content,
  stop_reason: 'end_turn',
  stop_sequence: null,
  stop_details: null,
  container: null,
  usage: { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
  ...more,
})

const cited = { cited_text: text, document_index: number(17), document_title: text }

const ANTHROPIC: Readonly<Record<string, Surface>> = {
  envelope: anthropic([{ type: 'text', text, citations: null }], {
    id: like('msg_*'),
    model: text,
    usage: ANTHROPIC_USAGE,
    stop_reason: pick('end_turn', 'max_tokens'),
  }),
  'stop sequence': anthropic([{ type: 'text', text, citations: null }], { stop_reason: 'stop_sequence', stop_sequence: text }),
  refusal: anthropic([{ type: 'text', text, citations: null }], {
    stop_reason: 'refusal',
    stop_details: { type: 'refusal', category: pick('cyber', 'bio'), explanation: text },
  }),
  'container and context': anthropic([{ type: 'text', text, citations: null }], {
    container: { id: text, expires_at: text, skills: null },
    context_management: {
      applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: number(17), cleared_input_tokens: number(7001) }],
    },
  }),
  thinking: anthropic([
    { type: 'thinking', thinking: text, signature: text },
    { type: 'redacted_thinking', data: text },
    { type: 'text', text: 'So.', citations: null },
  ]),
  calls: anthropic(
    [
      { type: 'tool_use', id: like('toolu_*'), name: text, input: { mark: text }, caller: { type: 'direct' } },
      { type: 'tool_use', id: like('toolu_*'), name: text, input: { mark: text }, caller: { type: 'direct' } },
    ],
    { stop_reason: 'tool_use' },
  ),
  'citations of the web': anthropic([
    {
      type: 'text',
      text: 'A text with sources.',
      citations: [{ type: 'web_search_result_location', url, title: text, encrypted_index: text, cited_text: text }],
    },
  ]),
  'citations of documents': anthropic([
    {
      type: 'text',
      text: 'A text with sources.',
      citations: [
        { type: 'char_location', ...cited, file_id: text, start_char_index: number(311), end_char_index: number(313) },
        { type: 'page_location', ...cited, file_id: text, start_page_number: number(317), end_page_number: number(331) },
        { type: 'content_block_location', ...cited, file_id: text, start_block_index: number(337), end_block_index: number(347) },
        {
          type: 'search_result_location',
          cited_text: text,
          source: text,
          title: text,
          search_result_index: number(349),
          start_block_index: number(353),
          end_block_index: number(359),
        },
      ],
    },
  ]),
  'tools of the provider': anthropic([
    { type: 'server_tool_use', id: like('srvtoolu_*'), name: 'web_search', input: { query: text }, caller: { type: 'direct' } },
    {
      type: 'web_search_tool_result',
      tool_use_id: text,
      content: [{ type: 'web_search_result', url, title: text, encrypted_content: text, page_age: text }],
      caller: { type: 'direct' },
    },
    {
      type: 'code_execution_tool_result',
      tool_use_id: text,
      content: {
        type: 'code_execution_result',
        stdout: text,
        stderr: text,
        return_code: number(71),
        content: [{ type: 'code_execution_output', file_id: text }],
      },
    },
    { type: 'container_upload', file_id: text },
    { type: 'text', text: 'So.', citations: null },
  ]),
}

const GEMINI_USAGE = {
  promptTokenCount: number(10007, 10009),
  cachedContentTokenCount: number(1009),
  candidatesTokenCount: number(5003, 5009),
  thoughtsTokenCount: number(701),
  toolUsePromptTokenCount: number(73),
  totalTokenCount: 15784,
  promptTokensDetails: [
    { modality: 'TEXT', tokenCount: 9700 },
    { modality: 'AUDIO', tokenCount: number(307) },
  ],
  candidatesTokensDetails: [
    { modality: 'IMAGE', tokenCount: number(53) },
    { modality: 'AUDIO', tokenCount: number(101) },
  ],
  trafficType: pick('PROVISIONED_THROUGHPUT', 'ON_DEMAND'),
}

const gemini = (parts: readonly Surface[], candidate: { [key: string]: Surface } = {}, more: { [key: string]: Surface } = {}): Surface => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP', index: 0, ...candidate }],
  usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  modelVersion: 'upstream-model',
  responseId: 'response-upstream',
  ...more,
})

const GEMINI: Readonly<Record<string, Surface>> = {
  envelope: gemini(
    [{ text }],
    { finishReason: pick('STOP', 'MAX_TOKENS') },
    { responseId: text, modelVersion: text, createTime: text, usageMetadata: GEMINI_USAGE },
  ),
  'a word on the end': gemini([{ text }], {
    finishReason: 'SAFETY',
    finishMessage: text,
    safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: pick('HIGH', 'LOW') }],
  }),
  thoughts: gemini([
    { text, thought: true },
    { text: 'So.', thoughtSignature: bytes },
  ]),
  calls: gemini([
    { functionCall: { id: like('call-*'), name: text, args: { mark: text } }, thoughtSignature: bytes },
    { functionCall: { id: like('call-*'), name: text, args: { mark: text } } },
  ]),
  image: gemini([{ text: 'Look: ' }, { '#': 'image', inlineData: { mimeType: 'image/png', data: bytes } }]),
  audio: gemini([{ '#': 'audio', inlineData: { mimeType: 'audio/wav', data: bytes } }]),
  'code that ran': gemini([
    { executableCode: { id: text, language: pick('PYTHON', 'LANGUAGE_UNSPECIFIED'), code: text } },
    { codeExecutionResult: { id: text, outcome: pick('OUTCOME_OK', 'OUTCOME_FAILED'), output: text } },
    { text: 'So.' },
  ]),
  grounding: gemini([{ text: 'A text with sources.' }], {
    groundingMetadata: {
      webSearchQueries: [text],
      searchEntryPoint: { renderedContent: text },
      groundingChunks: [{ web: { uri: url, title: text, domain: text } }],
      groundingSupports: [
        {
          segment: { startIndex: number(3), endIndex: number(5), text },
          groundingChunkIndices: [0],
          confidenceScores: [number(0.517, 0.5)],
        },
      ],
    },
  }),
  'cited sources': gemini([{ text: 'A text with sources.' }], {
    citationMetadata: { citations: [{ uri: url, title: text, license: text, startIndex: number(3), endIndex: number(5) }] },
  }),
  'pages that were read': gemini([{ text: 'So.' }], {
    urlContextMetadata: {
      urlMetadata: [{ retrievedUrl: url, urlRetrievalStatus: pick('URL_RETRIEVAL_STATUS_SUCCESS', 'URL_RETRIEVAL_STATUS_ERROR') }],
    },
  }),
  logprobs: gemini([{ text: 'ok' }], {
    avgLogprobs: number(-0.713, -0.7),
    logprobsResult: {
      chosenCandidates: [{ token: text, tokenId: number(1973), logProbability: number(-0.517, -0.5) }],
      topCandidates: [{ candidates: [{ token: text, tokenId: number(1979), logProbability: number(-1.519, -1.5) }] }],
    },
  }),
}

export const REPLIES: Readonly<Record<WireName, Readonly<Record<string, Surface>>>> = {
  'openai-chat': CHAT_REPLIES,
  'openai-responses': RESPONSES_REPLIES,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
}
