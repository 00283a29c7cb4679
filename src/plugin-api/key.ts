/** An API key as the request path knows it: never the secret, only what it may do. */
import type { ErrorCodes } from '../core/error-codes.ts'
import type { JsonObject } from '../core/json.ts'
import type { Tags } from '../core/key-fields.ts'
import type { KeyLevels, KeyPlace } from '../core/levels.ts'
import type { Role } from '../core/roles.ts'
import type { SharedBudget } from '../core/shared-budget.ts'
import type { Window } from '../core/windows.ts'
import type { ProviderPreferences } from '../dialects/canon/request-fields.ts'

export interface RateLimits {
  /** Requests per minute. */
  requests?: number | undefined
  /** Tokens per minute, input and output together. */
  tokens?: number | undefined
  /** Concurrent streams. */
  streams?: number | undefined
  /** Request bytes in flight. */
  bytes?: number | undefined
}

/** When the spend that a limit counts begins anew: at 00:00 UTC of every day, Monday, or first of the month. */
export type LimitReset = Window

/** A secret that a rotation has replaced. */
export interface PreviousSecret {
  /** SHA-256 of it, hex. */
  readonly hash: string
  /** Milliseconds since the epoch. */
  readonly rotatedAt: number
  /** It opens the key until then. */
  readonly until: number
}

export interface ApiKey {
  /** Identity in the ledger: survives reload and a new secret. */
  readonly identity: string
  /** SHA-256 of the secret, hex. */
  readonly hash: string
  /** Masked: first and last few characters. */
  readonly label: string
  readonly name: string
  /** Rights of its caller. Roles other than `member` manage, and call no models (`isManager` of `src/core/roles.ts`). */
  readonly role: Role
  readonly disabled: boolean
  /** Nano-dollars; null where the key may spend without limit. */
  readonly limit: number | null
  /** The limit counts the spend of the current UTC day, week or month; null for all that was ever spent. */
  readonly limitReset: LimitReset | null
  /** Milliseconds since the epoch; null for never. */
  readonly expiresAt: number | null
  readonly allowedModels: readonly string[] | undefined
  readonly provider: ProviderPreferences | undefined
  readonly limits: RateLimits
  /** Output cap in tokens where the request sets none and a limit applies. */
  readonly defaultMaxOutput?: number | undefined
  readonly passThrough: boolean
  /** Ids of what the operator keeps at providers that its requests may name; with a star at the end, all that begin so. */
  readonly providerIds?: readonly string[]
  /** Form of `error.code` for its callers, where it differs from that of all. */
  readonly errorCode?: ErrorCodes | undefined
  /** Words of its requests and answers go into their spans. */
  readonly captureContent?: boolean
  /** Its place in the organisation; absent: the default workspace. */
  readonly place?: KeyPlace | undefined
  /** The levels of its place, where the key is known with those that there are now. */
  readonly levels?: KeyLevels
  /** Names and values of the operator's own. */
  readonly tags?: Tags | undefined
  /** The secret before the last rotation, if that had an overlap. Its end may have come. */
  readonly previous?: PreviousSecret | undefined
  /** Set where the caller has shown that secret: its hash. `hash` still names the key, and `expiresAt` is no later than the end of the secret. */
  readonly shown?: string
  /** Name of the budget that it draws on, beside its own limit. */
  readonly parent?: string | undefined
  /** That budget, and the levels of its place, where the key is known with its configuration and with what the store has of levels. */
  readonly budget?: SharedBudget
  /** User for whom it was made, where the request that made it named one. */
  readonly creator?: string | null
  /** Of a key that was issued to an application through sign-in. */
  readonly consent?: {
    /** Identity of the key that issued it. */
    readonly by: string
    /** SHA-256 of the issuer's secret at that time, hex; absent in stores of earlier versions. */
    readonly hash?: string
  }
  /** Of such a key: the key that issued it, as it was when this one was looked up. Its limit, budgets and rates hold as well. */
  readonly issuer?: ApiKey
  /** Of a caller that has shown a token of an identity provider, or a client certificate, in the place of a key. */
  readonly token?: {
    /** As the claim `iss` has it; of a certificate `certificate:` and the claim that names its holder. */
    readonly issuer: string
    readonly isCertificate?: boolean
    /** Names of guardrails of the file that its rule names. */
    readonly guardrails: readonly string[]
    /** Its claims that policies read, as the issuer wrote them. */
    readonly claims?: JsonObject
  }
  /** Set for a request to which policies apply guardrails: these, and the key without them. */
  readonly byPolicy?: { readonly key: ApiKey; readonly guardrails: readonly string[] }
}
