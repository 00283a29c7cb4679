/** What reads the files of one other gateway. */
import type { JsonObject } from '../../core/json.ts'
import type { ConfigDraft } from './config-draft.ts'
import type { SourceFile } from './source-file.ts'

export interface OtherGateway {
  /** Of `--from`. */
  readonly name: string
  readonly title: string
  /** By members that no other of these gateways has. */
  readonly recognises: (value: JsonObject) => boolean
  /** Takes over what it knows, and says of the rest why it is left. */
  readonly read: (file: SourceFile, draft: ConfigDraft) => void
}
