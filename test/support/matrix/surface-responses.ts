/** Every leaf that a Responses caller can send (docs/contract.md#responses-request, docs/contract.md#input-items, docs/contract.md#tools-in-a-request). */
import { bytes, dataUrl, jsonText, like, number, pick, type Surface, text } from './markers.ts'

const cache = { type: 'ephemeral', ttl: pick('1h', '5m') }
const hello = { role: 'user', content: 'Hello' }

const PARTS = [
  { type: 'input_text', text, prompt_cache_breakpoint: { mode: 'explicit' } },
  { type: 'input_image', detail: pick('low', 'high'), image_url: like('https://a.example/*.png') },
  { type: 'input_image', detail: 'auto', image_url: dataUrl('image/png') },
  { type: 'input_file', file_data: dataUrl('application/pdf'), filename: like('*.pdf') },
  { type: 'input_file', file_url: like('https://a.example/*.pdf') },
  { type: 'input_audio', input_audio: { data: bytes, format: pick('mp3', 'wav') } },
  { type: 'input_video', video_url: like('https://a.example/*.mp4') },
]

const OUTPUT = [
  { type: 'input_text', text },
  { type: 'input_image', detail: 'auto', image_url: dataUrl('image/png') },
  { type: 'input_file', file_data: dataUrl('application/pdf'), filename: like('*.pdf') },
]

const ANNOTATIONS = [
  { type: 'url_citation', url: like('https://a.example/*'), title: text, start_index: number(311), end_index: number(313) },
]

const CONVERSATION = [
  { role: 'system', content: text },
  { type: 'message', role: 'developer', content: [{ type: 'input_text', text }], id: like('msg_*') },
  { type: 'message', role: 'user', content: PARTS },
  {
    type: 'reasoning',
    id: like('rs_*'),
    summary: [{ type: 'summary_text', text }],
    content: [{ type: 'reasoning_text', text }],
    encrypted_content: text,
    format: 'openai-responses-v1',
    status: pick('completed', 'incomplete'),
  },
  {
    type: 'message',
    id: like('msg_*'),
    role: 'assistant',
    status: pick('completed', 'incomplete'),
    content: [
      { type: 'output_text', text, annotations: ANNOTATIONS },
      { type: 'refusal', refusal: text },
    ],
    phase: pick('commentary', 'final_answer'),
  },
  hello,
  { type: 'function_call', id: like('fc_*'), call_id: 'call_1', name: text, arguments: jsonText, status: pick('completed', 'incomplete') },
  { type: 'function_call', call_id: like('call_*'), name: 'plain', arguments: '{}' },
  { type: 'function_call_output', id: like('fc_*'), call_id: 'call_1', output: text, status: pick('completed', 'incomplete') },
  { role: 'user', content: text },
]

const TOOL_RESULT_PARTS = [
  hello,
  { type: 'function_call', call_id: 'call_1', name: 'plain', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: OUTPUT },
]

const SIGNED = [
  hello,
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    content: [{ type: 'reasoning_text', text }],
    signature: text,
    format: 'anthropic-claude-v1',
  },
  { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: text, format: 'google-gemini-v1' },
  { role: 'assistant', content: 'So.' },
  hello,
]

