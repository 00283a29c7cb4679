/** Leaves of replies that the caller does not see, by client format. Data alone; the tests check every entry. */
import { clientLosses, type Loss, type Row } from './loss.ts'

const CITED = 'citations have no such field in the caller’s format'
const ENVELOPE = 'the gateway sets this field itself'
const ITEM_IDS = 'the gateway sets item ids itself'
const LOGPROBS = 'the caller’s format has no log probabilities'
const MODALITIES = 'the caller’s format does not count tokens by modality'
const NO_MEDIA = 'the caller’s format cannot carry it in a reply'
const NO_PLACE = 'the caller’s format has no field for it'
const PLACES = 'citations have no such position in the caller’s format'
const PROVIDER_ITEM = 'the caller’s format cannot show what ran at the provider'
const UNCOUNTED = 'not counted separately: they cost the same as other tokens'

const CHAT_CALLERS: readonly Row[] = [
  [
    ['anthropic'],
    CITED,
    [
      'content[text].citations[char_location].cited_text',
      'content[text].citations[char_location].document_index',
      'content[text].citations[char_location].end_char_index',
      'content[text].citations[char_location].start_char_index',
      'content[text].citations[content_block_location].cited_text',
      'content[text].citations[content_block_location].document_index',
      'content[text].citations[content_block_location].end_block_index',
      'content[text].citations[content_block_location].start_block_index',
      'content[text].citations[page_location].cited_text',
      'content[text].citations[page_location].document_index',
      'content[text].citations[page_location].end_page_number',
      'content[text].citations[page_location].start_page_number',
      'content[text].citations[search_result_location].cited_text',
      'content[text].citations[search_result_location].end_block_index',
      'content[text].citations[search_result_location].search_result_index',
      'content[text].citations[search_result_location].source',
      'content[text].citations[search_result_location].start_block_index',
      'content[text].citations[web_search_result_location].encrypted_index',
    ],
  ],
  [['gemini'], ENVELOPE, ['createTime', 'modelVersion', 'responseId']],
  [['openai-chat'], ENVELOPE, ['choices[].native_finish_reason', 'provider', 'usage.cost']],
  [['openai-chat'], ENVELOPE, ['created'], undefined, 'translate'],
  [['openai-chat', 'openai-responses', 'anthropic'], ENVELOPE, ['id', 'model']],
  [['openai-responses'], ENVELOPE, ['completed_at', 'created_at']],
  [['openai-responses'], ITEM_IDS, ['output[function_call].id', 'output[message].id']],
  [
    ['anthropic'],
    NO_PLACE,
    ['container', 'context_management', 'stop_details', 'stop_sequence', 'usage.inference_geo', 'usage.server_tool_use.web_fetch_requests'],
  ],
  [
    ['gemini'],
    NO_PLACE,
    [
      'candidates[].avgLogprobs',
      'candidates[].citationMetadata.citations[].license',
      'candidates[].finishMessage',
      'candidates[].groundingMetadata.groundingChunks[].web.domain',
      'candidates[].groundingMetadata.groundingSupports[].confidenceScores',
      'candidates[].groundingMetadata.groundingSupports[].segment.text',
      'candidates[].groundingMetadata.searchEntryPoint',
      'candidates[].groundingMetadata.webSearchQueries',
      'candidates[].logprobsResult.chosenCandidates[].tokenId',
      'candidates[].logprobsResult.topCandidates[].candidates[].tokenId',
      'candidates[].safetyRatings',
      'candidates[].urlContextMetadata',
    ],
  ],
  [['openai-responses'], NO_PLACE, ['output[message].phase']],
  [
    ['anthropic'],
    PROVIDER_ITEM,
    ['content[code_execution_tool_result]', 'content[container_upload]', 'content[server_tool_use]', 'content[web_search_tool_result]'],
  ],
  [['gemini'], PROVIDER_ITEM, ['candidates[].content.parts[].codeExecutionResult', 'candidates[].content.parts[].executableCode']],
  [
    ['openai-responses'],
    PROVIDER_ITEM,
    [
      'output[apply_patch_call]',
      'output[code_interpreter_call]',
      'output[computer_call]',
      'output[custom_tool_call]',
      'output[file_search_call]',
      'output[image_generation_call]',
      'output[mcp_call]',
      'output[shell_call]',
      'output[web_search_call]',
    ],
  ],
  [['openai-chat'], UNCOUNTED, ['usage.prompt_tokens_details.video_tokens']],
]

