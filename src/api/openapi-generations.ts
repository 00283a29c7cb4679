/** The operations that call models, described. */
import { type TSchema, Type } from 'typebox'
import type { FaultCode } from '../core/faults.ts'
import type { DescribedOperation, DescribedParameter } from './openapi.ts'
import { chatCompletion, embeddings, message, plan, response, tokenCount } from './openapi-replies.ts'
import { messagesFault } from './openapi-schemas.ts'

/** Schemas that check the bodies of the client formats. */
export interface RequestSchemas {
  readonly responses: TSchema
  readonly chat: TSchema
  readonly messages: TSchema
  readonly embeddings: TSchema
}

/** Slugs for the examples. */
export interface ExampleModels {
  readonly generate: string
  /** Undefined where no model embeds: the operation is described without an example of its own. */
  readonly embedding: string | undefined
}

/** What the fields mean that are the same in every format, and the common ones that are not. */
export const NOTES: Readonly<Record<string, string>> = {
  model:
    'Slug of the model, such as `author/name`; `author/name:floor` and `author/name:nitro` ask for the cheapest or the fastest endpoint.',
  models: 'Models to fall back on, in this order.',
  preset: 'Name of a stored preset whose settings lie under those of the request.',
  provider: 'Which providers may serve the request, and in which order.',
  route: 'Old name of `provider.sort.partition`.',
  plugins: 'Plugins of this request, with their settings.',
  session_id: 'Requests of one session stay on one endpoint while it is well.',
  user: 'Who the request is for, in your own words.',
  metadata: 'Pairs of your own, at most 16; kept with the generation.',
  trace: 'Names for your own tracing.',
  service_tier: 'Asks for a tier of service where a provider has several.',
  stop_server_tools_when: 'Conditions, any of which ends the work of the tools that the gateway runs; in place of `max_tool_calls`.',
  max_tool_calls: 'Most calls of tools that the gateway runs; 30 by default and at most.',
  cache_control: 'Marks the prompt for caching where the provider wants to be told.',
  prompt_cache_key: 'Requests with one key stay on one endpoint while it is well.',
  stream: 'True: the answer comes as server-sent events.',
  store: 'Answers are not stored: only false is taken.',
  input: 'What is asked: a text, or items of a conversation.',
  messages: 'The conversation so far.',
  instructions: 'What the model is told before the conversation.',
  system: 'What the model is told before the conversation.',
  temperature: 'How freely the model chooses its words.',
  top_p: 'The model chooses among the most likely words up to this share.',
  max_tokens: 'Most tokens of the answer.',
  max_completion_tokens: 'Most tokens of the answer.',
  max_output_tokens: 'Most tokens of the answer.',
  stop: 'Texts at which the answer ends.',
  stop_sequences: 'Texts at which the answer ends.',
  tools: 'Functions that the model may call, and tools that the gateway runs.',
  tool_choice: 'Whether the model may, must or must not call a tool, or which one.',
  parallel_tool_calls: 'Whether several calls may come at once.',
  response_format: 'JSON instead of prose, with or without a schema.',
  text: 'Form of the answer: prose, JSON, or JSON of a schema.',
  reasoning: 'How long the model thinks before it answers, and what is told of it.',
  reasoning_effort: 'Short for `reasoning.effort`.',
  thinking: 'How the model thinks before it answers.',
  seed: 'The same number asks for the same answer.',
  dimensions: 'Length of the vectors, where the model offers several.',
  encoding_format: '`float`, or `base64` of 32-bit floats, little endian.',
  input_type: 'What the vectors are for, such as `query` or `document`, where the model tells them apart.',
}

const FAULTS: readonly FaultCode[] = [
  'no_credit',
  'model_not_found',
  'deadline',
  'rate_limited',
  'upstream_error',
  'unavailable',
  'upstream_silent',
  'upstream_overloaded',
]

