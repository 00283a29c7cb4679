/** Starts the exports of a configuration. */
import { randomUUID } from 'node:crypto'
import { generationView } from '../../ledger/generation.ts'
import type { GenerationRecord } from '../../ledger/types.ts'
import type { ExportSettings } from './destination.ts'
import { Exporter, type ExporterSource, type ExportReports } from './exporter.ts'
import { openDestination } from './open-destination.ts'
import { RangeExports, type RangeExportsSource } from './range-exports.ts'

/** The exports that run, and those of past ranges that a request starts. */
export interface RunningExports {
  readonly onDemand: RangeExports
  close(): Promise<void>
}

type ExportsSource = Pick<ExporterSource<GenerationRecord>, 'readers' | 'clock' | 'metrics'> & Pick<RangeExportsSource, 'lines' | 'log'>

export function startExports(exports: readonly ExportSettings[], source: ExportsSource): RunningExports {
  const holder = randomUUID()
  const { readers, clock, log, lines, metrics } = source
  const reports: ExportReports = {
    failing: (facts) => log.warn(facts, 'generations are not exported; the batch is sent again'),
    works: (facts) => log.info(facts, 'generations are exported again'),
  }
  const line = (record: GenerationRecord): string => `${JSON.stringify(generationView(record))}\n`
  const running = exports.map(
    (settings) => new Exporter({ readers, clock, metrics, reports, line, settings, holder, destination: openDestination(settings, clock) }),
  )
  const onDemand = new RangeExports({ exports, clock, log, lines })
  return {
    onDemand,
    close: async () => {
      await Promise.all([...running, onDemand].map((each) => each.close()))
    },
  }
}
