/** headgate's own pipeline on the virtual clock: everything is real but sockets, time and providers. */

import { chainSettings, keyLookup } from '../../src/app/settings.ts'
import type { Config } from '../../src/config/config.ts'
import { resolveKeys } from '../../src/config/keys.ts'
import { loadConfig } from '../../src/config/load.ts'
import { GenerationIds } from '../../src/core/ids.ts'
import { clientDialects, toolDialect } from '../../src/dialects/registry.ts'
import { Credit } from '../../src/ledger/credit.ts'
import { estimateTokens } from '../../src/ledger/settlement.ts'
import { MetricRegistry } from '../../src/machines/metrics/metrics.ts'
import { ModelKinds } from '../../src/pipeline/attempt/model-kinds.ts'
import { RefusedEfforts } from '../../src/pipeline/attempt/refused-efforts.ts'
import { RefusedOptions } from '../../src/pipeline/attempt/refused-options.ts'
import { DrainSlots } from '../../src/pipeline/attempt/upstream-attempt.ts'
import { composeChain, type Front } from '../../src/pipeline/chain.ts'
import type { ChainDependencies } from '../../src/pipeline/dependencies.ts'
import { VectorLengths } from '../../src/pipeline/embeddings/vector-lengths.ts'
import { Exchange } from '../../src/pipeline/exchange.ts'
import { SeenInputs } from '../../src/pipeline/money/seen-inputs.ts'
import { Admission } from '../../src/pipeline/request/admission.ts'
import { Attempts } from '../../src/pipeline/request/attempt-buckets.ts'
import { buildCatalog } from '../../src/routing/catalog/catalog.ts'
import { HealthBook, RetryBudget, StickySessions } from '../../src/routing/index.ts'
import { EncryptedTexts } from '../../src/services/compaction/encrypted-texts.ts'
import { DiskFiles } from '../../src/services/files/index.ts'
import { Pools } from '../../src/services/upstream/pools.ts'
import { serverTools } from '../../src/tools/registry.ts'
import { MemoryJournal } from '../../test/support/memory/journal.ts'
import { MemoryKeys } from '../../test/support/memory/keys.ts'
import type { CallerConnection } from './caller-connection.ts'
import { configText } from './market.ts'
import type { Providers } from './providers.ts'
import type { VirtualClock } from './virtual-clock.ts'

const SECRET = 'sk-router-v1-00000000000000000000000000000000'
const PATH = '/v1/chat/completions'

/** A journal that also tells when somebody waits for it. */
class WatchedJournal extends MemoryJournal {
  waiting = 0

  override committed(): Promise<void> {
    this.waiting++
    return super.committed().finally(() => {
      this.waiting--
    })
  }
}

const configAt = (minute: number): Config => loadConfig('simulation.yaml', {}, { text: configText(minute, SECRET) })

export class SimulatedGateway {
  private readonly clock: VirtualClock
  private readonly dependencies: ChainDependencies
  private readonly journal = new WatchedJournal()
  private readonly keys: MemoryKeys
  private readonly ids = new GenerationIds({ last: 0 })
  private readonly client = clientDialects.get(PATH)
  private readonly headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
  private config: Config
  private front: Front
  /** Errors of the gateway itself. */
  readonly broken: unknown[] = []

  /** @param minute of the hour at which it starts. */
  constructor(clock: VirtualClock, providers: Providers, minute: number) {
    this.clock = clock
    this.keys = new MemoryKeys(clock)
    this.dependencies = this.buildDependencies(providers)
    this.config = configAt(minute)
    this.front = this.compose()
  }

  /** True while a commit waits for a turn of the event loop. */
  get busy(): boolean {
    return this.journal.waiting > 0
  }

  /** Takes over the operator's file as it stands at this minute, as a reload does: statistics stay. */
  reload(minute: number): void {
    this.config = configAt(minute)
    this.front = this.compose()
  }

  /** Resolves when the request has been answered. */
  async ask(connection: CallerConnection): Promise<void> {
    const { client, clock, config } = this
    if (!client) throw new Error(`no client dialect at ${PATH}`)
    const at = clock.now()
    const id = this.ids.next(at)
    await this.front(new Exchange({ id, at, client, headers: this.headers, connection, clock, config, wantsMetadata: false }))
  }

  /** @returns nano-dollars charged. */
  spent(): number {
    let sum = 0
    for (const cost of this.journal.spent().values()) sum += Number(cost)
    return sum
  }

  private compose(): Front {
    const { config } = this
    const { keys } = resolveKeys(config)
    return composeChain('generate', chainSettings(config, buildCatalog(config), keyLookup(keys, this.keys)), this.dependencies)
  }

  private buildDependencies(providers: Providers): ChainDependencies {
    const { clock, broken } = this
    const files = new DiskFiles({ path: undefined, maxFile: 0, maxBytes: 0 }, clock)
    return {
      clock,
      metrics: new MetricRegistry(),
      failures: new Attempts(clock, { burst: 1, perSecond: 1 }),
      byok: { isEmpty: true, at: () => [], fee: 0n, operatorFallback: true, failed: () => {} },
      journal: this.journal,
      ledger: this.journal.ledger,
      credit: new Credit(clock, this.journal),
      health: new HealthBook(clock),
      sessions: new StickySessions(clock),
      seenInputs: new SeenInputs(),
      vectorLengths: new VectorLengths(clock),
      refusedEfforts: new RefusedEfforts(clock),
      refusedOptions: new RefusedOptions(clock),
      modelKinds: new ModelKinds(clock),
      admission: new Admission(clock),
      retries: new RetryBudget(),
      drains: new DrainSlots(),
      pools: new Pools(),
      upstreams: new Map([['sim', providers.dialect()]]),
      wires: new Map(),
      files,
      summaries: new EncryptedTexts({ load: () => [], clock }),
      tools: serverTools,
      host: { clock, estimateTokens, files },
      toolDialect,
      unknownWords: () => {},
      recordExchange: (_exchange, { fault }) => {
        if (fault?.code === 'internal') broken.push(fault.cause)
      },
      alarm: () => {},
      pluginFailure: (_exchange, { plugin }) => broken.push(new Error(`the plugin ${plugin} failed`)),
      overrun: () => broken.push(new Error('a request cost more than was held for it')),
      forcedLane: undefined,
    }
  }
}