/** @param brand word of the white label. */
export function generationOperations(bodies: RequestSchemas, models: ExampleModels, brand: string): DescribedOperation[] {
  const { generate: model, embedding } = models
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const generates = { method: 'post', key: 'ordinary', faults: FAULTS } as const
  const answers = { ...generates, tag: 'Generation', streams: true, parameters: headersOf(brand) } as const
  const aMessage = { model, max_tokens: 100, messages }
  return [
    {
      ...answers,
      path: '/responses',
      id: 'createResponse',
      summary: 'Generate, in the Responses format',
      body: { schema: bodies.responses, examples: examplesOf({ model, input: 'Say hello.' }) },
      reply: { description: 'The answer.', schema: response },
    },
    {
      ...answers,
      path: '/chat/completions',
      id: 'createChatCompletion',
      summary: 'Generate, in the chat format',
      body: { schema: bodies.chat, examples: examplesOf({ model, messages }) },
      reply: { description: 'The answer.', schema: chatCompletion },
    },
    {
      ...answers,
      path: '/messages',
      id: 'createMessage',
      summary: 'Generate, in the messages format',
      description: 'The key may come as `x-api-key`. Errors have the form of this format.',
      faultForm: messagesFault,
      body: { schema: bodies.messages, examples: examplesOf(aMessage) },
      reply: { description: 'The answer.', schema: message },
    },
    {
      ...generates,
      path: '/messages/count_tokens',
      id: 'countTokens',
      faultForm: messagesFault,
      tag: 'Generation',
      summary: 'Count the tokens of a request in the messages format',
      body: { schema: bodies.messages, examples: { plain: { summary: 'A question', value: aMessage } } },
      reply: { description: 'The count; `estimated` where no provider counted.', schema: tokenCount },
    },
    {
      ...generates,
      path: '/embeddings',
      id: 'createEmbeddings',
      tag: 'Embeddings',
      summary: 'Turn texts and images into vectors',
      body: { schema: bodies.embeddings, examples: embedding === undefined ? {} : embeddingExamples(embedding) },
      reply: { description: 'One vector for each input, in order.', schema: embeddings },
    },
    {
      ...generates,
      path: '/plan',
      id: 'planRequest',
      tag: 'Generation',
      summary: 'Say what would become of a request, without calling anybody',
      parameters: [
        {
          name: 'format',
          in: 'query',
          description: 'Format of the body, where it cannot be told.',
          schema: { type: 'string', enum: ['responses', 'chat', 'messages', 'embeddings'] },
        },
      ],
      body: {
        schema: Type.Union([bodies.responses, bodies.chat, bodies.messages, bodies.embeddings]),
        examples: {
          plain: { summary: 'A question', value: { model, messages } },
          ...(embedding === undefined ? {} : { vectors: { summary: 'Two vectors', value: { model: embedding, input: ['one', 'two'] } } }),
        },
      },
      reply: { description: 'Endpoints in order, those left out, and the money that would be held.', schema: plan },
    },
  ]
}

function examplesOf(
  plain: { readonly model: string } & { readonly [field: string]: unknown },
): NonNullable<DescribedOperation['body']>['examples'] {
  const value = plain as NonNullable<DescribedOperation['body']>['examples'][string]['value']
  return {
    plain: { summary: 'A question', value },
    stream: { summary: 'The answer as a stream', value: { ...value, stream: true } },
    routed: {
      summary: 'The cheapest endpoint first, the others if it fails',
      value: { ...value, provider: { sort: 'price', allow_fallbacks: true } },
    },
  }
}

function embeddingExamples(model: string): NonNullable<DescribedOperation['body']>['examples'] {
  return {
    plain: { summary: 'One text', value: { model, input: 'A text' } },
    several: { summary: 'Several texts, as base64', value: { model, input: ['One text', 'Another text'], encoding_format: 'base64' } },
  }
}

function headersOf(brand: string): DescribedParameter[] {
  const title = brand.slice(0, 1).toUpperCase() + brand.slice(1)
  return [
    {
      name: `X-${title}-Metadata`,
      in: 'header',
      description: `\`enabled\`: the reply tells in \`${brand}_metadata\` how it came about.`,
      schema: { type: 'string', enum: ['enabled', 'disabled'] },
      example: 'enabled',
    },
    {
      name: 'x-session-id',
      in: 'header',
      description: 'As `session_id` of the body.',
      schema: { type: 'string', maxLength: 256 },
      example: 'a-session',
    },
  ]
}