/** Items that only this wire has. */
const OWN_ITEMS = [
  hello,
  { type: 'custom_tool_call', call_id: 'ct_1', name: text, input: text, id: like('ctc_*') },
  { type: 'custom_tool_call_output', call_id: 'ct_1', output: text, id: like('ctco_*') },
  { type: 'web_search_call', id: like('ws_*'), status: 'completed', action: { type: 'search', query: text, queries: [text] } },
  { type: 'file_search_call', id: like('fs_*'), queries: [text], status: 'completed' },
  { type: 'image_generation_call', id: like('ig_*'), status: 'completed', result: bytes },
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
    call_id: 'cu_1',
    status: 'completed',
    pending_safety_checks: [],
    action: { type: 'type', text },
  },
  { type: 'computer_call_output', call_id: 'cu_1', output: { type: 'computer_screenshot', image_url: dataUrl('image/png') } },
  {
    type: 'local_shell_call',
    id: like('ls_*'),
    call_id: 'ls_1',
    status: 'completed',
    action: { type: 'exec', command: [text], env: { NAME: text }, timeout_ms: number(7001), user: text, working_directory: text },
  },
  { type: 'local_shell_call_output', id: like('lso_*'), call_id: 'ls_1', output: text },
  {
    type: 'shell_call',
    id: like('sh_*'),
    call_id: 'sh_1',
    status: 'completed',
    action: { commands: [text], max_output_length: number(7003) },
  },
  {
    type: 'shell_call_output',
    call_id: 'sh_1',
    output: [{ stdout: text, stderr: text, outcome: { type: 'exit', exit_code: number(71) } }],
  },
  {
    type: 'apply_patch_call',
    id: like('ap_*'),
    call_id: 'ap_1',
    status: 'completed',
    operation: { type: 'create_file', path: text, diff: text },
  },
  { type: 'apply_patch_call_output', call_id: 'ap_1', status: 'completed', output: text },
  { type: 'mcp_list_tools', id: like('mcpl_*'), server_label: text, tools: [{ name: text, input_schema: {}, description: text }] },
  { type: 'mcp_approval_request', id: like('mcpr_*'), name: text, arguments: jsonText, server_label: text },
  { type: 'mcp_approval_response', approval_request_id: text, approve: pick(true, false), reason: text },
  { type: 'mcp_call', id: like('mcp_*'), name: text, arguments: jsonText, server_label: text, output: text },
  { type: 'additional_tools', role: 'developer', tools: [{ type: 'function', name: text, parameters: {} }] },
  { type: 'agent_message', author: text, recipient: text, content: [{ type: 'input_text', text }] },
  { '#': 'function_call in a namespace', type: 'function_call', call_id: 'call_9', name: 'spaced', arguments: jsonText, namespace: text },
  { '#': 'function_call_output in a namespace', type: 'function_call_output', call_id: 'call_9', output: text },
  hello,
]

const SERVER_ITEMS = [hello, { type: 'router:datetime', id: like('dt_*'), status: 'completed', datetime: text, timezone: text }, hello]

const TOOLS = [
  {
    type: 'function',
    name: text,
    description: text,
    parameters: { type: 'object', properties: { place: { type: 'string', description: text } } },
    strict: pick(true, false),
    defer_loading: pick(true, false),
  },
]
const plain = { type: 'function', name: 'plain', parameters: { type: 'object', properties: {} } }

const USER_LOCATION = {
  type: 'approximate',
  city: text,
  country: pick('NO', 'SE'),
  region: text,
  timezone: pick('Europe/Oslo', 'Europe/Rome'),
}
const SEARCH = {
  filters: { allowed_domains: [like('*.example')] },
  search_context_size: pick('low', 'high'),
  user_location: USER_LOCATION,
}

/** Tools that run at the provider, or that only this wire has: one request each. */
const NATIVE_TOOLS: readonly { [key: string]: Surface; type: string }[] = [
  { type: 'custom', name: text, description: text, format: { type: 'grammar', definition: text, syntax: pick('lark', 'regex') } },
  { type: 'namespace', name: text, description: text, tools: [{ type: 'function', name: text, description: text, parameters: {} }] },
  { type: 'web_search', ...SEARCH },
  { type: 'web_search_preview', search_context_size: pick('low', 'high'), user_location: USER_LOCATION },
  { type: 'file_search', vector_store_ids: [text], max_num_results: number(17), filters: { type: 'eq', key: text, value: text } },
  { type: 'computer_use_preview', display_height: number(1033), display_width: number(1921), environment: pick('mac', 'linux') },
  { type: 'code_interpreter', container: { type: 'auto', file_ids: [text], memory_limit: pick('4g', '1g') } },
  {
    type: 'mcp',
    server_label: text,
    server_url: like('https://*.example'),
    headers: { 'x-name': text },
    allowed_tools: [text],
    require_approval: pick('never', 'always'),
    server_description: text,
  },
  { type: 'image_generation', background: pick('opaque', 'auto'), output_compression: number(67), size: pick('1024x1024', 'auto') },
  { type: 'local_shell' },
  { type: 'shell' },
  { type: 'apply_patch' },
]

