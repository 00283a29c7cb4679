/** Leaves of requests that the provider does not see, by client format. Data alone; the tests check every entry. */
import { type Loss, lossesOf, type Row } from './loss.ts'

const AUDIO = 'the format has no audio input'
const CACHE_PLACE = 'the format has no cache mark in this place'
const CACHE_SELF = 'providers of this format cache by themselves'
const CACHE_TTL = 'a part can be marked for the cache, but without a lifetime'
const CITATIONS = 'the format has no citations in requests'
const CITING = 'the format has no field that requests citations of a document'
const FIELD = 'the format has no field for it'
const FILENAME = 'files have no name in the format'
const FILE_ID = 'refused with a 400 that names the field, since the file is stored at another provider'
const FORMAT = 'the format has no such output format'
const GATEWAY = 'read by the gateway itself'
const HIDING = 'the gateway itself leaves reasoning out of the reply'
const ITEM_ID = 'item ids are valid in their own format only'
const NAMES = 'messages have no author’s name in the format'
const MARKS = 'sent only to a provider with the quirk `cache_control` or `explicit_caching`'
const NATIVE_ITEM = 'only the caller’s format has it'
const NOTE = 'information for the caller only'
const REPLAY = 'sent only to a provider with the quirk `reasoning_replay`'
const REFUSED = 'refused with a 400 that names the tool and the endpoints that have it'
/** The provider is offered a function in its place. */
const RUN_HERE = 'run by the gateway or handed to the caller, since the provider has no such tool'
const OTHER_FAMILY = 'encrypted by another family of providers'
const SERVER_ITEM = 'providers do not know the tools of the gateway'
const SHOWN = 'the format does not accept this part of an earlier reply'
const STATUS = 'items of earlier turns are always complete'
const STOPS = 'the gateway cuts the answer itself'
const STRICT = 'the format always enforces the schema'
const SUMMARY = 'the format has no field for how reasoning is shown'
const TIER = 'a provider is sent the service tier that its endpoint declares, and no other'
const UNKNOWN = 'unknown fields are sent only to providers of the caller’s format'
const NOT_ENCRYPTED = 'the format accepts only reasoning that its own providers encrypted'
const USAGE = 'usage is always requested and always reported'
const VIDEO = 'the format has no video input'
/** The record names the item or block by its type. */
const TYPE = '[type]'

/** Parts of chat messages that can be marked for the cache. */
const CHAT_MARKS = [
  'messages[developer].content[text].cache_control.ttl',
  'messages[tool].content[text].cache_control.ttl',
  'messages[user].content[image_url].cache_control.ttl',
  'messages[user].content[text].cache_control.ttl',
]

