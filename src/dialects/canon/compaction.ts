/** Compaction in a client format: a summary in the place of a conversation. */
import type { JsonObject } from '../../core/json.ts'
import type { Opaque } from './request.ts'

/** An item of a request that stands for an earlier part of the conversation. */
export interface CompactionItem {
  /** Its place among the items. */
  readonly index: number
  /** Such as `input[3].encrypted_content`, for errors. */
  readonly path: string
  readonly type: string
  readonly encrypted: string
}

/** Compaction fields of a body. */
export interface CompactionFacts {
  /** True where the conversation is to be compacted instead of answered. */
  readonly isRequested: boolean
  readonly items: readonly CompactionItem[]
}

/** Forms in which a format requests a summary in place of a conversation, and sends one back. */
export interface ClientCompaction {
  /** True where the operation does nothing else, so that its reply has a form of its own. */
  readonly isOperation: boolean
  /** @param body a checked one. @returns undefined where it says nothing of compaction. @throws Fault 400. */
  find(body: JsonObject): CompactionFacts | undefined
  /** The body with messages in the places of items. @param texts by the index of their item. */
  withTexts(body: JsonObject, texts: ReadonlyMap<number, string>): JsonObject
  /** The output item that holds a summary. */
  item(encrypted: string, reply: { readonly id: string }): Opaque
}
