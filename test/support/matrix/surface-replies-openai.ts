/** Every leaf that a provider of the two OpenAI wires can answer with. Settings that a reply only echoes are not among them. */
import { bytes, dataUrl, jsonText, like, number, pick, type Surface, text } from './markers.ts'

const url = like('https://a.example/*')

const logprobs = () => [
  {
    token: text,
    logprob: number(-0.517, -0.5),
    bytes: [number(211)],
    top_logprobs: [{ token: text, logprob: number(-1.519, -1.5), bytes: [number(223)] }],
  },
]

const CHAT_USAGE = {
  prompt_tokens: number(10007, 10009),
  completion_tokens: number(5003, 5009),
  total_tokens: 15010,
  prompt_tokens_details: {
    cached_tokens: number(1009),
    cache_write_tokens: number(503),
    audio_tokens: number(307),
    video_tokens: number(73),
  },
  completion_tokens_details: {
    reasoning_tokens: number(701),
    audio_tokens: number(101),
    image_tokens: number(53),
    accepted_prediction_tokens: number(31),
    rejected_prediction_tokens: number(37),
  },
  cost: number(0.7717),
}
const noUsage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

const chat = (message: Surface, more: { [key: string]: Surface } = {}, choice: { [key: string]: Surface } = {}): Surface => ({
  id: 'chatcmpl-upstream',
  object: 'chat.completion',
  created: 1_767_600_000,
  model: 'upstream-model',
  choices: [{ index: 0, message, finish_reason: 'stop', ...choice }],
  usage: noUsage,
  ...more,
})

export const CHAT_REPLIES: Readonly<Record<string, Surface>> = {
  envelope: chat(
    { role: 'assistant', content: text },
    {
      id: like('chatcmpl-*'),
      created: number(1_767_600_077),
      model: text,
      provider: text,
      system_fingerprint: text,
      service_tier: pick('flex', 'priority'),
      usage: CHAT_USAGE,
    },
    { finish_reason: pick('stop', 'length') },
  ),
  'native reason': chat({ role: 'assistant', content: text }, {}, { native_finish_reason: text }),
  reasoning: chat({ role: 'assistant', content: 'So.', reasoning: text }),
  'reasoning in details': chat({
    role: 'assistant',
    content: 'So.',
    reasoning_details: [
      { type: 'reasoning.summary', summary: text, id: text, format: 'openai-responses-v1', index: 0 },
      { type: 'reasoning.encrypted', data: text, id: text, format: 'openai-responses-v1', index: 1 },
      { type: 'reasoning.text', text, signature: text, id: text, format: 'anthropic-claude-v1', index: 2 },
    ],
  }),
  calls: chat(
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: like('call_*'), type: 'function', function: { name: text, arguments: jsonText } },
        { id: like('call_*'), type: 'function', function: { name: text, arguments: jsonText } },
      ],
    },
    {},
    { finish_reason: 'tool_calls' },
  ),
  annotations: chat({
    role: 'assistant',
    content: 'A text with sources.',
    annotations: [
      { type: 'url_citation', url_citation: { url, title: text, content: text, start_index: number(3), end_index: number(5) } },
    ],
  }),
  'annotated file': chat({
    role: 'assistant',
    content: 'A text with sources.',
    annotations: [{ type: 'file', file: { hash: text, name: text, content: [{ type: 'text', text }] } }],
  }),
  images: chat({ role: 'assistant', content: null, images: [{ type: 'image_url', image_url: { url: dataUrl('image/png') } }] }),
  audio: chat({ role: 'assistant', content: null, audio: { id: text, data: bytes, transcript: text, expires_at: number(1_767_600_099) } }),
  refusal: chat({ role: 'assistant', content: null, refusal: text }),
  logprobs: chat({ role: 'assistant', content: 'ok' }, {}, { logprobs: { content: logprobs(), refusal: null } }),
}

