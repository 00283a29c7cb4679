/**
 * The SDKs whose types the drift sentinel reads, at stated versions, and which names it takes from each: type expressions, which
 * `typescript-names.ts` evaluates, or classes, which `python_names.py` follows. Names of the same wire and kind are one set.
 */

/** Role of a name in a wire. Those of a request come from callers; the others come from a provider. */
export const KINDS = [
  // From callers.
  'request',
  'role',
  'input',
  'tool',
  // From providers.
  'reply',
  'output',
  'event',
  'end',
  'usage',
  'error',
  // Decided in `models.ts`.
  'model',
] as const

export type Kind = (typeof KINDS)[number]
export type Wire = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini' | 'bedrock-converse'

export interface TypeScriptSdk {
  readonly package: string
  readonly version: string
  /** Namespaces for the expressions, by the module that has them. */
  readonly imports: Readonly<Record<string, string>>
  readonly wire: Wire
  readonly names: Readonly<Partial<Record<Kind, string>>>
}

/** The compiler that evaluates the expressions; it is installed beside the SDKs. */
export const COMPILER = { package: 'typescript', version: '5.9.3' }

export const TYPESCRIPT_SDKS: readonly TypeScriptSdk[] = [
  {
    package: 'openai',
    version: '7.59.0',
    imports: { C: 'openai/resources/chat/completions/completions', S: 'openai/resources/shared' },
    wire: 'openai-chat',
    names: {
      model: 'Words<S.ChatModel>',
      request: 'Members<C.ChatCompletionCreateParamsNonStreaming>',
      role: "Kinds<C.ChatCompletionMessageParam, 'role'>",
      input: "Kinds<C.ChatCompletionContentPart> | Kinds<NonNullable<C.ChatCompletionCreateParams['response_format']>>",
      tool: 'Kinds<C.ChatCompletionTool> | Kinds<C.ChatCompletionToolChoiceOption>',
      reply: 'Members<C.ChatCompletion> | Members<C.ChatCompletionChunk>',
      output: 'Members<C.ChatCompletionMessage> | Members<C.ChatCompletionChunk.Choice.Delta>',
      end: "Words<C.ChatCompletion.Choice['finish_reason']> | Words<C.ChatCompletionChunk.Choice['finish_reason']>",
      usage: "Paths<NonNullable<C.ChatCompletion['usage']>>",
    },
  },
  {
    package: 'openai',
    version: '7.59.0',
    imports: { R: 'openai/resources/responses/responses', S: 'openai/resources/shared' },
    wire: 'openai-responses',
    names: {
      model: 'Words<S.ResponsesModel>',
      request: 'Members<R.ResponseCreateParamsNonStreaming>',
      input: 'Kinds<R.ResponseInputItem> | Kinds<R.ResponseInputContent>',
      tool: 'Kinds<R.Tool>',
      reply: 'Members<R.Response>',
      output: 'Kinds<R.ResponseOutputItem> | Kinds<R.ResponseContent>',
      event: 'Kinds<R.ResponseStreamEvent>',
      end: "Words<R.ResponseStatus> | Words<NonNullable<R.Response.IncompleteDetails['reason']>>",
      usage: 'Paths<R.ResponseUsage>',
      error: "Words<R.ResponseError['code']>",
    },
  },
  {
    package: '@anthropic-ai/sdk',
    version: '1.14.0',
    imports: { A: '@anthropic-ai/sdk/resources/beta/messages/messages', E: '@anthropic-ai/sdk/resources/beta/beta' },
    wire: 'anthropic',
    names: {
      model: "Words<A.MessageCreateParamsNonStreaming['model']>",
      request: 'Members<A.MessageCreateParamsNonStreaming>',
      input: 'Kinds<A.BetaContentBlockParam>',
      tool: 'Kinds<A.BetaToolUnion>',
      reply: 'Members<A.BetaMessage>',
      output: 'Kinds<A.BetaContentBlock> | Kinds<A.BetaTextCitation>',
      event: 'Kinds<A.BetaRawMessageStreamEvent> | Kinds<A.BetaRawContentBlockDelta>',
      end: 'Words<A.BetaStopReason>',
      usage: 'Paths<A.BetaUsage>',
      error: 'Kinds<E.BetaError>',
    },
  },
  {
    package: '@google/genai',
    version: '3.3.0',
    imports: { G: '@google/genai' },
    wire: 'gemini',
    names: {
      model: 'Words<G.Interactions.Model>',
      output: 'Members<G.Part> | Members<G.Candidate>',
      tool: 'Members<G.Tool>',
      reply: 'Members<G.GenerateContentResponse>',
      end: 'Spelled<G.FinishReason> | Spelled<G.BlockedReason>',
      usage: 'Paths<G.GenerateContentResponseUsageMetadata>',
    },
  },
  {
    package: '@aws-sdk/client-bedrock-runtime',
    version: '3.1164.0',
    imports: { B: '@aws-sdk/client-bedrock-runtime' },
    wire: 'bedrock-converse',
    names: {
      output: 'Members<B.ContentBlock> | Members<B.ContentBlockDelta>',
      event: 'Members<B.ConverseStreamOutput>',
      tool: 'Members<B.Tool>',
      end: 'Spelled<B.StopReason>',
      usage: 'Paths<B.TokenUsage>',
    },
  },
  {
    package: '@mistralai/mistralai',
    version: '2.7.0',
    imports: { M: '@mistralai/mistralai/models/components' },
    wire: 'openai-chat',
    names: {
      request: 'Members<M.ChatCompletionRequest$Outbound>',
      input: 'Kinds<M.ContentChunk$Outbound>',
      tool: "Kinds<Each<NonNullable<M.ChatCompletionRequest$Outbound['tools']>>>",
      end: 'Values<typeof M.ChatCompletionChoiceFinishReason>',
      usage: 'Paths<M.UsageInfo$Outbound>',
    },
  },
  {
    package: 'groq-sdk',
    version: '1.6.0',
    imports: { Q: 'groq-sdk/resources/chat/completions', U: 'groq-sdk/resources/completions' },
    wire: 'openai-chat',
    names: {
      request: 'Members<Q.ChatCompletionCreateParamsNonStreaming>',
      tool: 'Kinds<Q.ChatCompletionTool>',
      reply: 'Members<Q.ChatCompletion> | Members<Q.ChatCompletionChunk>',
      output: 'Members<Q.ChatCompletionMessage> | Members<Q.ChatCompletionChunk.Choice.Delta>',
      end: "Words<Q.ChatCompletion.Choice['finish_reason']>",
      usage: "Paths<U.CompletionUsage> | Paths<NonNullable<NonNullable<Q.ChatCompletionChunk['x_groq']>['usage']>>",
    },
  },
  {
    package: 'together-ai',
    version: '0.52.0',
    imports: { T: 'together-ai/resources/chat/completions' },
    wire: 'openai-chat',
    names: {
      request: 'Members<T.CompletionCreateParamsNonStreaming>',
      reply: 'Members<T.ChatCompletion> | Members<T.ChatCompletionChunk>',
      end: "Words<T.ChatCompletion.Choice['finish_reason']>",
      usage: 'Paths<T.ChatCompletionUsage>',
    },
  },
  {
    package: '@cerebras/cerebras_cloud_sdk',
    version: '1.91.0',
    imports: { K: '@cerebras/cerebras_cloud_sdk/resources/chat/completions' },
    wire: 'openai-chat',
    names: {
      request: "Exclude<Members<K.ChatCompletionCreateParamsNonStreaming>, 'CF-RAY' | 'X-Amz-Cf-Id' | 'X-delay-time'>",
      reply: 'Members<K.ChatCompletion.ChatCompletionResponse> | Members<K.ChatCompletion.ChatChunkResponse>',
      end: "Words<K.ChatCompletion.ChatCompletionResponse.Choice['finish_reason']>",
      usage: 'Paths<K.ChatCompletion.ChatCompletionResponse.Usage>',
    },
  },
  {
    package: '@perplexity-ai/perplexity_ai',
    version: '0.38.5',
    imports: { P: '@perplexity-ai/perplexity_ai/resources/chat/completions', S: '@perplexity-ai/perplexity_ai/resources/shared' },
    wire: 'openai-chat',
    names: {
      request: 'Members<P.CompletionCreateParamsNonStreaming>',
      reply: 'Members<S.StreamChunk>',
      end: "Words<S.Choice['finish_reason']>",
      usage: 'Paths<S.UsageInfo>',
    },
  },
  {
    package: '@openrouter/sdk',
    version: '1.3.19',
    imports: { O: '@openrouter/sdk/models' },
    wire: 'openai-chat',
    names: {
      request: 'Members<O.ChatRequest$Outbound>',
      end: 'Values<typeof O.ChatFinishReasonEnum>',
    },
  },
  {
    package: 'cohere-ai',
    version: '8.1.0',
    imports: { H: 'cohere-ai' },
    wire: 'openai-chat',
    names: { end: 'Lowercase<Words<H.Cohere.ChatFinishReason>>' },
  },
]

