/** The query and the results that all search engines share. */
import type { Json, JsonObject } from '../../core/json.ts'

/** The approximate place of the caller's user; each engine gets the fields that it supports. */
export interface UserLocation {
  city?: string
  /** Two letters, such as `DE`. */
  country?: string | undefined
  region?: string
  timezone?: string
}

/** Amount and choice of pages that are wanted. */
export interface SearchScope {
  /** Results at most. */
  count: number
  /** Characters of content per result. */
  characters: number
  /** Domains, with `*.` in front for subdomains only, or with a path; empty: all. */
  allowed: readonly string[]
  excluded: readonly string[]
  location?: UserLocation | undefined
  /** The engine's own mode; one that it does not know is left out. */
  mode?: string | undefined
}

export interface SearchQuery extends SearchScope {
  text: string
}

export interface SearchResult {
  /** http or https, normalised. */
  url: string
  title: string
  /** A snippet or an excerpt of the page; may be empty. */
  content: string
  /** As the engine states it. */
  published?: string
}

/** An engine's account as the operator has configured it. */
export interface EngineAccount {
  engine: SearchEngine
  /** Address of its API, without a final slash. */
  url: string
  key: string
  /** Nano-dollars per search. */
  price: number
}

/** One HTTP request to an engine: a GET, or a POST where there is a body. */
export interface EngineRequest {
  url: string
  headers: Readonly<Record<string, string>>
  body?: Json
}

/** A result before it is checked: any field may be anything. */
export type FoundPage = Partial<Record<keyof SearchResult, Json | undefined>>

/** The adapter of one engine: pure, both ways. */
export interface SearchEngine {
  readonly name: string
  /** Address of its API; undefined where the operator has to name it. */
  readonly url: string | undefined
  /** False where it wants no key. */
  readonly keyed: boolean
  /** Results of one call at most. */
  readonly most: number
  /** True where it can be given allowed and excluded domains at once. */
  readonly bothLists: boolean
  ask(query: SearchQuery, account: EngineAccount): EngineRequest
  /** @throws Error with a word for the log where the answer reports a failure. */
  read(answer: JsonObject): FoundPage[]
}