const RESPONSES_USAGE = {
  input_tokens: number(10007, 10009),
  input_tokens_details: { cached_tokens: number(1009), cache_write_tokens: number(503) },
  output_tokens: number(5003, 5009),
  output_tokens_details: { reasoning_tokens: number(701) },
  total_tokens: 15010,
}

const responses = (output: readonly Surface[], more: { [key: string]: Surface } = {}): Surface => ({
  id: 'resp_upstream',
  object: 'response',
  created_at: 1_767_600_000,
  completed_at: 1_767_600_001,
  status: 'completed',
  error: null,
  incomplete_details: null,
  model: 'upstream-model',
  output,
  service_tier: 'default',
  usage: { input_tokens: 11, output_tokens: 7, total_tokens: 18 },
  ...more,
})

const outputText = (more: { [key: string]: Surface }): Surface => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'A text with sources.', annotations: [], logprobs: [], ...more }],
})

export const RESPONSES_REPLIES: Readonly<Record<string, Surface>> = {
  envelope: responses([outputText({ text })], {
    id: like('resp_*'),
    created_at: number(1_767_600_077),
    completed_at: number(1_767_600_079),
    model: text,
    service_tier: pick('flex', 'priority'),
    usage: RESPONSES_USAGE,
  }),
  incomplete: responses([outputText({ text })], {
    status: 'incomplete',
    incomplete_details: { reason: pick('max_output_tokens', 'content_filter') },
  }),
  reasoning: responses([
    {
      id: like('rs_*'),
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text },
        { type: 'summary_text', text },
      ],
      content: [{ type: 'reasoning_text', text }],
      encrypted_content: text,
      status: 'completed',
    },
    outputText({}),
  ]),
  message: responses([
    {
      id: like('msg_*'),
      type: 'message',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text, annotations: [], logprobs: logprobs() }],
      phase: pick('final_answer', 'commentary'),
    },
  ]),
  'calls of functions': responses([
    { id: like('fc_*'), type: 'function_call', status: 'completed', call_id: like('call_*'), name: text, arguments: jsonText },
    { id: 'fc_2', type: 'function_call', status: 'completed', call_id: like('call_*'), name: text, arguments: jsonText },
  ]),
  annotations: responses([
    outputText({
      annotations: [
        { type: 'url_citation', url, title: text, start_index: number(3), end_index: number(5) },
        { type: 'file_citation', file_id: text, filename: text, index: number(17) },
        { type: 'file_path', file_id: text, index: number(19) },
      ],
    }),
  ]),
  refusal: responses([
    { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'refusal', refusal: text }] },
  ]),
  'tools of the provider': responses([
    {
      type: 'web_search_call',
      id: like('ws_*'),
      status: 'completed',
      action: { type: 'search', query: text, sources: [{ type: 'url', url }] },
    },
    { type: 'file_search_call', id: like('fs_*'), status: 'completed', queries: [text], results: [{ file_id: text, text }] },
    {
      type: 'code_interpreter_call',
      id: like('ci_*'),
      status: 'completed',
      code: text,
      container_id: text,
      outputs: [{ type: 'logs', logs: text }],
    },
    {
      type: 'computer_call',
      id: like('cu_*'),
      call_id: text,
      status: 'completed',
      action: { type: 'type', text },
      pending_safety_checks: [],
    },
    { type: 'mcp_call', id: like('mcp_*'), name: text, arguments: jsonText, server_label: text, output: text },
    {
      type: 'apply_patch_call',
      id: like('ap_*'),
      call_id: text,
      status: 'completed',
      operation: { type: 'create_file', path: text, diff: text },
    },
    { type: 'shell_call', id: like('sh_*'), call_id: text, status: 'completed', action: { commands: [text] } },
    outputText({}),
  ]),
  'custom call': responses([{ type: 'custom_tool_call', id: like('ctc_*'), call_id: text, name: text, input: text, status: 'completed' }]),
  image: responses([{ type: 'image_generation_call', id: like('ig_*'), status: 'completed', result: bytes }]),
}
