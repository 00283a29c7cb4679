/** Counting the tokens of a request at a provider that offers it. */
import type { JsonObject } from '../../core/json.ts'
import type { CountedKind } from './outside-input.ts'
import type { CanonicalRequest } from './request.ts'

export interface TokenCounter<Target extends { readonly quirks: unknown }, Encoded> {
  /** False where a provider with these quirks has no counter; absent where all have one. */
  offers?(quirks: Target['quirks']): boolean
  encode(request: CanonicalRequest, target: Target): Encoded
  /** @returns undefined where the reply holds no count. */
  decode(body: JsonObject): number | undefined
  sees?(kind: CountedKind, model: string): boolean
  /** Bytes of the longest reply, where it holds more than the count. */
  readonly longestReply?: number
  /** True where 404 may say that this version of the server has no counter. */
  readonly isOfSome?: boolean
}
