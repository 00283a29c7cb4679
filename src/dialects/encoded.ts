/** A request as one provider is sent it, and what of it its reply is read with. */
import type { JsonObject } from '../core/json.ts'
import type { CitedResults } from './canon/cited-results.ts'
import type { SentNames } from './canon/tool-names.ts'

export interface Encoded {
  /** Appended to the provider's base URL. */
  path: string
  body: JsonObject
  /** Headers beside those of every call: name, value, name, value. */
  headers?: string[]
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

/** What of a request its reply is read with: no reader keeps the rest. */
export type Sent = Pick<Encoded, 'toolNames' | 'cited' | 'echoesSearch'>
