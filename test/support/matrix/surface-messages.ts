/** Every leaf that a Messages caller can send (docs/contract.md#messages, types of @anthropic-ai/sdk 1.12.0). */
import { bytes, like, number, pick, type Surface, text } from './markers.ts'

const cache = { type: 'ephemeral', ttl: pick('1h', '5m') }
const hello = { role: 'user', content: 'Hello' }
const max_tokens = 4096

const CITATIONS = [
  {
    type: 'web_search_result_location',
    url: like('https://a.example/*'),
    title: text,
    encrypted_index: text,
    cited_text: text,
  },
  {
    type: 'char_location',
    cited_text: text,
    document_index: 0,
    document_title: text,
    start_char_index: number(311),
    end_char_index: number(313),
  },
]

const DOCUMENTS = [
  {
    type: 'document',
    source: { type: 'base64', media_type: 'application/pdf', data: bytes },
    title: text,
    context: text,
    citations: { enabled: pick(true, false) },
  },
  { type: 'document', source: { type: 'url', url: like('https://a.example/*.pdf') } },
  { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, title: text },
  { type: 'document', source: { type: 'content', content: [{ type: 'text', text }] } },
]

const IMAGES = [
  { type: 'image', source: { type: 'base64', media_type: 'image/png', data: bytes } },
  { type: 'image', source: { type: 'url', url: like('https://a.example/*.png') } },
]

const storedFile = (type: 'document' | 'image'): Surface => ({
  messages: [{ role: 'user', content: [{ type, source: { type: 'file', file_id: like('file_*') } }] }],
  max_tokens,
})

const SEARCH_RESULT = {
  type: 'search_result',
  source: text,
  title: text,
  content: [{ type: 'text', text }],
  citations: { enabled: pick(true, false) },
}

const CONVERSATION = [
  { role: 'user', content: [{ type: 'text', text, cache_control: cache }, ...IMAGES, ...DOCUMENTS, SEARCH_RESULT] },
  { role: 'assistant', content: text },
  { role: 'user', content: text },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: text, signature: text },
      { type: 'redacted_thinking', data: text },
      { type: 'text', text, citations: CITATIONS },
      { type: 'tool_use', id: 'toolu_1', name: text, input: { mark: text }, cache_control: cache, caller: { type: 'direct' } },
      { type: 'tool_use', id: like('toolu_*'), name: 'plain', input: {} },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 'toolu_1', content: text, is_error: pick(true, false), cache_control: cache },
      { type: 'text', text },
    ],
  },
  { role: 'system', content: text },
]

const TOOL_RESULT_PARTS = [
  hello,
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'plain', input: {} }] },
  {
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'toolu_1',
        content: [{ type: 'text', text }, IMAGES[0], IMAGES[1], DOCUMENTS[0], SEARCH_RESULT, { type: 'tool_reference', tool_name: text }],
      },
    ],
  },
]

/** Blocks that only this wire has. */
const OWN_BLOCKS = [
  hello,
  {
    role: 'assistant',
    content: [
      { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: text }, caller: { type: 'direct' } },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: [{ type: 'web_search_result', url: like('https://a.example/*'), title: text, encrypted_content: text, page_age: text }],
      },
      { type: 'server_tool_use', id: 'srvtoolu_2', name: 'code_execution', input: { code: text } },
      {
        type: 'code_execution_tool_result',
        tool_use_id: 'srvtoolu_2',
        content: { type: 'code_execution_result', stdout: text, stderr: text, return_code: number(71), content: [] },
      },
      { type: 'text', text: 'Done.' },
      { type: 'compaction', content: text },
      { type: 'container_upload', file_id: text },
    ],
  },
  hello,
]

const TOOLS = [
  {
    name: text,
    description: text,
    input_schema: { type: 'object', properties: { place: { type: 'string', description: text } } },
    strict: pick(true, false),
    cache_control: cache,
    input_examples: [{ place: text }],
    eager_input_streaming: pick(true, false),
    defer_loading: pick(false, true),
    allowed_callers: pick(['direct'], ['code_execution_20260120']),
  },
]
const plain = { name: 'plain', input_schema: { type: 'object', properties: {} } }

