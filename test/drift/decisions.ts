/**
 * Decision of headgate for each name that the SDKs of `sdks.ts` have. Names that the code declares by itself are not repeated here: fields
 * of a request by the schema of their format, and members of usage by `src/dialects/canon/usage-members.ts`.
 */

import { USAGE_MEMBERS } from '../../src/dialects/canon/usage-members.ts'
import { chatRequest } from '../../src/dialects/chat/schema.ts'
import { KNOWN_BLOCKS } from '../../src/dialects/messages/known-words.ts'
import { messagesRequest } from '../../src/dialects/messages/schema.ts'
import { KNOWN_ITEMS, PASSED_EVENTS } from '../../src/dialects/responses/known-words.ts'
import { responsesRequest } from '../../src/dialects/responses/schema.ts'
import type { Kind, Wire } from './sdks.ts'

export const DECISIONS = [
  /** The code reads it, and translates it where another format can say it. */
  'understood',
  /** Goes on to, or comes from, a provider of the same wire as it is; for another wire it is left out, and recorded where a caller sent it. */
  'passed',
  /** Read here, and not handed on. */
  'dropped',
  /** A request that has it is answered with 400. */
  'refused',
  /** A member that the SDK makes itself; the wire does not have it. */
  'sdk',
] as const

export type Decision = (typeof DECISIONS)[number]
export type Decided = Readonly<Partial<Record<Decision, readonly string[]>>>

const words = (text: string): string[] => text.trim().split(/\s+/)
const fields = (schema: { properties: object }): string[] => Object.keys(schema.properties)

function wireUsage(wire: Wire): Decided {
  const { counted, within, aside, unpriced } = USAGE_MEMBERS[wire]
  return { understood: [...counted, ...within], dropped: [...aside, ...unpriced] }
}

/** Tools of Anthropic that its servers or its clients run; those that the gateway can run itself, or maps to other wires, are understood. */
const ANTHROPIC_TOOLS = words(`
  advisor_20260301 bash_20241022 bash_20250124 browser_toolset_20260801 code_execution_20250522 code_execution_20250825
  code_execution_20260120 code_execution_20260521 computer_20241022 computer_20250124 computer_20251124 computer_toolset_20260801
  mcp_toolset memory_20250818 text_editor_20241022 text_editor_20250124 text_editor_20250429 text_editor_20250728 tool_search_tool_bm25
  tool_search_tool_bm25_20251119 tool_search_tool_regex tool_search_tool_regex_20251119 web_fetch_20250910 web_fetch_20260209
  web_fetch_20260309 web_fetch_20260318`)

/** Blocks of tools that Anthropic runs: what they hold is its own. */
const ANTHROPIC_RESULTS = words(`
  advisor_tool_result bash_code_execution_tool_result code_execution_tool_result mcp_tool_listing text_editor_code_execution_tool_result
  tool_search_tool_result web_fetch_tool_result`)

/** Names of a reply's items that are read; the others that are known are passed on. */
const RESPONSES_OUTPUT = words(`
  additional_tools apply_patch_call code_interpreter_call compaction custom_tool_call custom_tool_call_output
  file_search_call function_call function_call_output image_generation_call input_file input_image input_text local_shell_call
  local_shell_call_output mcp_call mcp_list_tools message output_text program reasoning reasoning_text refusal
  tool_search_call tool_search_output web_search_call`)

const ANTHROPIC_OUTPUT = words(`
  char_location compaction container_upload fallback mcp_tool_result mcp_tool_use redacted_thinking server_tool_use text thinking
  tool_use web_search_result_location web_search_tool_result`)

const others = (known: ReadonlySet<string>, read: readonly string[]): string[] => [...known].filter((word) => !read.includes(word))

