/** The operations that call models, described. */
import { type TSchema, Type } from 'typebox'
import type { FaultCode } from '../../core/faults.ts'
import type { DescribedOperation, DescribedParameter, ExampleModels } from '../described-operation.ts'
import { messagesFault } from '../schemas.ts'
import { chatCompletion, compactedResponse, completion, embeddings, message, plan, response, tokenCount } from './generated-replies.ts'

/** Schemas that check the bodies of the client formats. */
export interface RequestSchemas {
  readonly responses: TSchema
  readonly chat: TSchema
  readonly completions: TSchema
  readonly messages: TSchema
  readonly embeddings: TSchema
}

/** Descriptions of the fields that mean the same in every format, and of the common ones that do not. */
export const NOTES: Readonly<Record<string, string>> = {
  model: 'Slug of the model: `author/name`. The suffix `:floor` prefers the cheapest endpoint, `:nitro` the fastest.',
  models: 'Models to fall back to, in this order.',
  preset: 'Name of a stored preset. Fields of the request win over its settings.',
  provider: 'Which providers may serve the request, and in which order.',
  route: 'Old name of `provider.sort.partition`.',
  plugins: 'Plugins of this request, with their settings.',
  session_id: 'Requests of one session stay at one endpoint while it is healthy.',
  user: 'Your own name for the user of the request.',
  metadata: 'Up to 16 pairs of your own, kept with the generation.',
  trace: 'Names for your own tracing.',
  service_tier: 'Tier of service, where a provider has several.',
  stop_server_tools_when: 'Conditions that end the loop of server tools; any one is enough. In place of `max_tool_calls`.',
  max_tool_calls: 'Most calls of server tools; 30 by default and at most.',
  cache_control: 'Marks the prompt for caching, for providers that need a mark.',
  prompt_cache_key: 'Requests with the same value stay at one endpoint while it is healthy.',
  stream: 'Return the answer as server-sent events.',
  store: 'Must be false: the gateway stores no answers.',
  input: 'The prompt: a text, or the items of a conversation.',
  messages: 'The conversation so far.',
  instructions: 'System prompt.',
  system: 'System prompt.',
  temperature: 'Randomness of the answer; 0 is the least random.',
  top_p: 'The model samples from the most likely tokens up to this probability mass.',
  max_tokens: 'Most tokens of the answer.',
  max_completion_tokens: 'Most tokens of the answer.',
  max_output_tokens: 'Most tokens of the answer.',
  stop: 'Texts at which the answer ends.',
  stop_sequences: 'Texts at which the answer ends.',
  tools: 'Functions that the model may call, and server tools that the gateway runs.',
  tool_choice: 'Whether the model may, must or must not call a tool, or which one.',
  parallel_tool_calls: 'Whether the model may make several calls in one turn.',
  response_format: 'JSON instead of free text, with or without a schema.',
  text: 'Form of the answer: free text, JSON, or JSON of a schema.',
  reasoning: 'How much the model reasons before it answers, and whether the reply shows it.',
  reasoning_effort: 'Short for `reasoning.effort`.',
  thinking: 'How much the model reasons before it answers.',
  seed: 'With the same number, providers try to return the same answer.',
  dimensions: 'Length of the vectors, where the model offers several.',
  encoding_format: '`float`, or `base64` of 32-bit floats, little endian.',
  input_type: 'Use of the vectors, such as `query` or `document`, where the model makes a difference.',
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
export function generatingOperations(bodies: RequestSchemas, models: ExampleModels, brand: string): DescribedOperation[] {
  const { generate: model, embedding } = models
  const messages = [{ role: 'user', content: 'Say hello.' }]
  const generates = { method: 'post', roles: ['member'], reach: 'own', faults: FAULTS } as const
  const answers = { ...generates, tag: 'Generation', streams: true, parameters: brandHeaders(brand) } as const
  const aMessage = { model, max_tokens: 100, messages }
  return [
    {
      ...answers,
      path: '/responses',
      id: 'createResponse',
      summary: 'Create a response',
      description:
        'The same path takes WebSockets, which OpenAPI cannot describe as an operation: a `GET` with `Upgrade: websocket`, the key in `Authorization`, and then one text message `{"type": "response.create", …}` with the fields of this body for each response. Every event of the stream is one message. `stream_id` names a lane of several at the same time, `previous_response_id` continues the last response of a lane, `generate: false` prepares one without a call of a provider. A handshake of an unknown version, or while WebSockets are switched off, gets 426.',
      body: { schema: bodies.responses, examples: requestExamples({ model, input: 'Say hello.' }) },
      reply: { description: 'The answer.', schema: response },
    },
    {
      ...answers,
      streams: false,
      path: '/responses/compact',
      id: 'compactResponse',
      summary: 'Compact a conversation',
      description: 'The model writes a summary. It comes back as one item that only this gateway can open, for the same key.',
      body: {
        schema: bodies.responses,
        examples: { plain: { summary: 'A conversation', value: { model, input: [{ role: 'user', content: 'Say hello.' }] } } },
      },
      reply: { description: "The user's messages, followed by one compaction item.", schema: compactedResponse },
    },
    {
      ...answers,
      path: '/chat/completions',
      id: 'createChatCompletion',
      summary: 'Create a chat completion',
      body: { schema: bodies.chat, examples: requestExamples({ model, messages }) },
      reply: { description: 'The answer.', schema: chatCompletion },
    },
    {
      ...answers,
      path: '/completions',
      id: 'createCompletion',
      summary: 'Create a completion (legacy)',
      description: 'The prompt becomes one user message. New programs use chat completions.',
      body: { schema: bodies.completions, examples: requestExamples({ model, prompt: 'Say hello.' }) },
      reply: { description: 'The answer.', schema: completion },
    },
    {
      ...answers,
      path: '/messages',
      id: 'createMessage',
      summary: 'Create a message',
      description: 'The key may be sent as `x-api-key`. Errors have the form of the Messages format.',
      faultForm: messagesFault,
      body: { schema: bodies.messages, examples: requestExamples(aMessage) },
      reply: { description: 'The answer.', schema: message },
    },
    {
      ...generates,
      path: '/messages/count_tokens',
      id: 'countTokens',
      faultForm: messagesFault,
      tag: 'Generation',
      summary: 'Count the tokens of a message request',
      body: { schema: withoutCap(bodies.messages), examples: { plain: { summary: 'A question', value: { model, messages } } } },
      reply: { description: 'The count; `estimated` is true where no provider counted.', schema: tokenCount },
    },
    {
      ...generates,
      path: '/embeddings',
      id: 'createEmbeddings',
      tag: 'Embeddings',
      summary: 'Create embeddings',
      body: { schema: bodies.embeddings, examples: embedding === undefined ? {} : embeddingExamples(embedding) },
      reply: { description: 'One vector for each input, in order.', schema: embeddings },
    },
    {
      ...generates,
      path: '/plan',
      id: 'planRequest',
      tag: 'Generation',
      summary: 'Preview where a request would go',
      description: 'Shows endpoints, exclusions and the hold. No provider is called and nothing is charged.',
      parameters: [
        {
          name: 'format',
          in: 'query',
          description: 'Format of the body, where its fields fit several formats.',
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
      reply: { description: 'Endpoints in order, excluded endpoints, and the money that would be held.', schema: plan },
    },
  ]
}

function requestExamples(
  plain: { readonly model: string } & { readonly [field: string]: unknown },
): NonNullable<DescribedOperation['body']>['examples'] {
  const value = plain as NonNullable<DescribedOperation['body']>['examples'][string]['value']
  return {
    plain: { summary: 'A question', value },
    stream: { summary: 'Streamed', value: { ...value, stream: true } },
    routed: {
      summary: 'Cheapest endpoint first, others as fallbacks',
      value: { ...value, provider: { sort: 'price', allow_fallbacks: true } },
    },
  }
}

/** Makes `max_tokens` optional: a request whose tokens are only counted needs none. */
function withoutCap(schema: TSchema): TSchema {
  const { required = [] } = schema as { required?: string[] }
  return { ...schema, required: required.filter((name) => name !== 'max_tokens') } as TSchema
}

function embeddingExamples(model: string): NonNullable<DescribedOperation['body']>['examples'] {
  return {
    plain: { summary: 'One text', value: { model, input: 'A text' } },
    several: { summary: 'Several texts, as base64', value: { model, input: ['One text', 'Another text'], encoding_format: 'base64' } },
  }
}

function brandHeaders(brand: string): DescribedParameter[] {
  const title = brand.slice(0, 1).toUpperCase() + brand.slice(1)
  return [
    {
      name: `X-${title}-Metadata`,
      in: 'header',
      description: `\`enabled\` adds \`${brand}_metadata\` to the reply: routing decisions and attempts.`,
      schema: { type: 'string', enum: ['enabled', 'disabled'] },
      example: 'enabled',
    },
    {
      name: 'x-session-id',
      in: 'header',
      description: 'Same as `session_id` in the body.',
      schema: { type: 'string', maxLength: 256 },
      example: 'a-session',
    },
  ]
}
