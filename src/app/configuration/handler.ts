/** The running configuration as operators see it, and the thread in which submitted ones are looked at. */
import { resolve } from 'node:path'
import { extname } from 'node:path/posix'
import type { ConfigurationHandler, ConfigurationQuery, RehearsalAsk, RehearsalResult, SubmittedCheck } from '../../api/configuration.ts'
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/expand.ts'
import { writtenEntries } from '../../config/written-entries.ts'
import type { Clock } from '../../core/clock.ts'
import { Fault } from '../../core/faults.ts'
import type { JsonObject } from '../../core/json.ts'
import { ThreadError, ThreadPool } from '../../services/threads/index.ts'
import type { CheckJob, CheckResult, LoadJob, RehearseJob, SubmittedText } from './job.ts'

const MAX_ENTRIES = 5000
/** Milliseconds for one text, once the thread has loaded the program, and for that. */
const TIMEOUT_MS = 20_000
const LOADING = 60_000
/** Of them, those in which requests are planned. */
const PLANNING = 15_000

export interface RunningParts {
  readonly clock: Clock
  readonly env: Environment
  readonly config: () => Config
  /** Inputs of a plan beside the text: guardrails of the store, and what providers list. */
  readonly beside: () => Pick<RehearseJob, 'guardrails' | 'listings'>
}

export class RunningConfiguration implements ConfigurationHandler {
  private readonly threads = new ThreadPool({
    module: new URL(`./worker${extname(import.meta.url)}`, import.meta.url),
    threads: 1,
    waiting: 1,
  })
  private readonly clock: Clock
  private readonly env: Environment
  private readonly config: () => Config
  private readonly beside: RunningParts['beside']
  /** Result that was shown last: pages read it again and again, and a long file takes the event loop tens of milliseconds. */
  private shown: { readonly texts: Config['texts']; readonly path: string; readonly data: JsonObject } | undefined

  constructor({ clock, env, config, beside }: RunningParts) {
    this.clock = clock
    this.env = env
    this.config = config
    this.beside = beside
  }

  show({ path }: ConfigurationQuery): JsonObject {
    const { file, texts } = this.config()
    const { shown } = this
    if (shown?.texts === texts && shown.path === path) return shown.data
    const { entries, leftOut } = writtenEntries(texts, path, MAX_ENTRIES)
    const data = { file, files: texts.map((each) => each.file), entries: entries.map((entry) => ({ ...entry })), left_out: leftOut }
    this.shown = { texts, path, data }
    return data
  }

  async check({ text, tests }: SubmittedCheck): Promise<JsonObject> {
    const job: CheckJob = { kind: 'check', submitted: this.submitted(text), running: this.running, tests }
    const found = (await this.run(job)) as CheckResult
    const { difference, problems, unchecked, counts, needsRestart, tests: results, testProblems } = found
    const failed = results.filter(({ passed }) => !passed).length
    return {
      ok: problems.length === 0,
      problems: problems.map((problem) => ({ ...problem })),
      not_checked: unchecked.map((each) => ({ ...each })),
      counts,
      needs_restart: needsRestart,
      difference: difference && { ...difference, lines: difference.lines.map((line) => ({ ...line })) },
      tests: results.map((result) => ({ ...result })),
      test_problems: testProblems.map((problem) => ({ ...problem })),
      passed: results.length - failed,
      failed,
    }
  }

  rehearse(text: string, plannedRequests: readonly RehearsalAsk[]): Promise<RehearsalResult> {
    const job = {
      kind: 'rehearse',
      submitted: this.submitted(text),
      running: this.running,
      plannedRequests,
      planning: PLANNING,
      ...this.beside(),
    } as const
    return this.run(job) as Promise<RehearsalResult>
  }

  close(): void {
    this.threads.close()
  }

  private get running(): string {
    return this.config().texts[0]?.text ?? ''
  }

  private submitted(text: string): SubmittedText {
    const config = this.config()
    const variables = Object.keys(this.env).filter((name) => this.env[name])
    return { file: config.file, text, variables, catalogs: config.texts.slice(1).map((catalog) => resolve(catalog.file)) }
  }

  private async run(job: CheckJob | RehearseJob): Promise<unknown> {
    const { clock } = this
    try {
      // How long the program takes to load, on a busy machine, is not the text's doing.
      await this.threads.run({ kind: 'load' } satisfies LoadJob, { clock, timeout: LOADING })
      return await this.threads.run(job, { clock, timeout: TIMEOUT_MS })
    } catch (error) {
      if (!(error instanceof ThreadError)) throw error
      if (error.failure === 'busy' || error.failure === 'closed')
        throw new Fault('unavailable', { message: 'Other configurations are being checked: try again', retryAfter: 5 })
      if (error.failure === 'timeout') throw new Fault('deadline', { message: 'text: checking it takes too long' })
      throw new Fault('unprocessable', { message: 'text: it cannot be checked: it needs too much memory, or the check failed' })
    }
  }
}
