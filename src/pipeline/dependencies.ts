/** Dependencies of the layers, passed in by the composition root, so that the pipeline knows no adapter by name. */
import type { Clock } from '../core/clock.ts'
import type { Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { DialectId } from '../dialects/canon/request.ts'
import type { ClientDialect, EmbeddingWire, UpstreamDialect } from '../dialects/types.ts'
import type { CreditBook } from '../ledger/allowance.ts'
import type { LedgerReader } from '../ledger/reader.ts'
import type { Journal } from '../ledger/types.ts'
import type { MetricRegistry } from '../machines/metrics/metrics.ts'
import type { Cancel, Host, Plugin, ServerTool, SessionTool } from '../plugin-api/index.ts'
import type { ApiKey } from '../plugin-api/key.ts'
import type { Model, Provider } from '../routing/catalog/types.ts'
import type { HealthBook, RetryBudget, StickySessions } from '../routing/index.ts'
import type { EncryptedTexts } from '../services/compaction/encrypted-texts.ts'
import type { FileStore } from '../services/files/types.ts'
import type { OutboundPolicy } from '../services/outbound/policy.ts'
import type { Pools } from '../services/upstream/pools.ts'
import type { ModelKinds } from './attempt/model-kinds.ts'
import type { RefusedEfforts } from './attempt/refused-efforts.ts'
import type { RefusedOptions } from './attempt/refused-options.ts'
import type { Lane } from './attempt/turn.ts'
import type { UnknownWord } from './attempt/unknown-words.ts'
import type { DrainSlots } from './attempt/upstream-attempt.ts'
import type { VectorLengths } from './embeddings/vector-lengths.ts'
import type { Authenticated, Exchange } from './exchange.ts'
import type { GuardrailSetting } from './guard/guardrail-setting.ts'
import type { SeenInputs } from './money/seen-inputs.ts'
import type { PolicySettings } from './policy/policy-setting.ts'
import type { Admission } from './request/admission.ts'
import type { Attempts } from './request/attempt-buckets.ts'
import type { Callers } from './request/authentication/index.ts'
import type { OwnKeys } from './route/own-keys.ts'

export interface ModelLookup {
  /** All that the configuration declares, in its order. */
  readonly models: readonly Model[]
  readonly bySlug: ReadonlyMap<string, Model>
  /** @param kind of the operation: what a name behind a wildcard is that declares no kind. */
  find(slug: string, kind?: 'generate' | 'embedding'): { model: Model; variant?: string; strategy?: string } | undefined
  /** Slug behind aliases and variant suffixes; the model may not exist. */
  bare(slug: string): { slug: string; variant?: string }
}

export interface PluginSetting {
  plugin: Plugin
  /** The operator's settings; a request's own fields come on top. */
  defaults: JsonObject
  /** True: a request may name it and set nothing of it. */
  locked: boolean
  /** `fail`: a request ends with the plugin's failure. `skip`: it goes on without the plugin. */
  onError: 'fail' | 'skip'
  /** Milliseconds for `shape`. */
  timeout: number
}

/** Failure of a plugin on one request. */
export interface PluginFailure {
  plugin: string
  reason: 'error' | 'timeout' | 'junk'
  /** The request went on without it. */
  skipped: boolean
  /** The error that it threw, or a description of what was wrong. */
  cause: unknown
}

/**
 * Records the end of an exchange in metrics and the log line; called once per exchange, after the reply.
 * @param outcome its `key` is that of a request which was refused before its key was checked, as far as it is at hand.
 */
export type ExchangeRecorder = (
  exchange: Exchange,
  outcome: { status: number; fault?: Fault | undefined; lane?: Lane; key?: ApiKey | undefined },
) => void

/**
 * Parts that are made of a configuration for its chain; in-flight exchanges keep theirs. What is read as the configuration states it stands in
 * `config` of the exchange's head.
 */
export interface ChainSettings {
  callers: Callers
  catalog: ModelLookup
  plugins: readonly PluginSetting[]
  guardrails: readonly GuardrailSetting[]
  /** Undefined where the configuration has none. */
  policies: PolicySettings | undefined
  /** Policy for fetching media that requests name by address. */
  outbound: OutboundPolicy
}

/** Orders the work on long bodies. */
export interface BodyQueue {
  /** Bytes up to which a body is none of these. */
  readonly short: number
  /**
   * A long body is about to be read, or has come without having been announced.
   * @param sender the key that it counts towards, and the digest of the secret that it came with. @throws Fault `unavailable`.
   */
  expect(bytes: number, sender: { readonly payer: string; readonly digest: string }): BodyPlace
}

/** A long body from the decision to take it until it is worked on, or its request has ended. */
export interface BodyPlace {
  /** So many more bytes of it have come. */
  arrive(bytes: number): void
  /**
   * All of it has come.
   * @param cancel ends the wait before its time. @returns a promise where others come first; it rejects where they take its place.
   * @throws Fault `unavailable`.
   */
  begin(bytes: number, cancel: Cancel): Promise<void> | undefined
  /** It will not come. */
  leave(): void
}

/** Dependencies that outlive a reload. */
export interface ChainDependencies {
  clock: Clock
  metrics: MetricRegistry
  /** Tokens that opened nothing, by the address of their caller. */
  failures: Attempts
  journal: Journal
  /** Looks up earlier generations. */
  ledger: Pick<LedgerReader, 'find'>
  credit: CreditBook
  health: HealthBook
  sessions: StickySessions
  /** Counts of files and cached content from earlier requests. */
  seenInputs: SeenInputs
  admission: Admission
  /** Absent where no body waits for others. */
  bodies?: BodyQueue
  files: FileStore
  /** Keys of providers that teams have brought. */
  byok: OwnKeys
  /** Encrypts and decrypts the summaries of compaction items. */
  summaries: EncryptedTexts
  retries: RetryBudget
  drains: DrainSlots
  pools: Pools
  upstreams: ReadonlyMap<DialectId, UpstreamDialect>
  /** Formats of embeddings by the dialects of their providers. */
  wires: ReadonlyMap<string, EmbeddingWire>
  /** Of endpoints that give vectors of one length alone. */
  vectorLengths: VectorLengths
  refusedEfforts: RefusedEfforts
  refusedOptions: RefusedOptions
  modelKinds: ModelKinds
  tools: readonly (ServerTool | SessionTool)[]
  host: Host
  /** Format in which tools call models: that of the Responses API. */
  toolDialect: ClientDialect
  recordExchange: ExchangeRecorder
  /** A refusal is about to be written. */
  refusing?: (exchange: Exchange, fault: Fault) => void
  /** A provider refused the gateway's account: its key, its credit or its rights. */
  alarm: (provider: Provider, fault: Fault, denial: string | undefined) => void
  /** A provider has sent words that nothing knows. */
  unknownWords: (provider: Provider, words: readonly UnknownWord[]) => void
  /** A provider went past the agreed bounds: nano-dollars beyond the hold, and those of them that no allowance could pay. */
  overrun: (
    of: { generation: string; key: string; provider: string },
    nano: { excess: number; unrecovered: number; disputed: number },
  ) => void
  pluginFailure: (exchange: Authenticated, failure: PluginFailure) => void
  /** Lane that contract tests request, where the facts allow it. */
  forcedLane: Lane | undefined
}