const CHAT_CALLERS: readonly Row[] = [
  [['openai-responses'], STOPS, ['stop[]']],
  [['openai-chat', 'openai-responses', 'anthropic', 'gemini'], TIER, ['service_tier'], 'service_tier'],
  [['anthropic'], AUDIO, ['messages[user].content[input_audio]'], 'input_audio'],
  [['openai-chat', 'openai-responses'], CACHE_PLACE, ['cache_control.ttl'], 'cache_control'],
  [['openai-responses'], CACHE_PLACE, ['tools[function].cache_control.ttl'], 'cache_control'],
  [['openai-chat'], MARKS, [...CHAT_MARKS, 'tools[function].cache_control.ttl'], 'cache_control'],
  [
    ['openai-chat'],
    REPLAY,
    [
      'messages[assistant].reasoning',
      'messages[assistant].reasoning_details[reasoning.summary].id',
      'messages[assistant].reasoning_details[reasoning.summary].summary',
      'messages[assistant].reasoning_details[reasoning.text].id',
      'messages[assistant].reasoning_details[reasoning.text].text',
    ],
    'reasoning',
  ],
  [['gemini'], CACHE_SELF, [...CHAT_MARKS, 'tools[function].cache_control.ttl'], 'cache_control'],
  [['openai-responses'], CACHE_TTL, CHAT_MARKS, 'cache_control.ttl'],
  [['openai-responses', 'anthropic', 'gemini'], CITATIONS, ['messages[assistant].annotations[url_citation]'], 'annotations'],
  [['anthropic', 'gemini'], FIELD, ['messages[user].content[image_url].image_url.detail'], 'input_image.detail'],
  [['anthropic', 'gemini'], FIELD, ['response_format.json_schema.description'], 'response_format.description'],
  [['anthropic', 'gemini'], FIELD, ['response_format.json_schema.name'], 'response_format.name'],
  [['gemini'], FIELD, ['audio.format'], 'audio.format'],
  [['gemini'], FIELD, ['tools[function].function.strict'], 'tools.strict'],
  [['gemini'], FILENAME, ['messages[user].content[file].file.filename'], 'input_file.filename'],
  [['anthropic', 'gemini'], FILE_ID, ['messages[user].content[file].file.file_id']],
  [['openai-responses', 'anthropic', 'gemini'], FORMAT, ['response_format.grammar'], 'response_format'],
  [
    ['openai-chat', 'openai-responses', 'anthropic', 'gemini'],
    GATEWAY,
    ['debug', 'max_tool_calls', 'plugins[]', 'provider', 'route', 'stop_server_tools_when[step_count_is]', 'trace', 'transforms'],
  ],
  // At Responses it is the cache key.
  [['openai-chat', 'anthropic', 'gemini'], GATEWAY, ['session_id']],
  [['openai-chat', 'openai-responses', 'anthropic'], HIDING, ['include_reasoning', 'reasoning.exclude']],
  [['anthropic', 'gemini'], NAMES, ['messages[assistant].name', 'messages[system].name', 'messages[user].name'], 'messages.name'],
  [['openai-responses'], NAMES, ['messages[assistant].name', 'messages[system].name', 'messages[user].name'], 'message.name'],
  [['openai-responses', 'anthropic', 'gemini'], REFUSED, ['tools[web_search]']],
  [
    ['openai-chat', 'openai-responses', 'anthropic', 'gemini'],
    OTHER_FAMILY,
    ['messages[assistant].reasoning_details[reasoning.encrypted].data', 'messages[assistant].reasoning_details[reasoning.encrypted].id'],
    'reasoning',
  ],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    OTHER_FAMILY,
    ['messages[assistant].reasoning_details[reasoning.text].signature'],
    'reasoning',
  ],
  [['openai-responses', 'anthropic', 'gemini'], SHOWN, ['messages[assistant].images'], 'images'],
  [['openai-responses', 'anthropic', 'gemini'], SHOWN, ['messages[assistant].audio'], 'message.audio'],
  [['openai-responses', 'anthropic', 'gemini'], SHOWN, ['messages[assistant].model'], 'message.model'],
  [['anthropic', 'gemini'], STRICT, ['response_format.json_schema.strict']],
  [['anthropic'], SUMMARY, ['reasoning.summary']],
  [['openai-chat', 'gemini'], SUMMARY, ['reasoning.summary'], 'reasoning.summary'],
  [
    ['openai-chat', 'openai-responses', 'anthropic', 'gemini'],
    NOTE,
    ['messages[assistant].reasoning_details[reasoning.server_tool_call]'],
    'reasoning_detail',
  ],
  [['openai-responses', 'anthropic', 'gemini'], UNKNOWN, ['unheard_of'], 'unheard_of'],
  [
    ['openai-responses', 'anthropic', 'gemini'],
    NOT_ENCRYPTED,
    [
      'messages[assistant].reasoning',
      'messages[assistant].reasoning_details[reasoning.summary].id',
      'messages[assistant].reasoning_details[reasoning.summary].summary',
      'messages[assistant].reasoning_details[reasoning.text].id',
    ],
    'reasoning',
  ],
  [['openai-responses', 'gemini'], NOT_ENCRYPTED, ['messages[assistant].reasoning_details[reasoning.text].text'], 'reasoning'],
  [['openai-chat', 'openai-responses', 'anthropic', 'gemini'], USAGE, ['stream_options.include_usage', 'usage.include']],
  [['anthropic'], VIDEO, ['messages[user].content[input_video]', 'messages[user].content[video_url]'], 'input_video'],
]

