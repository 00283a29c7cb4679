/** Tools that callers run and only their format has a kind for: what a client dialect offers so that every provider can be sent them. */
import type { CanonicalRequest, Opaque } from './request.ts'
import type { OwnCalls } from './tool-names.ts'

/** A request in which functions stand for tools that only the caller's format has. */
export interface Flattened {
  request: CanonicalRequest
  own: OwnCalls
  /** Names of what is lost. */
  dropped: string[]
}

/** Two tools of a request that would be functions of one name. */
export interface NameClash {
  /** Place of the later one, such as `tools[3]`. */
  at: string
  name: string
}

/** What a format has for tools that its callers run, beside functions. */
export interface ClientTools {
  /** True for a tool that can be offered as functions. */
  has(of: Opaque): boolean
  /**
   * The request for a provider that knows functions alone, and all of them from the start; undefined where it is that already.
   * Depends on nothing but the request.
   */
  flatten(request: CanonicalRequest): Flattened | undefined
  clash(request: CanonicalRequest): NameClash | undefined
}
