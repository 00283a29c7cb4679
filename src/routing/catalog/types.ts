/** Providers, models and their endpoints: data, as the configuration declared it. */

import type { Price } from '../../core/price.ts'
import type { ServiceTier } from '../../core/service-tiers.ts'
import type { DialectId } from '../../dialects/canon/request.ts'
import type { Quirks } from '../../dialects/quirks.ts'
import type { ByokEntry } from '../../services/byok/byok-entry.ts'
import type { ConnectionSettings } from '../../services/connections/connection-settings.ts'
import type { Credential } from '../../services/credentials/types.ts'
import type { TraceScope } from '../../services/telemetry/trace-context.ts'

export type { Price }

export interface Timeouts {
  /** Milliseconds each. */
  connect: number
  firstByte: number
  /** For answers that are not streamed: `first_byte` if the file sets it, else `total`. */
  firstByteWhole: number
  idle: number
  total: number
}

/** Statements of the operator about a provider, beside the way to call it. */
export interface ProviderFacts {
  readonly privacyUrl?: string | undefined
  readonly termsUrl?: string | undefined
  readonly statusUrl?: string | undefined
  /** Two-letter country codes (ISO 3166-1). */
  readonly headquarters?: string | undefined
  readonly datacenters?: readonly string[] | undefined
}

export interface Provider {
  readonly slug: string
  /** Display name in replies and metadata. */
  readonly name: string
  readonly dialect: DialectId
  /** Absent for a provider inside this process. */
  readonly baseUrl?: string | undefined
  /** By which the price snapshot knows it, where that is not the base URL. */
  readonly snapshotUrl?: string | undefined
  readonly key?: string | undefined
  /** In place of `key`: fetched, and renewed before it ends. */
  readonly credential?: Credential | undefined
  /** Name of the account, which signed and encrypted reasoning belongs to. */
  readonly account?: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Place of the key, where not as the dialect has it: header, and the word before the key ('' for none). */
  readonly auth?: { header: string; scheme: string } | undefined
  /** Path of the operation in place of the dialect's own; `{model}` stands for the endpoint's model. */
  readonly path?: string | undefined
  /** Query of every call, encoded, without its question mark. */
  readonly query?: string | undefined
  readonly timeouts: Timeouts
  readonly connection?: ConnectionSettings | undefined
  readonly onAbort: 'cancel' | 'drain'
  /** When a request counts for its prices by the hour. */
  readonly priceTime: 'start' | 'end'
  readonly dataCollection: 'allow' | 'deny'
  readonly zdr: boolean
  /** Facts for people, as `GET /v1/providers` shows them. */
  readonly about: ProviderFacts
  readonly user: 'pass' | 'hash' | 'drop'
  /** Parts of a request's trace that it is sent. */
  readonly traceContext: TraceScope
  /** Its name in traces, where that is not `slug`. */
  readonly telemetryName?: string | undefined
  readonly quirks: Quirks
  readonly discover: boolean
  /** Set where `discover` is: milliseconds between two questions, and what the models cost where that is stated. */
  readonly discovery?: { readonly every: number; readonly price?: 'free' | 'snapshot' } | undefined
  /** `pass_through` of the provider's YAML: nano-dollars per request; absent where the pass-through is closed. */
  readonly passThroughPrice?: number | undefined
  /** The same of a request of a key with a limit whose cost cannot be read; absent where such requests are refused. */
  readonly passThroughUnreadPrice?: number | undefined
}

export interface Endpoint {
  /** `model@provider` or `model@provider/variant`: stable over reloads, the key of statistics. */
  readonly id: string
  readonly provider: Provider
  readonly model: Model
  /** The provider's own name of the model. */
  readonly upstreamModel: string
  /** `free`: costs nothing by declaration. `unpriced`: no price is known, so it is refused for a key with a limit. */
  readonly price: Price | 'free' | 'unpriced'
  /** Tokens of input and output together; of the model where its own entry states none. Undefined where unknown. */
  readonly context: number | undefined
  /** Tokens that it writes at most; in the same way. */
  readonly maxOutput: number | undefined
  readonly quantization: string
  readonly variant: string | undefined
  readonly tier: ServiceTier | undefined
  /** Set where it serves only requests that select it (`isSelective` of the criteria). */
  readonly selective?: true
  readonly supported: ReadonlySet<string> | undefined
  /** Quality by kind of task, 0 to 1: the model's scores with the endpoint's own on top. */
  readonly scores: Readonly<Record<string, number>>
  /** Its part of the requests among endpoints of its model, as the operator states it; 0: drained. Where any states one, the others have 1. */
  readonly weight?: number | undefined
  /** The provider's quirks with the endpoint's own on top; absent where it has none of its own. */
  readonly quirks?: Quirks | undefined
  /** The provider's, or one with settings of the endpoint's own; undefined where the provider has a key or nothing. */
  readonly credential: Credential | undefined
  /** Of a model behind a wildcard: the id that all its names share, such as `local/*@ollama`. */
  readonly wildcardId?: string | undefined
  /** Set where a key that a team has brought pays for it: `price` then is what the gateway charges and counts. */
  readonly byok?: OwnAccount | undefined
  /** True where the price is looked up in the price snapshot. */
  readonly snapshotPriced?: boolean
}

/** The account of a team at a provider, at one endpoint. */
export interface OwnAccount {
  readonly entry: ByokEntry
  /** The same endpoint with the operator's account. */
  readonly shared: Endpoint
  /** True where the provider's bill counts towards the limit of the caller's key. */
  readonly counts: boolean
  /** Another endpoint of the provider with this account. @param endpoint with the operator's. */
  at(endpoint: Endpoint): Endpoint
}

export type ModelKind = 'generate' | 'embedding' | 'rerank' | 'image'

export interface Model {
  /** `author/name`. */
  readonly slug: string
  /** The wildcard that the model was made for, such as `local/*`. Callers choose the names behind it. */
  readonly wildcard?: string | undefined
  readonly name: string
  readonly description: string
  /** Unix seconds. */
  readonly created: number
  /** A day such as `2027-01-31` from which its providers no longer serve it. */
  readonly expiration?: string | undefined
  readonly kind: ModelKind
  /** True where neither the configuration nor the server states the kind: it may be of the other one. */
  readonly unknownKind?: boolean | undefined
  /** Of a model whose kind its server does not state: the same one as a model of embeddings. */
  readonly asEmbedding?: Model | undefined
  readonly context: number | undefined
  readonly maxOutput: number | undefined
  /** Output cap in tokens, set by hand, where the request sets none and a limit applies. */
  readonly defaultMaxOutput?: number | undefined
  readonly input: readonly string[]
  /** True where the configuration does not declare what it reads: lists show `input`, and requests with other media are sent too. */
  readonly anyInput?: boolean | undefined
  /** Of embeddings: what becomes of an input that is longer than the context; undefined: what the provider makes of it. */
  readonly longInput?: 'truncate' | 'reject' | undefined
  readonly output: readonly string[]
  /** Quality by kind of task, 0 to 1; what is not scored is absent. */
  readonly scores: Readonly<Record<string, number>>
  /** Statements of the configuration about the model for one routing criterion, by name (`src/routing/criteria`). */
  readonly flags: ReadonlySet<string>
  readonly endpoints: readonly Endpoint[]
}
