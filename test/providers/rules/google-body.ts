/**
 * The bodies of `generateContent` that Google's two services know: every other field is refused. Fields of Vertex AI from its discovery
 * document (aiplatform v1beta1, revision 20261106, in google-api-python-client 2.202.0); those of the Gemini API from the types of
 * @google/genai 3.3.0, less what its converters for that service refuse (`…ToMldev`). Names in snake case, which both take as well,
 * are left out here: one form is enough.
 */
import { type TProperties, type TSchema, Type } from 'typebox'
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import { closed, departures, words } from '../schema.ts'
import type { Refusal } from '../stand-in.ts'

const text = Type.String()
const integer = Type.Integer()
const maybe = <T extends TSchema>(schema: T) => Type.Optional(schema)
const anyObject = Type.Record(Type.String(), Type.Unknown())
const optionalList = <T extends TSchema>(schema: T) => Type.Optional(Type.Array(schema))

/** Fields that all of an object's members may be left out of. */
const some = (members: Record<string, TSchema>) =>
  closed(Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, maybe(schema)])) as TProperties)

const blob = closed({ mimeType: text, data: Type.String({ pattern: '^[A-Za-z0-9+/_=-]*$' }) })
const fileData = some({ fileUri: text, mimeType: text })

/** Members of a part, of which one says what it is. */
const part = (own: Record<string, TSchema>, ids: Record<string, TSchema>) =>
  some({
    text,
    inlineData: blob,
    fileData,
    functionCall: some({ name: text, args: anyObject, ...ids }),
    functionResponse: some({
      name: text,
      response: anyObject,
      parts: Type.Array(some({ inlineData: blob, fileData })),
      scheduling: text,
      ...ids,
    }),
    executableCode: some({ id: text, code: text, language: text }),
    codeExecutionResult: some({ id: text, outcome: text, output: text }),
    audioTranscription: anyObject,
    thought: Type.Boolean(),
    thoughtSignature: Type.String({ pattern: '^[A-Za-z0-9+/_=-]*$' }),
    videoMetadata: some({ startOffset: text, endOffset: text, fps: Type.Number() }),
    mediaResolution: some({ level: text }),
    mediaProcessing: text,
    speechMetadata: anyObject,
    ...own,
  })

/** Keywords of `Schema`, the subset of OpenAPI 3.0 that `parameters`, `response` and `responseSchema` are written in. */
const KEYWORDS = [
  ...['type', 'format', 'title', 'description', 'nullable', 'enum', 'items', 'maxItems', 'minItems', 'properties', 'required', 'pattern'],
  ...['minProperties', 'maxProperties', 'minimum', 'maximum', 'minLength', 'maxLength', 'example', 'anyOf', 'propertyOrdering', 'default'],
]

interface Service {
  readonly part: Record<string, TSchema>
  /** Of function calls and responses. */
  readonly ids: Record<string, TSchema>
  /** Keywords beside those that both know. */
  readonly keywords: readonly string[]
  readonly tools: Record<string, TSchema>
  readonly toolConfig: Record<string, TSchema>
  readonly calling: Record<string, TSchema>
  readonly config: Record<string, TSchema>
  readonly body: Record<string, TSchema>
}

const GEMINI: Service = {
  part: { toolCall: anyObject, toolResponse: anyObject, partMetadata: anyObject },
  ids: { id: text },
  keywords: [],
  tools: { fileSearch: anyObject, mcpServers: Type.Array(anyObject) },
  toolConfig: { includeServerSideToolInvocations: Type.Boolean() },
  calling: {},
  config: { enableEnhancedCivicAnswers: Type.Boolean() },
  body: { serviceTier: words('unspecified', 'standard', 'flex', 'priority'), store: Type.Boolean() },
}

/**
 * `id` of calls and responses stands in the discovery document, and recordings of February and March 2026 have it accepted at a
 * project's address (test_multimodal_tool_returns); users report 400 from February into July 2026 (github.com/looplj/axonhub/issues/874,
 * vercel/ai/issues/15891, pydantic/pydantic-ai/issues/5081). The stricter one counts.
 */
const VERTEX: Service = {
  part: {},
  ids: {},
  keywords: ['additionalProperties', 'ref', 'defs'],
  tools: { enterpriseWebSearch: anyObject, exaAiSearch: anyObject, parallelAiSearch: anyObject, retrieval: anyObject },
  toolConfig: {},
  calling: { streamFunctionCallArguments: Type.Boolean() },
  config: { audioTimestamp: Type.Boolean(), modelConfig: anyObject, routingConfig: anyObject, responseFormat: Type.Array(anyObject) },
  body: { labels: Type.Record(Type.String(), text), modelArmorConfig: anyObject, outputConfig: anyObject },
}

const declaration = closed({
  name: text,
  description: maybe(text),
  behavior: maybe(words('UNSPECIFIED', 'BLOCKING', 'NON_BLOCKING')),
  parameters: maybe(anyObject),
  parametersJsonSchema: maybe(anyObject),
  response: maybe(anyObject),
  responseJsonSchema: maybe(anyObject),
})

