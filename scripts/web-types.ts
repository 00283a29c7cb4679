/**
 * The types of the replies that the control room reads, from the described API and from the declared replies of the admin listener: pages
 * do not state them a second time.
 */
import { ADMIN_REPLIES } from '../src/api/index.ts'
import { referenceDocument } from '../src/app/reference.ts'

interface Schema {
  $ref?: string
  type?: string
  const?: unknown
  enum?: unknown[]
  anyOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  patternProperties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
}

interface Document {
  paths: Record<
    string,
    Record<string, { operationId?: string; responses?: Record<string, { content?: Record<string, { schema: Schema }> }> }>
  >
  components: { schemas: Record<string, Schema> }
}

/** Names of the types, and the operations whose replies they are. */
const REPLIES: Readonly<Record<string, string>> = {
  StatusReply: 'getStatus',
  KeysReply: 'listKeys',
  OneKeyReply: 'getKey',
  MadeKeyReply: 'createKey',
  KeyBudgetReply: 'getKeyBudget',
  BudgetsReply: 'listBudgets',
  OrganizationsReply: 'listOrganizations',
  OneOrganizationReply: 'getOrganization',
  WorkspacesReply: 'listWorkspaces',
  OneWorkspaceReply: 'getWorkspace',
  MembersReply: 'listWorkspaceMembers',
  OneMemberReply: 'getMember',
  ActivityReply: 'listActivity',
  GenerationsReply: 'searchGenerations',
  GenerationReply: 'getGenerationTimeline',
  ReplayReply: 'planGeneration',
  ModelsReply: 'listModels',
  EndpointsReply: 'listEndpoints',
  ProvidersReply: 'listProviders',
  GuardrailsReply: 'listGuardrails',
  AssignmentsReply: 'listKeyAssignments',
  WorkspaceAssignmentsReply: 'listWorkspaceAssignments',
  OrganizationAssignmentsReply: 'listOrganizationAssignments',
  GuardrailTestReply: 'testGuardrails',
  ConfigurationReply: 'getConfiguration',
  ConfigurationCheckReply: 'checkConfiguration',
  RehearsalReply: 'rehearseConfiguration',
  RefusalsReply: 'listRefusals',
  AuditEntriesReply: 'listAuditEntries',
  EventsReply: 'listEvents',
  EventReceiversReply: 'listEventReceivers',
  LedgerEntriesReply: 'listLedgerEntries',
  LedgerEntryReply: 'addLedgerEntry',
  SlicesReply: 'listSlices',
  ExtremesReply: 'listExtremes',
  KeyAccessReply: 'getKeyAccess',
}

/** Text before the types. */
const HEAD = `/** Replies of the API as its description has them, and of the admin listener as its routes declare them. Made by \`npm run generate\` (scripts/web-types.ts). */
// biome-ignore-all format: it is generated

/** A word of a set that grows: a gateway of another version may send one that is not listed here, and no page may take it for a listed one. */
export type Word<Listed extends string> = Listed | (string & {})

/** The words of a set that this version lists. */
export type Listed<W> = W extends string ? (string extends W ? never : W) : never
`

export function webTypes(): string {
  const document = referenceDocument({ brand: 'headgate', models: [] }) as unknown as Document
  const named = new Map<string, string>()
  const types = Object.entries(REPLIES).map(
    ([name, id]) => `export type ${name} = ${schemaType(operationReply(document, id), document, named)}`,
  )
  const ofAdmin = Object.entries(ADMIN_REPLIES).map(
    ([name, { schema }]) => `export type ${name} = ${schemaType(schema as Schema, document, named)}`,
  )
  const others = [...named].map(([name, text]) => `export type ${name} = ${text}`)
  return `${HEAD}\n${[...types, ...ofAdmin, ...others].join('\n\n')}\n`
}

function operationReply({ paths }: Document, id: string): Schema {
  for (const methods of Object.values(paths))
    for (const { operationId, responses } of Object.values(methods)) {
      const schema = (responses?.['200'] ?? responses?.['201'])?.content?.['application/json']?.schema
      if (operationId === id && schema) return schema
    }
  throw new Error(`no operation ${id} with a reply of JSON`)
}

function schemaType(schema: Schema, document: Document, named: Map<string, string>): string {
  const inner = (one: Schema): string => schemaType(one, document, named)
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    const found = document.components.schemas[name]
    if (!found) throw new Error(`no schema ${name}`)
    if (!named.has(name)) {
      named.set(name, '')
      named.set(name, inner(found))
    }
    return name
  }
  if (schema.anyOf?.every((each) => typeof each.const === 'string')) return word(schema.anyOf.map((each) => each.const))
  if (schema.anyOf) return [...new Set(schema.anyOf.map(inner))].join(' | ')
  if (schema.enum) return word(schema.enum)
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.type === 'array') return `readonly (${schema.items ? inner(schema.items) : 'unknown'})[]`
  if (schema.type === 'object' || schema.properties) return objectType(schema, inner)
  if (schema.type === 'integer') return 'number'
  return ['string', 'number', 'boolean', 'null'].includes(schema.type ?? '') ? `${schema.type}` : 'unknown'
}

const word = (values: readonly unknown[]): string => `Word<${values.map((value) => literal(value)).join(' | ')}>`

const literal = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : JSON.stringify(value))

function objectType(
  { properties, required = [], patternProperties, additionalProperties }: Schema,
  inner: (one: Schema) => string,
): string {
  const [values] = [...Object.values(patternProperties ?? {}), ...(typeof additionalProperties === 'object' ? [additionalProperties] : [])]
  if (!properties || Object.keys(properties).length === 0) return `Readonly<Record<string, ${values ? inner(values) : 'unknown'}>>`
  const lines = Object.entries(properties).map(
    ([name, schema]) => `readonly ${/^\w+$/.test(name) ? name : `'${name}'`}${required.includes(name) ? '' : '?'}: ${inner(schema)}\n`,
  )
  return `{\n${lines.join('')}}`
}
