/** Inputs of the operations of the API, as the configuration stands now. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Clock } from '../core/clock.ts'
import type { JsonObject } from '../core/json.ts'
import type { Presets } from '../dialects/canon/presets.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Provider } from '../routing/catalog/types.ts'
import type { FileStore, KeyFiles } from '../services/files/types.ts'
import type { ActivitySource } from './activity.ts'
import type { AuditReportSource } from './audit-report.ts'
import type { ByokSource } from './byok.ts'
import type { ConfigurationSource } from './configuration.ts'
import type { EndpointSource } from './endpoints.ts'
import type { EventSource } from './events.ts'
import type { FileForm } from './files.ts'
import type { ReplaySource } from './generation-plan.ts'
import type { GuardrailSource } from './guardrail-entry.ts'
import type { GuardrailTestSource } from './guardrail-test.ts'
import type { AccessSource } from './key-access.ts'
import type { LevelSource } from './key-entry.ts'
import type { ModelSource } from './models.ts'
import type { ChangeSource } from './origin.ts'
import type { RefusalSource } from './refusals.ts'
import type { Status } from './status.ts'

/** Limits on attempts, by their origin. */
interface Tries {
  /** @throws Fault 429. */
  check(identity: string, message?: string): void
  count(identity: string): void
}

/** Inputs of the operations for management keys and of sign-in. */
export interface ManagementSource
  extends ActivitySource,
    GuardrailSource,
    ByokSource,
    EventSource,
    ConfigurationSource,
    ReplaySource,
    RefusalSource,
    AuditReportSource,
    GuardrailTestSource {
  readonly levels: LevelSource
  readonly status: Pick<Status, 'read'>
  readonly ledger: Pick<LedgerReader, 'find' | 'entries' | 'byokUse' | 'lastUses'>
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  /** As for completions: bytes and levels of a body. */
  readonly maxBody: number
  readonly jsonDepth: number
  readonly buckets: ConsentBuckets
}

/** Limits on attempts at sign-in. They outlive a reload, which other events than the operator's cause as well. */
export interface ConsentBuckets {
  /** Codes that one key makes. */
  readonly codes: Tries
  /** Wrong codes, and keys on the page that cannot be used, of one address. */
  readonly wrongCodes: Tries
  readonly wrongKeys: Tries
}

/** A form, whose body is taken as it comes. */
export interface Upload {
  readonly headers: IncomingHttpHeaders
  pieces(): AsyncIterable<Buffer>
}

/** Uploads of a key. */
export interface UploadSource {
  readonly store: FileStore
  /** Uploads and lists, which look through the folder, count in the requests of the key. @throws Fault 429. */
  count(key: ApiKey): Promise<void>
  /** Writes the file of a form into the folder of the key as it arrives. @throws Fault 400 naming the field, 413, 415, 503. */
  receive(call: Upload, files: KeyFiles, form: FileForm): Promise<JsonObject>
}

export interface OperationSource extends ManagementSource, ChangeSource, Pick<AccessSource, 'guardrailsFor' | 'modelCount'> {
  /** The catalogue as a key sees it. */
  listedFor(key: ApiKey): ModelSource & EndpointSource
  readonly providers: ReadonlyMap<string, Provider>
  readonly presets: Presets
  readonly uploads: UploadSource
}
