/** The bodies of Converse and ConverseStream: every other field is refused (types of @aws-sdk/client-bedrock-runtime 3.1164.0). */
import { type TProperties, type TSchema, Type } from 'typebox'
import { closed, departures, words } from '../schema.ts'

const text = Type.String()
const anyObject = Type.Record(Type.String(), Type.Unknown())
const maybe = <T extends TSchema>(schema: T) => Type.Optional(schema)
const BASE64 = '^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$'
const bytes = Type.String({ pattern: BASE64, minLength: 1 })

/** A union: exactly one member, which `unionRefusal` looks at. */
const union = (members: Record<string, TSchema>) =>
  closed(Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, maybe(schema)])) as TProperties)

const s3Location = closed({ uri: Type.String({ pattern: '^s3://' }), bucketOwner: maybe(text) })
const source = union({ bytes, s3Location })

const image = closed({ format: words('png', 'jpeg', 'gif', 'webp'), source })
const video = closed({ format: words('mkv', 'mov', 'mp4', 'webm', 'flv', 'mpeg', 'mpg', 'wmv', 'three_gp'), source })
const audio = closed({
  format: words('mp3', 'opus', 'wav', 'aac', 'flac', 'mp4', 'ogg', 'mkv', 'mka', 'x-aac', 'm4a', 'mpeg', 'mpga', 'pcm', 'webm'),
  source,
})
const document = closed({
  format: maybe(words('pdf', 'csv', 'doc', 'docx', 'xls', 'xlsx', 'html', 'txt', 'md')),
  name: Type.String({ minLength: 1, maxLength: 200 }),
  source: union({ bytes, s3Location, text, content: Type.Array(closed({ text })) }),
  context: maybe(Type.String({ minLength: 1 })),
  citations: maybe(closed({ enabled: Type.Boolean() })),
})
const cachePoint = closed({ type: words('default'), ttl: maybe(words('5m', '1h')) })

/** Names and identifiers (ToolSpecification, ToolUseBlock; run-llama/llama_index pull 22775). */
const toolName = Type.String({ pattern: '^[a-zA-Z0-9_-]{1,64}$' })
const toolUseId = Type.String({ pattern: '^[a-zA-Z0-9_.:-]{1,64}$' })

const guardContent = anyObject
const block = union({
  text,
  image,
  document,
  video,
  audio,
  toolUse: closed({ toolUseId, name: toolName, input: anyObject, type: maybe(words('server_tool_use')) }),
  toolResult: closed({
    toolUseId,
    content: Type.Array(union({ json: Type.Unknown(), text, image, document, video, searchResult: anyObject })),
    status: maybe(words('success', 'error')),
    type: maybe(text),
  }),
  guardContent,
  cachePoint,
  reasoningContent: union({ reasoningText: closed({ text, signature: maybe(text) }), redactedContent: bytes }),
  citationsContent: anyObject,
  searchResult: anyObject,
})

const tool = union({
  toolSpec: closed({
    name: toolName,
    description: maybe(Type.String({ minLength: 1 })),
    inputSchema: union({ json: anyObject }),
    strict: maybe(Type.Boolean()),
  }),
  systemTool: closed({ name: text }),
  cachePoint,
})

const pair = '^[a-zA-Z0-9\\s:_@$#=/+,.-]{0,256}$'

/** Lists have at least one element where the reference says so. */
export const departure = departures(
  closed({
    messages: maybe(Type.Array(closed({ role: words('user', 'assistant', 'system'), content: Type.Array(block) }))),
    system: maybe(Type.Array(union({ text, guardContent, cachePoint }))),
    inferenceConfig: maybe(
      union({
        maxTokens: Type.Integer({ minimum: 1 }),
        temperature: Type.Number({ minimum: 0, maximum: 1 }),
        topP: Type.Number({ minimum: 0, maximum: 1 }),
        stopSequences: Type.Array(Type.String({ minLength: 1 }), { maxItems: 2500 }),
      }),
    ),
    toolConfig: maybe(
      closed({
        tools: Type.Array(tool, { minItems: 1 }),
        toolChoice: maybe(union({ auto: closed({}), any: closed({}), tool: closed({ name: toolName }) })),
      }),
    ),
    guardrailConfig: maybe(
      union({
        guardrailIdentifier: text,
        guardrailVersion: text,
        trace: words('enabled', 'disabled', 'enabled_full'),
        streamProcessingMode: words('sync', 'async'),
      }),
    ),
    additionalModelRequestFields: maybe(anyObject),
    promptVariables: maybe(anyObject),
    additionalModelResponseFieldPaths: maybe(Type.Array(Type.String({ pattern: '^/' }), { maxItems: 10 })),
    requestMetadata: maybe(Type.Record(Type.String({ pattern: pair }), Type.String({ pattern: pair }))),
    performanceConfig: maybe(union({ latency: words('standard', 'optimized') })),
    serviceTier: maybe(closed({ type: words('priority', 'default', 'flex', 'reserved') })),
    outputConfig: maybe(
      union({
        textFormat: closed({
          type: words('json_schema'),
          structure: closed({ jsonSchema: closed({ schema: text, name: maybe(Type.String({ minLength: 1 })), description: maybe(text) }) }),
        }),
        effort: text,
      }),
    ),
  }),
)