const RESPONSES_CALLERS: readonly Row[] = [
  [
    ['anthropic'],
    CITED,
    [
      'content[text].citations[char_location].cited_text',
      'content[text].citations[char_location].document_index',
      'content[text].citations[char_location].end_char_index',
      'content[text].citations[char_location].start_char_index',
      'content[text].citations[content_block_location].cited_text',
      'content[text].citations[content_block_location].document_index',
      'content[text].citations[content_block_location].end_block_index',
      'content[text].citations[content_block_location].start_block_index',
      'content[text].citations[page_location].cited_text',
      'content[text].citations[page_location].document_index',
      'content[text].citations[page_location].end_page_number',
      'content[text].citations[page_location].start_page_number',
      'content[text].citations[search_result_location].cited_text',
      'content[text].citations[search_result_location].end_block_index',
      'content[text].citations[search_result_location].search_result_index',
      'content[text].citations[search_result_location].source',
      'content[text].citations[search_result_location].start_block_index',
      'content[text].citations[web_search_result_location].encrypted_index',
    ],
  ],
  [
    ['openai-chat'],
    CITED,
    [
      'choices[].message.annotations[file].file.content[text].text',
      'choices[].message.annotations[file].file.hash',
      'choices[].message.annotations[file].file.name',
    ],
  ],
  [['gemini'], ENVELOPE, ['createTime', 'modelVersion', 'responseId']],
  [['openai-chat'], ENVELOPE, ['choices[].native_finish_reason', 'created', 'provider', 'system_fingerprint', 'usage.cost']],
  [['openai-chat', 'openai-responses', 'anthropic'], ENVELOPE, ['id', 'model']],
  [['openai-responses'], ENVELOPE, ['completed_at', 'created_at']],
  [
    ['openai-chat'],
    ITEM_IDS,
    ['choices[].message.reasoning_details[reasoning.encrypted].id', 'choices[].message.reasoning_details[reasoning.summary].id'],
  ],
  [['openai-responses'], ITEM_IDS, ['output[function_call].id', 'output[message].id'], undefined, 'translate'],
  [['gemini'], MODALITIES, ['usageMetadata.candidatesTokensDetails[].tokenCount', 'usageMetadata.promptTokensDetails[].tokenCount']],
  [
    ['openai-chat'],
    MODALITIES,
    [
      'usage.completion_tokens_details.audio_tokens',
      'usage.completion_tokens_details.image_tokens',
      'usage.prompt_tokens_details.audio_tokens',
    ],
  ],
  [['gemini'], NO_MEDIA, ['candidates[].content.parts[audio].inlineData.data']],
  [['openai-chat'], NO_MEDIA, ['choices[].message.audio']],
  [
    ['anthropic'],
    NO_PLACE,
    ['container', 'context_management', 'stop_details', 'stop_sequence', 'usage.inference_geo', 'usage.server_tool_use.web_fetch_requests'],
  ],
  [
    ['gemini'],
    NO_PLACE,
    [
      'candidates[].avgLogprobs',
      'candidates[].citationMetadata.citations[].license',
      'candidates[].finishMessage',
      'candidates[].groundingMetadata.groundingChunks[].web.domain',
      'candidates[].groundingMetadata.groundingSupports[].confidenceScores',
      'candidates[].groundingMetadata.groundingSupports[].segment.text',
      'candidates[].groundingMetadata.searchEntryPoint',
      'candidates[].groundingMetadata.webSearchQueries',
      'candidates[].logprobsResult.chosenCandidates[].tokenId',
      'candidates[].logprobsResult.topCandidates[].candidates[].tokenId',
      'candidates[].safetyRatings',
      'candidates[].urlContextMetadata',
      'usageMetadata.trafficType',
    ],
  ],
  [
    ['anthropic'],
    PROVIDER_ITEM,
    ['content[code_execution_tool_result]', 'content[container_upload]', 'content[server_tool_use]', 'content[web_search_tool_result]'],
  ],
  [['gemini'], PROVIDER_ITEM, ['candidates[].content.parts[].codeExecutionResult', 'candidates[].content.parts[].executableCode']],
  [
    ['openai-chat'],
    UNCOUNTED,
    [
      'usage.completion_tokens_details.accepted_prediction_tokens',
      'usage.completion_tokens_details.rejected_prediction_tokens',
      'usage.prompt_tokens_details.video_tokens',
    ],
  ],
]

