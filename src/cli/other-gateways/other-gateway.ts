/** What reads the files of one other gateway. */
import type { JsonObject } from '../../core/json.ts'
import type { ConfigDraft } from './config-draft.ts'
import type { SourceFile } from './source-file.ts'

/** Sources of a reader and its page. */
export interface Compared {
  /** A package or a commit; absent of a service. */
  readonly release?: string
  /** Address of its documentation. */
  readonly documents: string
  /** The state of the documentation: a month or a day. */
  readonly read: string
}

export interface OtherGateway {
  /** Of `--from`. */
  readonly name: string
  readonly title: string
  readonly compared: Compared
  /** By members that no other of these gateways has. */
  readonly recognises: (value: JsonObject) => boolean
  /** Takes over what it knows, and says of the rest why it is left. */
  readonly read: (file: SourceFile, draft: ConfigDraft) => void
}
