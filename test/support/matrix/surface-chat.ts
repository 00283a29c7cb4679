/** Every leaf that a chat caller can send (docs/contract.md#chat-request). */
import { bytes, dataUrl, jsonText, like, number, pick, type Surface, text } from './markers.ts'

const cache = { type: 'ephemeral', ttl: pick('1h', '5m') }
const user = { role: 'user', content: 'Hello' }
const tool = { type: 'function', function: { name: 'plain', parameters: { type: 'object', properties: {} } } }

const DETAILS = [
  { type: 'reasoning.text', text, signature: text, id: text, format: 'anthropic-claude-v1', index: 0 },
  { type: 'reasoning.summary', summary: text, id: text, format: 'openai-responses-v1', index: 1 },
  { type: 'reasoning.encrypted', data: text, id: text, format: 'openai-responses-v1', index: 2 },
  { type: 'reasoning.encrypted', data: text, id: text, format: 'google-gemini-v1', index: 3 },
  { type: 'reasoning.server_tool_call', tool_name: text, arguments: jsonText, result: text, tool_call_id: text, index: 4 },
]

const USER_PARTS = [
  { type: 'text', text, cache_control: cache },
  { type: 'text', text, prompt_cache_breakpoint: { mode: 'explicit' } },
  { type: 'image_url', image_url: { url: like('https://a.example/*.png'), detail: pick('low', 'high') } },
  { type: 'image_url', image_url: { url: dataUrl('image/png') }, cache_control: cache },
  { type: 'input_audio', input_audio: { data: bytes, format: pick('mp3', 'wav') } },
  { type: 'video_url', video_url: { url: like('https://a.example/*.mp4') } },
  { type: 'input_video', video_url: { url: dataUrl('video/mp4') } },
  { type: 'file', file: { file_data: dataUrl('application/pdf'), filename: like('*.pdf') } },
  { type: 'file', file: { file_data: like('https://a.example/*.pdf') } },
]

const CONVERSATION = [
  { role: 'system', content: text, name: text },
  { role: 'developer', content: [{ type: 'text', text, cache_control: cache }] },
  { role: 'user', content: USER_PARTS, name: text },
  { role: 'assistant', content: text, name: text, reasoning: text },
  user,
  { role: 'assistant', content: null, refusal: text },
  user,
  {
    role: 'assistant',
    content: [{ type: 'text', text }],
    reasoning_details: DETAILS,
    model: text,
    annotations: [
      {
        type: 'url_citation',
        url_citation: { url: like('https://a.example/*'), title: text, content: text, start_index: number(311), end_index: number(313) },
      },
    ],
    images: [{ type: 'image_url', image_url: { url: dataUrl('image/png') } }],
    audio: { id: text },
    tool_calls: [{ id: like('call_*'), type: 'function', function: { name: text, arguments: jsonText } }],
  },
  { role: 'tool', tool_call_id: 'call_mk', content: text },
  { role: 'user', content: text },
]

const SAMPLING = {
  temperature: number(0.7301),
  top_k: number(37),
  min_p: number(0.0517, 0.05),
  top_a: number(0.0613, 0.06),
  frequency_penalty: number(0.3171, 0.3),
  presence_penalty: number(0.4187, 0.4),
  repetition_penalty: number(1.0731, 1.07),
  seed: number(918273),
  logit_bias: { '50256': number(-57.25, -57) },
  logprobs: pick(true, false),
  stop: [text, text],
}

const TOOLS = [
  {
    type: 'function',
    function: {
      name: text,
      description: text,
      parameters: { type: 'object', properties: { place: { type: 'string', description: text } } },
      strict: pick(true, false),
    },
    cache_control: cache,
  },
]

/** Each is one request: fields that exclude each other stand in different ones. */
export const CHAT_REQUESTS: Readonly<Record<string, Surface>> = {
  conversation: { messages: CONVERSATION, max_completion_tokens: number(30011) },
  'messages[user].content[file].file.file_id': {
    messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: like('file-*') } }] }],
  },
  'tool results in parts': {
    messages: [
      user,
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'plain', arguments: '{}' } }] },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [
          { type: 'text', text, cache_control: cache },
          { type: 'image_url', image_url: { url: dataUrl('image/png') } },
        ],
      },
    ],
    tools: [tool],
  },
  prefill: { messages: [user, { role: 'assistant', content: text }] },
  prompt: { prompt: text },
  sampling: { messages: [user], ...SAMPLING, max_tokens: number(30013) },
  'nucleus sampling': { messages: [user], top_p: number(0.8123, 0.8) },
  'safety identifier': { messages: [user], safety_identifier: text },
  logprobs: { messages: [user], logprobs: true, top_logprobs: number(13) },
  tools: { messages: [user], tools: TOOLS, tool_choice: pick('required', 'none'), parallel_tool_calls: pick(false, true) },
  'named tool': { messages: [user], tools: [tool], tool_choice: { type: 'function', function: { name: 'plain' } } },
  'json schema': {
    messages: [user],
    response_format: {
      type: 'json_schema',
      json_schema: {
        name: text,
        description: text,
        schema: { type: 'object', properties: { place: { type: 'string', description: text } } },
        strict: pick(true, false),
      },
    },
  },
  'json object': { messages: [user], response_format: { type: pick('json_object', 'text') } },
  grammar: { messages: [user], response_format: { type: 'grammar', grammar: text } },
  effort: { messages: [user], reasoning: { effort: pick('low', 'high'), summary: pick('detailed', 'concise') } },
  'effort in short': { messages: [user], reasoning_effort: pick('low', 'high') },
  budget: { messages: [user], max_tokens: 20000, reasoning: { max_tokens: number(9001, 2048) } },
  'reasoning on or off': { messages: [user], reasoning: { enabled: pick(true, false) } },
  'hidden reasoning': { messages: [user], reasoning: { effort: 'low', exclude: pick(true, false) } },
  'hidden reasoning, the old way': { messages: [user], include_reasoning: pick(false, true) },
  shared: {
    messages: [user],
    user: text,
    metadata: { key: text },
    service_tier: pick('flex', 'priority'),
    verbosity: pick('low', 'high'),
    prompt_cache_key: text,
    prompt_cache_options: { mode: 'explicit', ttl: pick('1h', '30m') },
    cache_control: cache,
    image_config: { aspect_ratio: pick('16:9', '1:1'), image_size: pick('2K', '1K') },
    audio: { voice: text, format: pick('mp3', 'wav') },
    prediction: { type: 'content', content: text },
    web_search_options: { search_context_size: pick('low', 'high') },
    stream_options: { include_usage: pick(true, false) },
    usage: { include: pick(true, false) },
    unheard_of: { member: text },
  },
  modalities: { messages: [user], modalities: pick(['text', 'image'], ['text']) },
  'the gateway’s own': {
    messages: [user],
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
    max_tool_calls: number(23),
    debug: { echo_upstream_body: pick(false, true) },
    transforms: pick(['middle-out'], []),
  },
  'tool web_search': {
    messages: [user],
    tools: [{ type: 'web_search', search_context_size: pick('low', 'high'), user_location: { type: 'approximate', city: text } }],
  },
}
