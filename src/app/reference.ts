/** The description of the API that is served: the schemas of the client formats, put together with what the operations say of themselves. */
import { type TSchema, Type } from 'typebox'
import type { ExampleModels } from '../api/described-operation.ts'
import { openApi, withNotes } from '../api/openapi.ts'
import { event } from '../api/operations/events.ts'
import { file } from '../api/operations/files.ts'
import { generatingOperations, NOTES, type RequestSchemas } from '../api/operations/generating.ts'
import { guardrail } from '../api/operations/guardrails.ts'
import { OPERATIONS } from '../api/operations/index.ts'
import { key } from '../api/operations/keys.ts'
import { ledgerEntry } from '../api/operations/ledger-entries.ts'
import { endpoint, model } from '../api/operations/models.ts'
import { messagesFault } from '../api/schemas.ts'
import type { JsonObject } from '../core/json.ts'
import { providerPreferences } from '../dialects/canon/gateway-schema.ts'
import { completionsRequest } from '../dialects/chat/legacy-completions.ts'
import { chatRequest } from '../dialects/chat/schema.ts'
import { embeddingSchema } from '../dialects/embeddings/check.ts'
import { messagesShape } from '../dialects/messages/schema.ts'
import { ITEM_CHECKS, responsesRequest } from '../dialects/responses/schema.ts'
import type { Model } from '../routing/catalog/types.ts'
import { programVersion } from './version.ts'

export interface ReferenceSource {
  readonly brand: string
  /** Of the catalogue: examples name some of them. */
  readonly models: readonly Model[]
}

const TAGS = [
  { name: 'Generation', description: 'Answers of models in three client formats. Each format reaches every provider.' },
  { name: 'Embeddings', description: 'Vectors of texts and images.' },
  { name: 'Models', description: 'Models, endpoints, providers and prices.' },
  { name: 'Files', description: 'Uploads that requests name by their id.' },
  { name: 'Presets', description: 'Stored settings that a request names by one word.' },
  { name: 'Keys', description: 'API keys with their limits. Management keys make and change them.' },
  { name: 'Organizations', description: 'Organizations: the limits of each hold for all of its workspaces together.' },
  { name: 'Workspaces', description: 'Workspaces, such as teams, with their members and budgets.' },
  { name: 'Members', description: 'Members of workspaces and organizations: people and service accounts.' },
  { name: 'BYOK', description: 'Keys that teams bring of their own accounts at providers.' },
  { name: 'Guardrails', description: 'Rules over requests, answers, models and spending.' },
  { name: 'Records', description: 'Generations, sessions, activity, credits and live figures.' },
  { name: 'Events', description: 'What has happened, and its deliveries to receivers of webhooks.' },
  { name: 'Configuration', description: 'The running configuration, and what another one would mean.' },
  { name: 'Sign-in', description: 'Applications receive a key of their own with the consent of a user (OAuth with PKCE).' },
]

/** OpenAPI 3.1. */
export function referenceDocument({ brand, models }: ReferenceSource): JsonObject {
  const bodies = requestSchemas()
  const examples = examplesFrom(models)
  return openApi({
    brand,
    version: programVersion(),
    tags: TAGS,
    operations: [...generatingOperations(bodies, examples, brand), ...OPERATIONS],
    models: examples,
    named: new Map<TSchema, string>([
      [ledgerEntry, 'LedgerEntry'],
      [bodies.responses, 'ResponsesRequest'],
      [bodies.chat, 'ChatRequest'],
      [bodies.completions, 'CompletionsRequest'],
      [bodies.messages, 'MessagesRequest'],
      [bodies.embeddings, 'EmbeddingsRequest'],
      [providerPreferences, 'ProviderPreferences'],
      [model, 'Model'],
      [endpoint, 'Endpoint'],
      [key, 'Key'],
      [guardrail, 'Guardrail'],
      [file, 'File'],
      [event, 'Event'],
      [messagesFault, 'MessagesError'],
    ]),
  })
}

/** Fields that are checked by hand, since a schema would report badly what is wrong with them, are described here. */
function requestSchemas(): RequestSchemas {
  return {
    responses: withFields(responsesRequest, { input: Type.Union([Type.String(), Type.Array(inputItem())]) }),
    chat: withNotes(chatRequest, NOTES),
    completions: withNotes(completionsRequest, NOTES),
    messages: withNotes(messagesShape.schema, NOTES),
    embeddings: withFields(embeddingSchema, { input: embeddingInput() }),
  }
}

function withFields(schema: TSchema, fields: Record<string, TSchema>): TSchema {
  const { properties, required = [] } = schema as { properties?: Record<string, TSchema>; required?: string[] }
  const all = { ...schema, properties: { ...properties, ...fields }, required: [...new Set([...required, ...Object.keys(fields)])] }
  return withNotes(all as TSchema, NOTES)
}

/** Items whose fields are read; others go to providers of the same format as they are. */
function inputItem(): TSchema {
  const known = [...ITEM_CHECKS].map(([type, { schema }]) => {
    const { properties, required = [] } = schema as { properties?: Record<string, TSchema>; required?: string[] }
    // A message may leave its type out.
    const must = type === 'message' ? required : ['type', ...required]
    return { ...schema, title: type, properties: { type: Type.Literal(type), ...properties }, required: must } as TSchema
  })
  const types = [...ITEM_CHECKS.keys()]
  const other = { title: 'other', type: 'object', required: ['type'], properties: { type: { type: 'string', not: { enum: types } } } }
  return Type.Union([...known, other as TSchema])
}

function embeddingInput(): TSchema {
  const text = () => Type.String({ minLength: 1 })
  const tokens = () => Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1 })
  const part = Type.Union([
    Type.Object({ type: Type.Literal('text'), text: Type.String() }),
    Type.Object({ type: Type.Literal('image_url'), image_url: Type.Object({ url: text() }) }),
    Type.Object({ type: Type.Enum(['input_audio', 'input_video', 'input_file']) }),
  ])
  const joint = Type.Object({ content: Type.Array(part, { minItems: 1 }) }, { description: 'Parts that become one vector.' })
  return Type.Union([
    text(),
    Type.Array(text(), { minItems: 1 }),
    tokens(),
    Type.Array(tokens(), { minItems: 1 }),
    Type.Array(joint, { minItems: 1 }),
  ])
}

/** Models inside this process first: they answer without a key of any provider. */
function examplesFrom(models: readonly Model[]): ExampleModels {
  const of = (kind: Model['kind']): string | undefined => {
    const some = models.filter((each) => each.kind === kind && each.slug.split('/').length === 2)
    const own = some.find(({ endpoints }) => endpoints.some(({ provider }) => provider.baseUrl === undefined))
    return (own ?? some[0])?.slug
  }
  return { generate: of('generate') ?? 'author/name', embedding: of('embedding') }
}
