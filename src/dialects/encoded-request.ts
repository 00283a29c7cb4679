/** Inputs and output of encoding a request for a provider. */
import type { JsonObject } from '../core/json.ts'
import type { ServiceTier } from '../core/service-tiers.ts'
import type { CitedResults } from './canon/cited-results.ts'
import type { UserRule } from './canon/request-fields.ts'
import type { SentNames } from './canon/tool-names.ts'
import type { Quirks } from './quirks.ts'

/** Everything about an endpoint that encoding a request may depend on. */
export interface Target {
  /** The provider's own name of the model. */
  readonly model: string
  readonly stream: boolean
  /** Tier of service of the endpoint; undefined: the provider's usual one, and no other is sent. */
  readonly tier?: ServiceTier | undefined
  /** Set where the key has a limit: the output cap that the hold was computed for; and where the caller's cap is above what the endpoint writes: that. */
  readonly outputCap?: number | undefined
  /** Canonical names of the parameters that the endpoint takes; undefined where it takes whatever the dialect knows. */
  readonly supported?: ReadonlySet<string> | undefined
  readonly quirks: Quirks
  /** Treatment of `user` and `safety_identifier`. */
  readonly user: UserRule
  /** Most tokens that the endpoint writes, where known. */
  readonly maxOutput?: number | undefined
  /** Letters of the account that signed and encrypted reasoning belongs to (`canon/reasoning-owner.ts`); undefined where it is bound to none. */
  readonly account?: string | undefined
  /** True where the provider has refused reasoning of this conversation: none is sent. */
  readonly withoutReasoning?: boolean | undefined
  /** The caller's name of its conversation, for providers that find their cache by a key; undefined where it has none. */
  readonly conversation?: string | undefined
  /** `max_tool_calls` of the caller: the hold counts no more calls of tools that the provider runs, so it is sent. */
  readonly toolCalls?: number | undefined
  /** True where a limit applies: tools that the provider runs are sent with the caps that the hold counts. */
  readonly limited?: boolean | undefined
  /** Names of provider features that the caller requests in `anthropic-beta` or `x-anthropic-beta`, comma-separated. */
  readonly betas?: string | undefined
}

export interface Encoded {
  /** Appended to the provider's base URL. */
  path: string
  /** True where the path stands beside `/v1` of the base URL. */
  besideVersion?: boolean
  body: JsonObject
  /** Headers beside those of every call: name, value, name, value. */
  headers?: string[]
  /** Version of the API for this call, where it is not the one of all calls. */
  version?: string
  /** Names of what the caller sent and this upstream cannot take. */
  dropped: string[]
  /** True where the provider is only requested in words to keep to the output format; else what it cannot keep to is in `dropped`. */
  looseFormat?: true
  /** Set where tools have other names at the provider. */
  toolNames?: SentNames | undefined
  /** Set where the answer may refer to results of the request's tools. */
  cited?: CitedResults | undefined
  /** True where calls of the provider's own search are answered by the gateway: their arguments go back as they are. */
  echoesSearch?: true | undefined
}

/** Facts of a request with which its reply is read. */
export type Sent = Pick<Encoded, 'toolNames' | 'cited' | 'echoesSearch'>

/** The version of the API that a caller names. */
export interface VersionDemand {
  readonly version: string
  /** The body as the caller sent it. */
  readonly sent: JsonObject
}