const RESPONSES_CALLERS: readonly Row[] = [
  [['openai-chat', 'anthropic', 'gemini'], FIELD, ['input[agent_message].author'], 'agent_message.author'],
  [['openai-chat', 'anthropic', 'gemini'], FIELD, ['input[agent_message].recipient'], 'agent_message.recipient'],
  [['openai-chat', 'openai-responses', 'anthropic', 'gemini'], TIER, ['service_tier'], 'service_tier'],
  [['anthropic'], AUDIO, ['input[message].content[input_audio]'], 'input_audio'],
  [['openai-chat', 'openai-responses'], CACHE_PLACE, ['cache_control.ttl'], 'cache_control'],
  [
    ['openai-chat', 'anthropic', 'gemini'],
    CITATIONS,
    ['input[message].content[output_text].annotations[url_citation]'],
    'input.output_text.annotations',
  ],
  [['anthropic', 'gemini'], FIELD, ['input[message].content[input_image].detail', 'prompt.variables.picture.detail'], 'input_image.detail'],
  [['anthropic', 'gemini'], FIELD, ['input[message].phase'], 'messages.phase'],
  [['anthropic', 'gemini'], FIELD, ['text.format.description'], 'response_format.description'],
  [['anthropic', 'gemini'], FIELD, ['text.format.name'], 'response_format.name'],
  [['gemini'], FIELD, ['tools[function].strict'], 'tools.strict'],
  [['openai-chat'], FIELD, ['input[message].phase'], 'message.phase'],
  [['openai-chat', 'anthropic', 'gemini'], FIELD, ['reasoning.context'], 'reasoning.context'],
  [['openai-chat', 'anthropic', 'gemini'], FIELD, ['reasoning.mode'], 'reasoning.mode'],
  [['openai-chat', 'anthropic', 'gemini'], FIELD, ['tools[function].defer_loading'], 'tools.function.defer_loading'],
  [
    ['gemini'],
    FILENAME,
    [
      'input[function_call_output].output[input_file].filename',
      'input[message].content[input_file].filename',
      'prompt.variables.paper.filename',
    ],
    'input_file.filename',
  ],
  [['anthropic', 'gemini'], FILE_ID, ['input[message].content[input_file].file_id']],
  [['openai-chat', 'anthropic', 'gemini'], FILE_ID, ['input[message].content[input_image].file_id']],
  [
    ['openai-chat', 'openai-responses', 'anthropic', 'gemini'],
    GATEWAY,
    [
      'background',
      'debug',
      'max_tool_calls',
      'plugins[]',
      'provider',
      'route',
      'session_id',
      'stop_server_tools_when[step_count_is]',
      'store',
      'trace',
    ],
  ],
  [
    ['openai-chat', 'anthropic', 'gemini'],
    ITEM_ID,
    [
      'input[custom_tool_call].id',
      'input[custom_tool_call_output].id',
      'input[function_call].id',
      'input[function_call_output].id',
      'input[local_shell_call].id',
      'input[local_shell_call_output].id',
      'input[message].id',
    ],
  ],
  [
    ['openai-chat', 'anthropic', 'gemini'],
    NATIVE_ITEM,
    [
      'input[apply_patch_call]',
      'input[apply_patch_call_output]',
      'input[code_interpreter_call]',
      'input[computer_call]',
      'input[computer_call_output]',
      'input[file_search_call]',
      'input[image_generation_call]',
      'input[mcp_approval_request]',
      'input[mcp_approval_response]',
      'input[mcp_call]',
      'input[mcp_list_tools]',
      'input[shell_call]',
      'input[shell_call_output]',
      'input[web_search_call]',
    ],
    TYPE,
  ],
  [
    ['openai-chat', 'anthropic', 'gemini'],
    REFUSED,
    [
      'tools[code_interpreter]',
      'tools[computer_use_preview]',
      'tools[file_search]',
      'tools[image_generation]',
      'tools[web_search]',
      'tools[web_search_preview]',
    ],
  ],
  [['openai-chat', 'anthropic', 'gemini'], RUN_HERE, ['tools[apply_patch]', 'tools[mcp]', 'tools[shell]']],
  [['openai-chat', 'openai-responses', 'anthropic', 'gemini'], OTHER_FAMILY, ['input[reasoning].encrypted_content'], 'reasoning'],
  [['openai-chat', 'openai-responses', 'gemini'], OTHER_FAMILY, ['input[reasoning].signature'], 'reasoning'],
  [['openai-chat', 'openai-responses', 'anthropic', 'gemini'], SERVER_ITEM, ['input[router:datetime]'], TYPE],
  [
    ['openai-chat', 'anthropic', 'gemini'],
    STATUS,
    ['input[function_call].status', 'input[function_call_output].status', 'input[message].status', 'input[reasoning].status'],
  ],
  [
    ['openai-responses'],
    STATUS,
    ['input[function_call].status', 'input[function_call_output].status', 'input[message].status'],
    undefined,
    'translate',
  ],
  [['openai-responses'], STATUS, ['input[reasoning].status']],
  [['anthropic', 'gemini'], STRICT, ['text.format.strict']],
  [['anthropic'], SUMMARY, ['reasoning.summary']],
  [['openai-chat', 'gemini'], SUMMARY, ['reasoning.summary'], 'reasoning.summary'],
  [['openai-chat', 'anthropic', 'gemini'], UNKNOWN, ['unheard_of'], 'unheard_of'],
  [
    ['openai-chat'],
    REPLAY,
    ['input[reasoning].id', 'input[reasoning].summary[summary_text].text', 'input[reasoning].content[reasoning_text].text'],
    'reasoning',
  ],
  [['anthropic', 'gemini'], NOT_ENCRYPTED, ['input[reasoning].id', 'input[reasoning].summary[summary_text].text'], 'reasoning'],
  [['openai-responses', 'anthropic', 'gemini'], NOT_ENCRYPTED, ['input[reasoning].content[reasoning_text].text'], 'reasoning'],
  [['anthropic'], VIDEO, ['input[message].content[input_video]'], 'input_video'],
]

