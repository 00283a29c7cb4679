/** The presets of the configuration, as the service shows stored ones. */
import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Preset, Presets } from '../../dialects/canon/presets.ts'
import { decoded, type Operation, operation } from '../operation.ts'
import { integer } from '../parameters.ts'
import { type ApiReply, ok } from '../reply.ts'
import { data, maybe, text, whole } from '../schemas.ts'

const preset = Type.Object({ id: text(), slug: text(), name: text(), description: maybe(Type.String()), status: text() })
const presetList = Type.Object({ data: Type.Array(preset), total_count: whole() })
const shownPreset = data(preset)

const DEFAULT_LIMIT = 50
const offset = integer('offset', 'Entries to skip.', { example: 0 })
const limit = integer('limit', 'Entries per page at most.', { least: 1, most: 100, example: DEFAULT_LIMIT })

/** A file says nothing of when a preset was written; clients require a time. */
const UNKNOWN_TIME = new Date(0).toISOString()
const CREATOR = 'configuration'

/** In the order of the file. @throws Fault 400 naming the query parameter. */
function listPresets(presets: Presets, query: URLSearchParams): ApiReply {
  const from = offset.read(query) ?? 0
  const shown = [...presets].slice(from, from + (limit.read(query) ?? DEFAULT_LIMIT)).map(([slug, preset]) => presetEntry(slug, preset))
  return ok({ data: shown, total_count: presets.size })
}

/** With its settings, as its one version. @throws Fault 404. */
function onePreset(slug: string, presets: Presets): ApiReply {
  const preset = presets.get(slug)
  if (!preset) throw new Fault('not_found', { message: 'No such preset' })
  const entry = presetEntry(slug, preset)
  const version: JsonObject = {
    id: entry.designated_version_id,
    preset_id: entry.id,
    creator_id: CREATOR,
    version: 1,
    config: presetConfig(preset),
    system_prompt: preset.systemPrompt ?? null,
    created_at: UNKNOWN_TIME,
    updated_at: UNKNOWN_TIME,
  }
  return ok({ data: { ...entry, designated_version: version } })
}

function presetEntry(slug: string, preset: Preset): JsonObject {
  return {
    id: presetId('preset', slug),
    creator_user_id: null,
    workspace_id: null,
    name: slug,
    slug,
    description: preset.description ?? null,
    status: 'active',
    designated_version_id: presetId('preset version', slug, JSON.stringify([presetConfig(preset), preset.systemPrompt ?? null])),
    created_at: UNKNOWN_TIME,
    updated_at: UNKNOWN_TIME,
    status_updated_at: null,
  }
}

function presetConfig({ model, models, provider, parameters }: Preset): JsonObject {
  const config: JsonObject = { ...parameters }
  if (model !== undefined) config.model = model
  if (models) config.models = [...models]
  if (provider) config.provider = { ...provider } as JsonObject
  return config
}

/** The same for the same text in every process: a UUID of version 8 (RFC 9562 section 5.8). */
function presetId(...parts: readonly string[]): string {
  const bytes = createHash('sha256').update(parts.join('\n')).digest().subarray(0, 16)
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

export const presetOperations: readonly Operation[] = [
  operation('GET /presets', {
    id: 'listPresets',
    tag: 'Presets',
    roles: 'any',
    reach: 'own',
    summary: 'List presets',
    parameters: [offset, limit],
    reply: { description: 'Presets.', schema: presetList },
    faults: ['bad_request'],
    handle: ({ query }, source) => listPresets(source.presets, query),
  }),
  operation('GET /presets/{slug}', {
    id: 'getPreset',
    tag: 'Presets',
    roles: 'any',
    reach: 'own',
    summary: 'Get a preset',
    parameters: [{ name: 'slug', in: 'path', description: 'Name of the preset.', schema: { type: 'string' }, example: 'support' }],
    reply: { description: 'The preset.', schema: shownPreset },
    faults: ['not_found'],
    handle: ({ path }, source) => onePreset(decoded(path.slug), source.presets),
  }),
]
