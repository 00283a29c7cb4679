/** Reader of the files of one other gateway. */
import type { JsonObject } from '../../core/json.ts'
import type { ConfigDraft } from './config-draft.ts'
import type { SourceFile } from './source-file.ts'

/** Sources of a reader and its page. */
export interface Compared {
  /** A package or a commit; absent for a service. */
  readonly release?: string
  /** Address of its documentation. */
  readonly documents: string
  /** The state of the documentation: a month or a day. */
  readonly read: string
}

export interface OtherGateway {
  /** Value of `--from`. */
  readonly name: string
  readonly title: string
  readonly compared: Compared
  /** True for a file of this gateway, by members that no other of these gateways has. */
  readonly recognises: (value: JsonObject) => boolean
  /** Takes over the values that it knows, and notes why the others are left. */
  readonly read: (file: SourceFile, draft: ConfigDraft) => void
}