export const RESPONSES_REQUESTS: Readonly<Record<string, Surface>> = {
  conversation: { instructions: text, input: CONVERSATION, max_output_tokens: number(30011) },
  'stored prompt': {
    prompt: {
      id: 'stored',
      variables: {
        what: text,
        whom: { type: 'input_text', text },
        picture: { type: 'input_image', detail: pick('low', 'high'), image_url: like('https://a.example/*.png') },
        paper: { type: 'input_file', file_data: dataUrl('application/pdf'), filename: like('*.pdf') },
      },
    },
  },
  'text alone': { input: text },
  'input[message].content[input_file].file_id': {
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: like('file-*') }] }],
  },
  'input[message].content[input_image].file_id': {
    input: [{ role: 'user', content: [{ type: 'input_image', detail: 'auto', file_id: like('file-*') }] }],
  },
  'tool results in parts': { input: TOOL_RESULT_PARTS, tools: [plain] },
  'reasoning of others': { input: SIGNED },
  'items of this wire alone': { input: OWN_ITEMS },
  'items of the gateway': { input: SERVER_ITEMS },
  prefill: { input: [hello, { role: 'assistant', content: text }] },
  sampling: {
    input: 'Hello',
    temperature: number(0.7301),
    top_k: number(37),
    frequency_penalty: number(0.3171, 0.3),
    presence_penalty: number(0.4187, 0.4),
    top_logprobs: number(13),
  },
  'nucleus sampling': { input: 'Hello', top_p: number(0.8123, 0.8) },
  'safety identifier': { input: 'Hello', safety_identifier: text },
  include: { input: 'Hello', include: pick(['message.output_text.logprobs'], []) },
  tools: { input: 'Hello', tools: TOOLS, tool_choice: pick('required', 'none'), parallel_tool_calls: pick(false, true) },
  'named tool': { input: 'Hello', tools: [plain], tool_choice: { type: 'function', name: 'plain' } },
  'allowed tools': {
    input: 'Hello',
    tools: [plain],
    tool_choice: { type: 'allowed_tools', mode: pick('required', 'auto'), tools: [{ type: 'function', name: 'plain' }] },
  },
  'json schema': {
    input: 'Hello',
    text: {
      format: {
        type: 'json_schema',
        name: text,
        description: text,
        schema: { type: 'object', properties: { place: { type: 'string', description: text } } },
        strict: pick(true, false),
      },
    },
  },
  'json object': { input: 'Hello', text: { format: { type: pick('json_object', 'text') }, verbosity: pick('low', 'high') } },
  effort: { input: 'Hello', reasoning: { effort: pick('low', 'high'), summary: pick('detailed', 'concise') } },
  budget: { input: 'Hello', max_output_tokens: 20000, reasoning: { max_tokens: number(9001, 1024) } },
  'reasoning on or off': { input: 'Hello', reasoning: { enabled: pick(true, false) } },
  'how reasoning runs': {
    input: 'Hello',
    reasoning: { effort: 'low', context: pick('all_turns', 'current_turn'), mode: pick('pro', 'standard') },
  },
  shared: {
    input: 'Hello',
    user: text,
    metadata: { key: text },
    service_tier: pick('flex', 'priority'),
    prompt_cache_key: text,
    prompt_cache_options: { mode: 'explicit', ttl: pick('1h', '30m') },
    cache_control: cache,
    truncation: pick('auto', 'disabled'),
    image_config: { aspect_ratio: pick('16:9', '1:1'), image_size: pick('2K', '1K') },
    unheard_of: { member: text },
  },
  modalities: { input: 'Hello', modalities: pick(['text', 'image'], ['text']) },
  'the gateway’s own': {
    input: 'Hello',
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
    store: pick(false, null),
    background: pick(false, null),
  },
  ...Object.fromEntries(NATIVE_TOOLS.map((tool) => [`tool ${tool.type}`, { input: 'Hello', tools: [tool] }])),
}