const MESSAGES_CALLERS: readonly Row[] = [
  [
    ['openai-chat'],
    CITED,
    [
      'choices[].message.annotations[file].file.content[text].text',
      'choices[].message.annotations[file].file.hash',
      'choices[].message.annotations[file].file.name',
    ],
  ],
  [['openai-responses'], CITED, ['output[message].content[output_text].annotations[file_path].file_id']],
  [['gemini'], ENVELOPE, ['createTime', 'modelVersion', 'responseId']],
  [['openai-chat'], ENVELOPE, ['choices[].native_finish_reason', 'created', 'provider', 'system_fingerprint', 'usage.cost']],
  [['openai-chat', 'openai-responses', 'anthropic'], ENVELOPE, ['id', 'model']],
  [['openai-responses'], ENVELOPE, ['completed_at', 'created_at']],
  [['openai-chat'], ITEM_IDS, ['choices[].message.reasoning_details[reasoning.text].id']],
  [['openai-responses'], ITEM_IDS, ['output[function_call].id', 'output[message].id']],
  [
    ['gemini'],
    LOGPROBS,
    [
      'candidates[].logprobsResult.chosenCandidates[].logProbability',
      'candidates[].logprobsResult.chosenCandidates[].token',
      'candidates[].logprobsResult.topCandidates[].candidates[].logProbability',
      'candidates[].logprobsResult.topCandidates[].candidates[].token',
    ],
  ],
  [
    ['openai-chat'],
    LOGPROBS,
    [
      'choices[].logprobs.content[].bytes[]',
      'choices[].logprobs.content[].logprob',
      'choices[].logprobs.content[].token',
      'choices[].logprobs.content[].top_logprobs[].bytes[]',
      'choices[].logprobs.content[].top_logprobs[].logprob',
      'choices[].logprobs.content[].top_logprobs[].token',
    ],
  ],
  [
    ['openai-responses'],
    LOGPROBS,
    [
      'output[message].content[output_text].logprobs[].bytes[]',
      'output[message].content[output_text].logprobs[].logprob',
      'output[message].content[output_text].logprobs[].token',
      'output[message].content[output_text].logprobs[].top_logprobs[].bytes[]',
      'output[message].content[output_text].logprobs[].top_logprobs[].logprob',
      'output[message].content[output_text].logprobs[].top_logprobs[].token',
    ],
  ],
  [['gemini'], MODALITIES, ['usageMetadata.candidatesTokensDetails[].tokenCount', 'usageMetadata.promptTokensDetails[].tokenCount']],
  [
    ['openai-chat'],
    MODALITIES,
    [
      'usage.completion_tokens_details.audio_tokens',
      'usage.completion_tokens_details.image_tokens',
      'usage.prompt_tokens_details.audio_tokens',
    ],
  ],
  [['gemini'], NO_MEDIA, ['candidates[].content.parts[audio].inlineData.data', 'candidates[].content.parts[image].inlineData.data']],
  [['openai-chat'], NO_MEDIA, ['choices[].message.audio', 'choices[].message.images']],
  [
    ['gemini'],
    NO_PLACE,
    [
      'candidates[].avgLogprobs',
      'candidates[].citationMetadata.citations[].license',
      'candidates[].finishMessage',
      'candidates[].groundingMetadata.groundingChunks[].web.domain',
      'candidates[].groundingMetadata.groundingSupports[].confidenceScores',
      'candidates[].groundingMetadata.groundingSupports[].segment.text',
      'candidates[].groundingMetadata.searchEntryPoint',
      'candidates[].groundingMetadata.webSearchQueries',
      'candidates[].logprobsResult.chosenCandidates[].tokenId',
      'candidates[].logprobsResult.topCandidates[].candidates[].tokenId',
      'candidates[].safetyRatings',
      'candidates[].urlContextMetadata',
      'usageMetadata.trafficType',
    ],
  ],
  [['openai-responses'], NO_PLACE, ['output[message].phase']],
  [
    ['gemini'],
    PLACES,
    [
      'candidates[].citationMetadata.citations[].endIndex',
      'candidates[].citationMetadata.citations[].startIndex',
      'candidates[].groundingMetadata.groundingSupports[].segment.endIndex',
      'candidates[].groundingMetadata.groundingSupports[].segment.startIndex',
    ],
  ],
  [
    ['openai-chat'],
    PLACES,
    [
      'choices[].message.annotations[url_citation].url_citation.end_index',
      'choices[].message.annotations[url_citation].url_citation.start_index',
    ],
  ],
  [
    ['openai-responses'],
    PLACES,
    [
      'output[message].content[output_text].annotations[file_citation].index',
      'output[message].content[output_text].annotations[file_path].index',
      'output[message].content[output_text].annotations[url_citation].end_index',
      'output[message].content[output_text].annotations[url_citation].start_index',
    ],
  ],
  [['gemini'], PROVIDER_ITEM, ['candidates[].content.parts[].codeExecutionResult', 'candidates[].content.parts[].executableCode']],
  [
    ['openai-responses'],
    PROVIDER_ITEM,
    [
      'output[apply_patch_call]',
      'output[code_interpreter_call]',
      'output[computer_call]',
      'output[custom_tool_call]',
      'output[file_search_call]',
      'output[image_generation_call]',
      'output[mcp_call]',
      'output[shell_call]',
      'output[web_search_call]',
    ],
  ],
  [
    ['openai-chat'],
    UNCOUNTED,
    [
      'usage.completion_tokens_details.accepted_prediction_tokens',
      'usage.completion_tokens_details.rejected_prediction_tokens',
      'usage.prompt_tokens_details.video_tokens',
    ],
  ],
]

export const replyLosses: readonly Loss[] = [
  ...clientLosses('chat', CHAT_CALLERS),
  ...clientLosses('responses', RESPONSES_CALLERS),
  ...clientLosses('messages', MESSAGES_CALLERS),
]