/** Tools that run at the provider, or that it alone defines: one request each. */
const NATIVE_TOOLS: readonly { [key: string]: Surface; type: string }[] = [
  { type: 'bash_20250124', name: 'bash' },
  { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: number(7001) },
  {
    type: 'web_search_20250305',
    name: 'web_search',
    max_uses: number(17),
    allowed_domains: [like('*.example')],
    user_location: { type: 'approximate', city: text, country: pick('NO', 'SE') },
  },
  { type: 'web_search_20260209', name: 'web_search', blocked_domains: [like('*.example')] },
  { type: 'web_fetch_20250910', name: 'web_fetch', max_content_tokens: number(7003) },
  { type: 'code_execution_20250825', name: 'code_execution' },
  { type: 'memory_20250818', name: 'memory' },
  { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
]

/** A wire takes four marks in all, so these stand in a request of their own. */
const MARKED = [
  {
    role: 'user',
    content: [
      { ...IMAGES[0], cache_control: cache },
      { ...DOCUMENTS[0], cache_control: cache },
    ],
  },
]

export const MESSAGES_REQUESTS: Readonly<Record<string, Surface>> = {
  conversation: {
    system: [{ type: 'text', text, cache_control: cache }],
    messages: CONVERSATION,
    max_tokens: number(30011),
  },
  'media worth caching': { messages: MARKED, max_tokens },
  'system as text': { system: text, messages: [hello], max_tokens },
  'messages[user].content[document].source.file_id': storedFile('document'),
  'messages[user].content[image].source.file_id': storedFile('image'),
  'tool results in parts': { messages: TOOL_RESULT_PARTS, tools: [plain], max_tokens },
  'blocks of this wire alone': { messages: OWN_BLOCKS, max_tokens },
  prefill: { messages: [hello, { role: 'assistant', content: text }], max_tokens },
  sampling: {
    messages: [hello],
    max_tokens,
    temperature: number(0.7301),
    top_k: number(37),
    stop_sequences: [text, text],
  },
  'nucleus sampling': { messages: [hello], max_tokens, top_p: number(0.8123, 0.8) },
  tools: {
    messages: [hello],
    max_tokens,
    tools: TOOLS,
    tool_choice: { type: pick('any', 'auto'), disable_parallel_tool_use: pick(true, false) },
  },
  'named tool': { messages: [hello], max_tokens, tools: [plain], tool_choice: { type: 'tool', name: 'plain' } },
  'json schema': {
    messages: [hello],
    max_tokens,
    output_config: {
      format: { type: 'json_schema', schema: { type: 'object', properties: { place: { type: 'string', description: text } } } },
    },
  },
  effort: { messages: [hello], max_tokens: 20000, thinking: { type: 'adaptive' }, output_config: { effort: pick('low', 'high') } },
  'effort and task budget': {
    messages: [hello],
    max_tokens: 20000,
    output_config: { effort: 'low', task_budget: { type: 'tokens', total: number(20011), remaining: number(10007) } },
  },
  'what is shown of reasoning': {
    messages: [hello],
    max_tokens: 20000,
    thinking: { type: 'adaptive', display: pick('omitted', 'summarized') },
  },
  budget: {
    messages: [hello],
    max_tokens: 20000,
    thinking: { type: 'enabled', budget_tokens: number(9001, 1024), display: pick('omitted', 'summarized') },
  },
  'reasoning off': { messages: [hello], max_tokens, thinking: { type: pick('disabled', 'adaptive') } },
  shared: {
    messages: [hello],
    max_tokens,
    metadata: { user_id: text },
    service_tier: pick('standard_only', 'auto'),
    speed: pick('fast', 'standard'),
    cache_control: cache,
    container: text,
    inference_geo: text,
    context_management: { edits: [{ type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: number(17) } }] },
    unheard_of: { member: text },
  },
  user: { messages: [hello], max_tokens, user: text },
  'the gateway’s own': {
    messages: [hello],
    max_tokens,
    session_id: text,
    trace: { trace_id: text, trace_name: text, span_name: text, generation_name: text, parent_span_id: text, other: text },
    provider: {
      allow_fallbacks: pick(true, false),
      sort: pick('price', 'latency'),
      data_collection: pick('allow', null),
      require_parameters: pick(false, null),
    },
    route: pick('fallback', 'sort'),
    plugins: [{ id: 'context-compression', enabled: pick(false, true) }],
    stop_server_tools_when: [{ type: 'step_count_is', step_count: number(71) }],
  },
  ...Object.fromEntries(NATIVE_TOOLS.map((tool) => [`tool ${tool.type}`, { messages: [hello], max_tokens, tools: [tool] }])),
}
