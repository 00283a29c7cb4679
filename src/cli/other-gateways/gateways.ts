/** The gateways whose files can be read, and how each is known. */
import type { JsonObject } from '../../core/json.ts'
import { agentgateway } from './agentgateway.ts'
import { bifrost } from './bifrost.ts'
import type { ConfigDraft } from './config-draft.ts'
import { litellm } from './litellm.ts'
import { openrouter } from './openrouter.ts'
import { portkey } from './portkey.ts'
import type { SourceFile } from './source-file.ts'
import { tensorzero } from './tensorzero.ts'

export interface OtherGateway {
  /** Of `--from`. */
  readonly name: string
  readonly title: string
  /** By members that no other of these gateways has. */
  readonly recognises: (value: JsonObject) => boolean
  /** Takes over what it knows, and says of the rest why it is left. */
  readonly read: (file: SourceFile, draft: ConfigDraft) => void
}

export const OTHER_GATEWAYS: readonly OtherGateway[] = [litellm, bifrost, tensorzero, agentgateway, portkey, openrouter]