function configSchema(service: Service): TSchema {
  return some({
    candidateCount: integer,
    stopSequences: Type.Array(text, { maxItems: 5 }),
    maxOutputTokens: integer,
    temperature: Type.Number({ minimum: 0, maximum: 2 }),
    topP: Type.Number({ minimum: 0, maximum: 1 }),
    topK: Type.Number(),
    seed: Type.Integer({ minimum: -2147483648, maximum: 2147483647 }),
    responseMimeType: text,
    responseSchema: anyObject,
    responseJsonSchema: Type.Unknown(),
    presencePenalty: Type.Number(),
    frequencyPenalty: Type.Number(),
    responseLogprobs: Type.Boolean(),
    logprobs: Type.Integer({ minimum: 0, maximum: 20 }),
    responseModalities: Type.Array(words('MODALITY_UNSPECIFIED', 'TEXT', 'IMAGE', 'AUDIO')),
    speechConfig: anyObject,
    thinkingConfig: some({
      includeThoughts: Type.Boolean(),
      thinkingBudget: integer,
      thinkingLevel: words('THINKING_LEVEL_UNSPECIFIED', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'XHIGH'),
    }),
    imageConfig: some({ aspectRatio: text, imageSize: text }),
    mediaResolution: text,
    audioTranscriptionConfig: anyObject,
    ...service.config,
  })
}

function bodySchema(service: Service): TSchema {
  const content = some({
    role: words('user', 'model', 'function'),
    parts: Type.Array(part(service.part, service.ids)),
  })
  const tool = some({
    functionDeclarations: Type.Array(declaration),
    googleSearch: anyObject,
    googleSearchRetrieval: anyObject,
    codeExecution: closed({}),
    computerUse: anyObject,
    urlContext: closed({}),
    googleMaps: anyObject,
    ...service.tools,
  })
  const functionCallingConfig = some({
    mode: words('MODE_UNSPECIFIED', 'AUTO', 'ANY', 'NONE', 'VALIDATED'),
    allowedFunctionNames: Type.Array(text),
    ...service.calling,
  })
  return closed({
    contents: Type.Array(content),
    systemInstruction: maybe(content),
    tools: optionalList(tool),
    toolConfig: maybe(some({ functionCallingConfig, retrievalConfig: anyObject, ...service.toolConfig })),
    safetySettings: optionalList(some({ category: text, threshold: text, method: text })),
    generationConfig: maybe(configSchema(service)),
    cachedContent: maybe(text),
    continuationToken: maybe(text),
    ...Object.fromEntries(Object.entries(service.body).map(([name, each]) => [name, maybe(each)])),
  })
}

/** `google.rpc.Status` of a request that is refused. */
export function invalid(message: string, field?: string): Refusal {
  const details = [
    { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [field === undefined ? {} : { field, description: message }] },
  ]
  return { status: 400, body: { error: { code: 400, message, status: 'INVALID_ARGUMENT', ...(field === undefined ? {} : { details }) } } }
}

/** Paths in errors are those of the messages, in snake case. */
const snake = (path: string): string => path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** github.com/pydantic/pydantic-ai/issues/5081 (nested), nashsu/llm_wiki/issues/49 (a field of the body itself). */
function unknownName(name: string, parent: string): Refusal {
  const place = parent === '' ? '' : ` at '${parent}'`
  return invalid(`Invalid JSON payload received. Unknown name "${name}"${place}: Cannot find field.`, parent)
}

/** The first keyword that is none of `Schema`'s (github.com/pizza-bot-app/pizza-bot/issues/62, decolua/9router/pull/3018). */
function schemaCheck(schema: JsonObject, path: string, known: ReadonlySet<string>): Refusal | undefined {
  for (const [keyword, value] of Object.entries(schema)) {
    if (!known.has(keyword)) return unknownName(keyword, path)
    const inner: [string, JsonObject][] = []
    if (keyword === 'items') inner.push([`${path}.items`, object(value)])
    if (keyword === 'anyOf') for (const [index, each] of list(value).entries()) inner.push([`${path}.any_of[${index}]`, each])
    if (keyword === 'properties')
      for (const [index, each] of Object.values(object(value)).entries()) inner.push([`${path}.properties[${index}].value`, object(each)])
    for (const [place, each] of inner) {
      const wrong = schemaCheck(each, place, known)
      if (wrong) return wrong
    }
  }
  return undefined
}

/** The schemas of a body that are written in `Schema`, each with its path. */
function bodySchemas(body: JsonObject): [path: string, schema: JsonObject][] {
  const found: [string, JsonObject][] = []
  const { responseSchema } = object(body.generationConfig)
  if (responseSchema !== undefined) found.push(['generation_config.response_schema', object(responseSchema)])
  for (const [at, tool] of list(body.tools).entries())
    for (const [index, { parameters, response }] of list(tool.functionDeclarations).entries()) {
      const place = `tools[${at}].function_declarations[${index}]`
      if (parameters !== undefined) found.push([`${place}.parameters`, object(parameters)])
      if (response !== undefined) found.push([`${place}.response`, object(response)])
    }
  return found
}

/** A field that the service does not know, or a value that is none of the field's type, in the words of protobuf's JSON parser. */
function fieldCheck(service: Service): (body: JsonObject) => Refusal | undefined {
  const departure = departures(bodySchema(service))
  const known: ReadonlySet<string> = new Set([...KEYWORDS, ...service.keywords])
  return (body) => {
    const wrong = departure(body)
    if (wrong === undefined)
      return bodySchemas(body)
        .map(([path, schema]) => schemaCheck(schema, path, known))
        .find((refusal) => refusal !== undefined)
    const at = wrong.path.lastIndexOf('.')
    if (wrong.message === 'unknown field') return unknownName(wrong.path.slice(at + 1), snake(wrong.path.slice(0, Math.max(at, 0))))
    return invalid(`Invalid value at '${snake(wrong.path)}': ${wrong.message}`, snake(wrong.path))
  }
}

export const geminiFields = fieldCheck(GEMINI)
export const vertexFields = fieldCheck(VERTEX)
