/** Requests that bedrock-runtime.REGION.amazonaws.com accepts at Converse and ConverseStream; messages as users and recordings show them. */
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { type Call, type Refusal, type Rules, SECRET } from '../stand-in.ts'
import { schemaRefusal } from './anthropic-json-schema.ts'
import { modelFacts, modelRefusal, thought } from './bedrock-models.ts'
import { departure } from './bedrock-schema.ts'

const refused = (message: string, status = 400): Refusal => ({ status, body: { message } })

const messageContent = (message: JsonObject | undefined): JsonObject[] => list(message?.content)

/** Members of which exactly one is set, wherever blocks stand. */
function unionRefusal(blocks: readonly JsonObject[], path: string): string | undefined {
  for (const [index, block] of blocks.entries())
    if (Object.keys(block).length !== 1)
      return `The ContentBlock object at ${path}.${index} must set one of the following keys: text, image, toolUse, toolResult, document, video, cachePoint, reasoningContent.`
  return undefined
}

function textRefusal(blocks: readonly JsonObject[], path: string): string | undefined {
  // NousResearch/hermes-agent issue 55092, measured; a line end alone was recorded as accepted (test_bedrock_cache_write_and_read).
  for (const [index, { text }] of blocks.entries())
    if (typeof text === 'string' && /^ *$/.test(text))
      return `The text field in the ContentBlock object at ${path}.${index} is blank. Add text to the text field, and try again.`
  return undefined
}