export const DECIDED: Readonly<Record<Wire, Readonly<Partial<Record<Kind, Decided>>>>> = {
  'openai-chat': {
    request: {
      understood: [...fields(chatRequest), 'audio', 'prediction'],
      refused: ['best_of'],
      passed: words(`
        _debug_pro_search _force_new_agent _inputs _prompt_token_length chat_template_kwargs citation_options clear_thinking
        compliance compound_custom context_length_exceeded_behavior country cum_logprobs disable_reasoning disable_search
        disable_tool_validation diverse_first_token do_sample documents echo enable_search_classifier exclude_domains extra
        file_workspace_id function_call functions guardrails has_image_url image_domain_filter image_format_filter include_domains
        language_preference last_updated_after_filter last_updated_before_filter latitude longitude meta min_completion_tokens min_tokens
        model_parameters moderation num_images num_search_results prompt_cache_retention prompt_mode
        random_seed ranking_model reasoning_format request_id response_formatting_locale response_metadata return_images
        return_related_questions safe_prompt safe_search safety_model search_after_date_filter
        search_before_date_filter search_domain_filter search_internal_properties search_language_filter search_mode
        search_recency_filter search_settings search_tenant sensitive_word_check store stream_mode thinking thread_id tool_stream
        updated_after_timestamp updated_before_timestamp use_threads user_id user_original_query watermark_enabled web_search_options`),
    },
    role: { understood: words('assistant developer system tool user'), refused: ['function'] },
    input: {
      understood: words('document_url file image_url input_audio json_object json_schema text'),
      passed: words('reference thinking'),
    },
    tool: {
      understood: words('allowed_tools custom function image_generation web_search'),
      passed: words('browser_search code_interpreter connector document_library web_search_premium'),
    },
    reply: {
      understood: words('choices citations created id model object search_results service_tier system_fingerprint usage x_groq'),
      passed: words('mcp_list_tools metadata moderation obfuscation prompt status time_info type usage_breakdown warnings'),
    },
    output: {
      understood: words('annotations audio content executed_tools function_call reasoning reasoning_content refusal role tool_calls'),
    },
    end: {
      understood: words(
        'complete content_filter eos error function_call length max_tokens model_length stop stop_sequence timeout tool_call tool_calls',
      ),
    },
    usage: wireUsage('openai-chat'),
  },
  'openai-responses': {
    request: {
      understood: [...fields(responsesRequest), 'stream_options'],
      refused: words('conversation previous_response_id'),
      passed: words(`
        access_programs background_options context_management image moderation prompt_cache_retention`),
    },
    input: {
      understood: words(`
        additional_tools apply_patch_call code_interpreter_call compaction compaction_trigger custom_tool_call
        custom_tool_call_output file_search_call function_call function_call_output image_generation_call input_file input_image input_text
        item_reference local_shell_call local_shell_call_output mcp_call mcp_list_tools message program reasoning
        tool_search_call tool_search_output web_search_call`),
      passed: words(`
        apply_patch_call_output computer_call computer_call_output configuration_update mcp_approval_request mcp_approval_response program_output
        shell_call shell_call_output`),
    },
    tool: {
      understood: words(
        'apply_patch code_interpreter computer custom file_search function image_generation local_shell mcp namespace shell tool_search web_search',
      ),
      passed: words(
        'computer_use_preview programmatic_tool_calling web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11',
      ),
    },
    reply: {
      understood: words(`
        background completed_at conversation created_at error id incomplete_details instructions max_output_tokens max_tool_calls metadata
        model moderation object output parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options
        prompt_cache_retention reasoning safety_identifier service_tier status temperature text tool_choice tool_usage tools top_logprobs
        top_p truncation usage user image`),
      passed: words('access_programs input_transformations prompt_cache_diagnostics'),
      sdk: ['output_text'],
    },
    output: {
      understood: RESPONSES_OUTPUT,
      passed: others(KNOWN_ITEMS, RESPONSES_OUTPUT),
    },
    event: {
      understood: words(`
        error response.completed response.content_part.added response.content_part.done response.created
        response.custom_tool_call_input.delta response.custom_tool_call_input.done response.failed response.function_call_arguments.delta
        response.function_call_arguments.done response.image_generation_call.partial_image response.in_progress response.incomplete
        response.output_item.added response.output_item.done response.output_text.annotation.added response.output_text.delta
        response.output_text.done response.queued response.reasoning_summary_part.added response.reasoning_summary_part.done
        response.reasoning_summary_text.delta response.reasoning_summary_text.done response.reasoning_text.delta
        response.reasoning_text.done response.refusal.delta response.refusal.done`),
      passed: [...PASSED_EVENTS],
    },
    end: {
      understood: words('cancelled completed content_filter failed in_progress incomplete max_messages max_output_tokens queued steered'),
    },
    usage: wireUsage('openai-responses'),
    error: {
      understood: words(`
        bio_policy empty_image_file failed_to_download_image image_content_policy_violation image_file_not_found image_file_too_large
        image_parse_error image_too_large image_too_small invalid_base64_image invalid_image invalid_image_format invalid_image_mode
        invalid_image_url invalid_prompt misalignment_policy_violation rate_limit_exceeded server_error unsupported_image_media_type
        vector_store_timeout`),
      passed: ['data_residency_mismatch'],
    },
  },
  anthropic: {
    request: {
      understood: fields(messagesRequest),
      passed: words('billing_policy compaction diagnostics fallback_credit_token thread user_profile_id workspace_id'),
    },
    input: {
      understood: words(`
        compaction container_upload document fallback image mcp_tool_result mcp_tool_use redacted_thinking search_result server_tool_use text
        thinking tool_addition tool_removal tool_result tool_use web_search_tool_result`),
      passed: ANTHROPIC_RESULTS,
    },
    tool: { understood: words('custom web_search_20250305 web_search_20260209 web_search_20260318'), passed: ANTHROPIC_TOOLS },
    reply: {
      understood: words(
        'container content context_management diagnostics id input_transformations model role stop_details stop_reason stop_sequence type usage',
      ),
    },
    output: {
      understood: ANTHROPIC_OUTPUT,
      passed: [...others(KNOWN_BLOCKS, ANTHROPIC_OUTPUT), ...words('content_block_location page_location search_result_location')],
    },
    event: {
      understood: words(`
        citations_delta content_block_delta content_block_start content_block_stop input_json_delta message_delta message_start message_stop
        signature_delta text_delta thinking_delta`),
      passed: ['compaction_delta'],
    },
    end: { understood: words('compaction end_turn max_tokens model_context_window_exceeded pause_turn refusal stop_sequence tool_use') },
    usage: wireUsage('anthropic'),
    error: {
      understood: words(`
        api_error authentication_error billing_error invalid_request_error not_found_error overloaded_error permission_error
        rate_limit_error timeout_error`),
    },
  },
  gemini: {
    tool: {
      understood: words('functionDeclarations googleSearch'),
      // Callers of no format can send them: each says its tools in its own words.
      refused: words(`
        codeExecution computerUse enterpriseWebSearch exaAiSearch fileSearch googleMaps googleSearchRetrieval mcpServers parallelAiSearch
        retrieval urlContext`),
    },
    reply: {
      understood: words('candidates modelVersion promptFeedback responseId usageMetadata'),
      dropped: words('createTime modelStatus'),
      sdk: words(
        'automaticFunctionCallingHistory codeExecutionResult data executableCode functionCalls initialPromptTokenCount sdkHttpResponse text',
      ),
    },
    output: {
      understood: words(`
        citationMetadata content fileData finishReason functionCall functionResponse groundingMetadata index inlineData logprobsResult text
        thought thoughtSignature`),
      // `scripts/losses/replies.ts` says so of each that a model may send.
      dropped: words(`
        audioMetadata audioTranscription avgLogprobs codeExecutionResult continuationToken documentMetadata executableCode finishMessage
        mediaProcessing mediaResolution partMetadata safetyRatings speechMetadata spreadsheetMetadata tokenCount toolCall toolResponse
        urlContextMetadata videoMetadata`),
    },
    end: {
      understood: words(`
        BLOCKLIST CONTINUATION FINISH_REASON_UNSPECIFIED IMAGE_OTHER IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION IMAGE_SAFETY LANGUAGE
        MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE MAX_TOKENS MISSING_THOUGHT_SIGNATURE MODEL_ARMOR NO_IMAGE OTHER PROHIBITED_CONTENT
        RECITATION SAFETY SPII STOP TOO_MANY_TOOL_CALLS UNEXPECTED_TOOL_CALL`),
      // Any reason for a blocked prompt is a refusal; an end that is not known is recorded as `unknown`.
      dropped: words('BLOCKED_REASON_UNSPECIFIED ESCALATION JAILBREAK PUP_LIMITED_DISABLED'),
    },
    usage: wireUsage('gemini'),
  },
  'bedrock-converse': {
    tool: { understood: words('cachePoint toolSpec'), refused: ['systemTool'] },
    output: {
      understood: words('audio cachePoint citation citationsContent document image reasoningContent text toolResult toolUse video'),
      dropped: words('guardContent searchResult toolAddition toolRemoval'),
    },
    event: {
      understood: words(`
        contentBlockDelta contentBlockStart contentBlockStop internalServerException messageStart messageStop metadata
        modelStreamErrorException serviceUnavailableException throttlingException validationException`),
    },
    end: {
      understood: words(`
        content_filtered end_turn guardrail_intervened malformed_model_output malformed_tool_use max_tokens model_context_window_exceeded
        stop_sequence tool_use`),
    },
    usage: wireUsage('bedrock-converse'),
  },
}