export interface PythonSdk {
  readonly package: string
  readonly version: string
  readonly wire: Wire
  readonly names: Readonly<Partial<Record<Kind, readonly PythonName[]>>>
}

/** `how` as in the head of `python_names.py`; `camel` is how the wire spells what Python spells with underscores. */
export interface PythonName {
  readonly how: 'members' | 'paths' | 'kinds' | 'words' | 'arguments'
  readonly module: string
  readonly name: string
  readonly spelling?: 'camel'
}

export const PYTHON_SDKS: readonly PythonSdk[] = [
  {
    package: 'openai',
    version: '3.57.0',
    wire: 'openai-chat',
    names: {
      request: [{ how: 'members', module: 'openai.types.chat.completion_create_params', name: 'CompletionCreateParamsBase' }],
      usage: [{ how: 'paths', module: 'openai.types.completion_usage', name: 'CompletionUsage' }],
    },
  },
  {
    package: 'openai',
    version: '3.57.0',
    wire: 'openai-responses',
    names: {
      request: [{ how: 'members', module: 'openai.types.responses.response_create_params', name: 'ResponseCreateParamsBase' }],
      input: [{ how: 'kinds', module: 'openai.types.responses.response_input_item', name: 'ResponseInputItem' }],
      output: [{ how: 'kinds', module: 'openai.types.responses.response_output_item', name: 'ResponseOutputItem' }],
      event: [{ how: 'kinds', module: 'openai.types.responses.response_stream_event', name: 'ResponseStreamEvent' }],
      usage: [{ how: 'paths', module: 'openai.types.responses.response_usage', name: 'ResponseUsage' }],
    },
  },
  {
    package: 'anthropic',
    version: '2.14.0',
    wire: 'anthropic',
    names: {
      request: [{ how: 'members', module: 'anthropic.types.beta.message_create_params', name: 'MessageCreateParamsBase' }],
      input: [{ how: 'kinds', module: 'anthropic.types.beta.beta_content_block_param', name: 'BetaContentBlockParam' }],
      output: [{ how: 'kinds', module: 'anthropic.types.beta.beta_content_block', name: 'BetaContentBlock' }],
      end: [{ how: 'words', module: 'anthropic.types.beta.beta_stop_reason', name: 'BetaStopReason' }],
      usage: [{ how: 'paths', module: 'anthropic.types.beta.beta_usage', name: 'BetaUsage' }],
    },
  },
  {
    package: 'google-genai',
    version: '3.6.1',
    wire: 'gemini',
    names: {
      output: [{ how: 'members', module: 'google.genai.types', name: 'Part', spelling: 'camel' }],
      end: [{ how: 'words', module: 'google.genai.types', name: 'FinishReason' }],
      usage: [{ how: 'paths', module: 'google.genai.types', name: 'GenerateContentResponseUsageMetadata', spelling: 'camel' }],
    },
  },
  {
    package: 'zai-sdk',
    version: '0.2.3',
    wire: 'openai-chat',
    names: {
      request: [{ how: 'arguments', module: 'zai.api_resource.chat.completions', name: 'Completions.create' }],
      output: [{ how: 'members', module: 'zai.types.chat.chat_completion_chunk', name: 'ChoiceDelta' }],
      usage: [{ how: 'paths', module: 'zai.types.chat.chat_completion', name: 'CompletionUsage' }],
    },
  },
]