/** The bytes of an image are of the stated format. */
const HEADS: Readonly<Record<string, RegExp>> = { png: /^iVBORw0KGgo/, jpeg: /^\/9j\//, gif: /^R0lGOD/, webp: /^UklGR/ }

function imageRefusal(blocks: readonly JsonObject[], path: string): string | undefined {
  for (const [index, block] of blocks.entries()) {
    const { format, source } = object(block.image)
    const { bytes } = object(source)
    if (typeof bytes === 'string' && HEADS[String(format)]?.test(bytes) === false)
      return `The model returned the following errors: ${path}.${index}.image.source.base64: The image was specified using the image/${String(format)} media type, but does not appear to be one`
    const inner = imageRefusal(list(object(block.toolResult).content), `${path}.${index}.toolResult.content`)
    if (inner) return inner
  }
  return undefined
}

const documentsIn = (blocks: readonly JsonObject[]): JsonObject[] =>
  blocks.flatMap((block) => [...(block.document ? [object(block.document)] : []), ...documentsIn(list(object(block.toolResult).content))])

/** DocumentBlock; vercel/ai issue 20365; maximhq/bifrost issue 7003, pull 5817; boto3 issue 4726. */
function documentRefusal(messages: readonly JsonObject[]): string | undefined {
  const names = new Set<string>()
  for (const message of messages) {
    const blocks = messageContent(message)
    for (const { name, source, citations, format } of documentsIn(blocks)) {
      if (!/^[A-Za-z0-9()[\]\s_-]+$/.test(String(name)) || /\s\s/.test(String(name)))
        return "The document file name can only contain alphanumeric characters, whitespace characters, hyphens, parentheses, and square brackets. The name can't contain more than one consecutive whitespace character. Check that the file name conforms to these restrictions and retry your request."
      if (names.has(String(name))) return "Messages can't contain duplicate document names. Rename the document and retry your request."
      names.add(String(name))
      const isCited = object(citations).enabled === true
      if (!isCited && object(source).text !== undefined)
        return 'DocumentSource object must set one of the following keys: bytes, s3Location.'
      if (isCited && format !== 'txt' && format !== 'pdf')
        return 'Unsupported document format. Only txt and pdf formats are supported when citations are enabled'
    }
    if (blocks.some(({ document }) => document) && !blocks.some(({ text }) => text !== undefined))
      return 'A text block must be included when using documents.'
  }
  return undefined
}

/** aws/aws-sdk-java-v2 issue 6277 (measured), anomalyco/opencode issue 36517, Portkey-AI/gateway issue 1762. */
function cacheRefusal(call: Call): string | undefined {
  const { body } = call
  const points: JsonObject[] = list(object(body.toolConfig).tools)
    .concat(list(body.system))
    .flatMap(({ cachePoint }) => (cachePoint ? [object(cachePoint)] : []))
  for (const [i, message] of list(body.messages).entries())
    for (const [j, { cachePoint }] of messageContent(message).entries()) {
      if (cachePoint === undefined) continue
      points.push(object(cachePoint))
      const before = messageContent(message)[j - 1]
      if (before === undefined) return 'There is nothing available to cache. Please remove the invalid cache point and try again.'
      if (before.reasoningContent)
        return 'Cache point cannot be inserted after reasoning block. Please remove the invalid cache point and try again.'
      if (before.document && object(before.document).format !== 'pdf')
        return `The model returned the following errors: messages.${i}.content.${j}.type: Field required`
    }
  if (points.length > 4)
    return `The model returned the following errors: A maximum of 4 blocks with cache_control may be provided. Found ${points.length}.`
  const short = points.findIndex(({ ttl }) => ttl !== '1h')
  const late = short !== -1 && points.slice(short).some(({ ttl }) => ttl === '1h')
  return late
    ? "The model returned the following errors: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block."
    : undefined
}

const idsIn = (message: JsonObject | undefined, kind: 'toolUse' | 'toolResult'): string[] =>
  messageContent(message).flatMap((block) => {
    const { toolUseId, type } = object(block[kind])
    return block[kind] === undefined || (type !== undefined && type !== 'tool_use') ? [] : [String(toolUseId)]
  })

/** langchain-ai/langchain-aws issue 192; spring-ai issue 6413; gethnet/litellm-connector-copilot pull 101. */
function pairRefusal(messages: readonly JsonObject[]): string | undefined {
  for (const [i, message] of messages.entries()) {
    const called = message.role === 'assistant' ? idsIn(message, 'toolUse') : []
    const answered = idsIn(messages[i + 1], 'toolResult')
    const open = called.filter((id) => !answered.includes(id))
    if (open.length > 0) return `Expected toolResult blocks at messages.${i + 1}.content for the following Ids: ${open.join(', ')}`
    const known = idsIn(messages[i - 1], 'toolUse')
    if (message.role === 'user' && idsIn(message, 'toolResult').some((id) => !known.includes(id)))
      return `The number of toolResult blocks at messages.${i}.content exceeds the number of toolUse blocks of previous turn.`
    for (const [j, block] of messageContent(message).entries()) {
      const { status, content } = object(block.toolResult)
      if (status === 'error' && list(content).length === 0)
        return `The content field at messages.${i}.content.${j}.toolResult cannot be empty when status value is error.`
    }
  }
  return undefined
}

function conversationRefusal(messages: readonly JsonObject[]): string | undefined {
  if (messages.length === 0) return 'The messages field is required.'
  for (const [i, message] of messages.entries()) {
    const blocks = messageContent(message)
    const path = `messages.${i}.content`
    if (blocks.length === 0)
      return `The content field in the Message object at messages.${i} is empty. Add a ContentBlock object to the content field and try again.`
    // microsoft/semantic-kernel issue 10281
    if (message.role === messages[i - 1]?.role)
      return 'A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.'
    // NousResearch/hermes-agent issue 105780: of the newer models.
    if (message.role === 'assistant' && blocks.every(({ reasoningContent }) => reasoningContent))
      return 'This model does not support assistant message prefill. The conversation must end with a user message.'
    const wrong = unionRefusal(blocks, path) ?? textRefusal(blocks, path) ?? imageRefusal(blocks, path)
    if (wrong) return wrong
  }
  return undefined
}

/** dify issue 17545; boto3 issue 4687. */
function toolRefusal(body: JsonObject): string | undefined {
  const blocks = list(body.messages).flatMap(messageContent)
  if (body.toolConfig === undefined)
    return blocks.some(({ toolUse, toolResult }) => toolUse ?? toolResult)
      ? 'The toolConfig field must be defined when using toolUse and toolResult content blocks.'
      : undefined
  const { tools, toolChoice } = object(body.toolConfig)
  const names = list(tools).flatMap(({ toolSpec }) => (toolSpec ? [object(toolSpec).name] : []))
  if (new Set(names).size < names.length) return 'The toolConfig field contains duplicate tool names.'
  const { name } = object(object(toolChoice).tool)
  if (name !== undefined && !names.includes(name)) return `The tool ${String(name)} of toolChoice is not among the tools.`
  for (const { toolSpec } of list(tools)) {
    const { inputSchema, strict } = object(toolSpec)
    const { json } = object(inputSchema)
    if (toolSpec && object(json).type !== 'object')
      return 'The value at toolConfig.tools.inputSchema.json.type must be one of the following: object.'
    const wrong = strict === true ? schemaRefusal(json) : undefined
    if (wrong) return `The model returned the following errors: ${wrong}`
  }
  return undefined
}

/** docs.aws.amazon.com, Structured outputs, "Supported JSON Schema features", which are those of Claude's own API. */
function formatRefusal(call: Call): string | undefined {
  const { textFormat } = object(call.body.outputConfig)
  if (textFormat === undefined) return undefined
  if (!modelFacts(call).structured)
    return "This model doesn't support the outputConfig.textFormat field. Remove outputConfig.textFormat and try again."
  const { schema } = object(object(object(textFormat).structure).jsonSchema)
  try {
    return schemaRefusal(JSON.parse(String(schema)) as JsonObject)
  } catch {
    return 'The JSON schema is no JSON.'
  }
}

function check(call: Call): Refusal | undefined {
  const { body } = call
  const wrong = departure(body)
  // "Malformed input request" is how the service refuses what its shapes do not have.
  if (wrong) return refused(`Malformed input request: ${wrong.path}: ${wrong.message}`)
  const messages = list(body.messages)
  const system = list(body.system)
  const blank = textRefusal(system, 'system')
  const broken =
    blank ??
    conversationRefusal(messages) ??
    pairRefusal(messages) ??
    documentRefusal(messages) ??
    toolRefusal(body) ??
    cacheRefusal(call) ??
    formatRefusal(call) ??
    modelRefusal(call)
  return broken === undefined ? undefined : refused(broken)
}

const entry = (model: string, quirks: string): string => `context: 200000
max_output: 64000
input: [ text, image, file ]
endpoints:
  - provider: bedrock
    model: "${model}"
    price: { prompt: "3", completion: "15" }
    quirks: ${quirks}`

const PROFILE = 'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/mi1dadi0g15f'

export const bedrock: Rules = {
  preset: 'bedrock',
  settings: `key: ${SECRET}`,
  variables: { AWS_REGION: 'us-east-1' },
  wire: 'bedrock-converse',
  sources: [
    'npm @aws-sdk/client-bedrock-runtime 3.1164.0 (ConverseRequest, ConverseStreamRequest)',
    'docs.aws.amazon.com/bedrock: API reference, Structured outputs; docs.aws.amazon.com/nova: Nova 2',
    'Recordings test_bedrock, test_multimodal_tool_returns, test_tool_choice_matrix (131 accepted requests, 10 refusals)',
  ],
  models: [
    {
      slug: 'bedrock/claude-sonnet-4.5',
      name: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
      entry: entry('us.anthropic.claude-sonnet-4-5-20250929-v1:0', '{ thinking: budget }'),
      reasons: true,
      images: true,
    },
    {
      slug: 'bedrock/claude-sonnet-4.6',
      name: 'us.anthropic.claude-sonnet-4-6',
      entry: entry('us.anthropic.claude-sonnet-4-6', '{ thinking: adaptive, efforts: [ low, medium, high, max ] }'),
      reasons: true,
      images: true,
    },
    { slug: 'bedrock/profile', name: PROFILE, entry: entry(PROFILE, '{ thinking: budget }'), reasons: true, images: true },
    {
      slug: 'bedrock/nova-2-lite',
      name: 'us.amazon.nova-2-lite-v1:0',
      entry: entry('us.amazon.nova-2-lite-v1:0', '{ thinking: reasoningConfig, top_k: inferenceConfig, json_schema: words }'),
      reasons: true,
      images: true,
    },
  ],
  path: (model, stream) => `/model/${encodeURIComponent(model.name)}/${stream ? 'converse-stream' : 'converse'}`,
  denied: (request, key) =>
    request.headers.authorization === `Bearer ${key}`
      ? undefined
      : refused('Authentication failed: Please make sure your API Key is valid.', 403),
  check,
  says: thought,
}
