/** A request for a page, and its result. */
import type { JsonObject } from '../../core/json.ts'
import type { Resolve } from '../outbound/index.ts'
import type { EngineRequest } from '../search/types.ts'

export interface PageRequest {
  url: string
  /** Characters of content at most. */
  characters: number
  /** Called for the address, for each redirect, and for the address that an engine names. */
  allows: (url: URL) => boolean
}

export interface Page {
  /** Address of the content, after redirects. */
  url: string
  title: string
  /** Markdown. */
  content: string
  /** Of the page's own answer, where it is known. */
  httpStatus?: number
  truncated: boolean
}

/** Result of an engine, before it is checked: any field may be anything. */
export type GivenPage = Partial<Record<'url' | 'title' | 'content' | 'httpStatus', unknown>>

/** The adapter of one engine: pure, both ways. */
export interface PageEngine {
  readonly name: string
  /** Address of its API. */
  readonly url: string
  ask(page: PageRequest, account: { url: string; key: string }): EngineRequest
  /**
   * @returns undefined where the engine says that it has no such page.
   * @throws Error with a word for the log where the answer reports a failure.
   */
  read(answer: JsonObject): GivenPage | undefined
}

/** The engine that fetches, and its price. */
export interface PageAccount {
  /** Undefined for the gateway itself. */
  engine: PageEngine | undefined
  url: string
  key: string
  /** Nano-dollars per page. */
  price: number
}

/** Looks names up in place of the system; for tests. */
export type { Resolve }
