/**
 * The canonical request: the caller's request, free of any dialect.
 * Built lazily from the parsed body, only if a layer needs it.
 */
import type { JsonObject } from '../../core/json.ts'
import type { SamplingMembers, SettingMembers } from '../../core/parameters.ts'

export type DialectId = string

/** Fields that the gateway does not know: written back verbatim to the same dialect, dropped and recorded towards another. */
export type Opaque = {
  dialect: DialectId
  type: string
  data: JsonObject
}

/** The prompt up to here is worth caching: `5m` or `1h`. */
export type CacheMark = { ttl?: string }

export type Part =
  | { kind: 'text'; text: string; cache?: CacheMark | undefined }
  | { kind: 'refusal'; text: string }
  | {
      kind: 'media'
      media: 'image' | 'audio' | 'video' | 'file'
      /**
       * Public or data URL. Audio carries `data` (base64) and `format` instead.
       * A file that is plain text carries it as `data` with `format: 'text'`.
       */
      url?: string | undefined
      data?: string | undefined
      format?: string | undefined
      fileId?: string | undefined
      name?: string | undefined
      detail?: string | undefined
      cache?: CacheMark | undefined
    }
  | { kind: 'opaque'; of: Opaque }

export type Role = 'system' | 'developer' | 'user' | 'assistant'

export type Item =
  | { kind: 'message'; role: Role; parts: Part[]; name?: string | undefined; id?: string; phase?: string }
  | {
      kind: 'reasoning'
      id?: string | undefined
      text?: string
      summary?: string[]
      /** Encrypted reasoning goes back only to the provider family that encrypted it (`format`). */
      encrypted?: string | undefined
      signature?: string | undefined
      format?: string | undefined
    }
  | { kind: 'call'; callId: string; name: string; args: string; id?: string; cache?: CacheMark }
  | { kind: 'result'; callId: string; parts: Part[]; error?: boolean | undefined; id?: string; cache?: CacheMark }
  | { kind: 'opaque'; of: Opaque }

export type ToolSpec =
  /** `inItems`: on its own wire the tool stands among the items, as an opaque one that holds it. */
  | {
      kind: 'function'
      inItems?: true
      name: string
      description?: string
      parameters?: JsonObject | null
      strict?: boolean | null
      /** The caller wants it shown only once the model has looked for it; wires that know the field have it beside the function. */
      deferLoading?: true
      cache?: CacheMark
    }
  /** A `<brand>:<name>` tool that the gateway runs itself; `name` is without the brand word. */
  | {
      kind: 'server'
      name: string
      parameters: JsonObject
      /** Type of the provider's tool in whose place it is run: the caller knows the items of that one. */
      standsFor?: string
      /** Path at which the caller wrote `parameters`, for errors; absent where it is `parameters` of the tool itself. */
      written?: WrittenAt
    }
  | { kind: 'opaque'; of: Opaque }

/** Paths in the caller's request, such as `plugins[0]` or `tools[1]`. */
export interface WrittenAt {
  /** Of the object that has the parameters as its fields. */
  object: string
  /** Of the field that requested the tool. */
  type: string
  /** Parameters that have another name there, with it: `allowed_domains`, `filters.allowed_domains`. */
  fields?: Readonly<Record<string, string>>
}

export type ToolChoice = { mode: 'auto' | 'none' | 'required' } | { mode: 'named'; name: string } | { mode: 'opaque'; of: Opaque }

/** Sampling and length; absent means that the caller sent nothing. */
export type Sampling = SamplingMembers<JsonObject>

export interface Reasoning {
  effort?: string
  maxTokens?: number
  enabled?: boolean
  summary?: string
  /** Keep reasoning out of the reply; its tokens still count. */
  exclude?: boolean
}

export interface OutputFormat {
  type: 'text' | 'json_object' | 'json_schema'
  name?: string
  description?: string
  schema?: JsonObject
  strict?: boolean | null
}

export interface CanonicalRequest extends SettingMembers<JsonObject> {
  items: Item[]
  tools: ToolSpec[]
  toolChoice?: ToolChoice | undefined
  sampling: Sampling
  reasoning?: Reasoning
  format?: OutputFormat
  /** `cache_control` of the whole request: the provider chooses the place. `null`: nothing is to be marked beside the caller's own marks. */
  cache?: CacheMark | null | undefined
  stream: boolean
  /** Top-level fields of the client's dialect that the canon does not name, for the same dialect only. */
  extras?: { dialect: DialectId; fields: JsonObject }
  /** Canonical names of the parameters that the caller really sent (what parameter filters need). */
  used: Set<string>
}