const CALL_MARK = 'messages[assistant].content[tool_use].cache_control.ttl'
/** Blocks of Messages requests that can be marked, calls apart. */
const MESSAGES_MARKS = [
  'messages[user].content[document].cache_control.ttl',
  'messages[user].content[image].cache_control.ttl',
  'messages[user].content[text].cache_control.ttl',
  'messages[user].content[tool_result].cache_control.ttl',
  'system[text].cache_control.ttl',
]

const MESSAGES_CALLERS: readonly Row[] = [
  [['openai-responses'], STOPS, ['stop_sequences[]']],
  [['openai-chat'], CACHE_PLACE, [CALL_MARK], 'cache_control'],
  [['openai-chat', 'openai-responses'], CACHE_PLACE, ['cache_control.ttl'], 'cache_control'],
  [['openai-responses'], CACHE_PLACE, ['tools[].cache_control.ttl'], 'cache_control'],
  [['openai-chat'], MARKS, [...MESSAGES_MARKS, 'tools[].cache_control.ttl'], 'cache_control'],
  [['openai-chat'], REPLAY, ['messages[assistant].content[thinking].thinking'], 'reasoning'],
  [['gemini'], CACHE_SELF, [CALL_MARK, ...MESSAGES_MARKS, 'tools[].cache_control.ttl'], 'cache_control'],
  [['openai-responses'], CACHE_TTL, [CALL_MARK, ...MESSAGES_MARKS], 'cache_control.ttl'],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    CITATIONS,
    [
      'messages[assistant].content[text].citations[char_location]',
      'messages[assistant].content[text].citations[web_search_result_location]',
    ],
    'messages.text.citations',
  ],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    CITING,
    ['messages[user].content[document].citations.enabled', 'messages[user].content[tool_result].content[document].citations.enabled'],
    'messages.document.citations',
  ],
  [['gemini'], FIELD, ['tools[].strict'], 'tools.strict'],
  [['openai-chat', 'openai-responses'], FIELD, ['messages[user].content[tool_result].is_error'], 'tool_result.error'],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['container'], 'container'],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['context_management'], 'context_management'],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['inference_geo'], 'inference_geo'],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    FIELD,
    ['messages[user].content[document].context', 'messages[user].content[tool_result].content[document].context'],
    'messages.document.context',
  ],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['output_config.task_budget'], 'output_config'],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['speed'], 'speed'],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['tools[].allowed_callers'], 'tools.custom.allowed_callers'],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['tools[].eager_input_streaming'], 'tools.custom.eager_input_streaming'],
  [['openai-chat', 'openai-responses', 'gemini'], FIELD, ['tools[].input_examples[].place'], 'tools.custom.input_examples'],
  [
    ['gemini'],
    FILENAME,
    ['messages[user].content[document].title', 'messages[user].content[tool_result].content[document].title'],
    'input_file.filename',
  ],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    FILE_ID,
    ['messages[user].content[document].source.file_id', 'messages[user].content[image].source.file_id'],
  ],
  [
    ['openai-chat', 'openai-responses', 'anthropic', 'gemini'],
    GATEWAY,
    ['plugins[]', 'provider', 'route', 'stop_server_tools_when[step_count_is]', 'trace'],
  ],
  // At Responses it is the cache key.
  [['openai-chat', 'anthropic', 'gemini'], GATEWAY, ['session_id']],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    NATIVE_ITEM,
    [
      'messages[assistant].content[code_execution_tool_result]',
      'messages[assistant].content[compaction]',
      'messages[assistant].content[container_upload]',
      'messages[assistant].content[server_tool_use]',
      'messages[assistant].content[web_search_tool_result]',
      'messages[user].content[search_result]',
      'messages[user].content[tool_result].content[search_result]',
    ],
    TYPE,
  ],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    REFUSED,
    [
      'tools[code_execution_20250825]',
      'tools[memory_20250818]',
      'tools[text_editor_20250728]',
      'tools[web_fetch_20250910]',
      'tools[web_search_20250305]',
      'tools[web_search_20260209]',
    ],
  ],
  [['openai-chat', 'openai-responses', 'gemini'], RUN_HERE, ['tools[bash_20250124]', 'tools[tool_search_tool_regex_20251119]']],
  [
    ['openai-chat', 'openai-responses', 'gemini'],
    OTHER_FAMILY,
    ['messages[assistant].content[redacted_thinking].data', 'messages[assistant].content[thinking].signature'],
    'reasoning',
  ],
  [['openai-chat'], HIDING, ['thinking.display']],
  [['openai-chat', 'openai-responses', 'gemini'], UNKNOWN, ['unheard_of'], 'unheard_of'],
  [['openai-responses', 'gemini'], NOT_ENCRYPTED, ['messages[assistant].content[thinking].thinking'], 'reasoning'],
]

export const requestLosses: readonly Loss[] = [
  ...lossesOf('chat', CHAT_CALLERS),
  ...lossesOf('responses', RESPONSES_CALLERS),
  ...lossesOf('messages', MESSAGES_CALLERS),
]
