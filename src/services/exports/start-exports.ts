/** Starts the exports of a configuration. */
import { randomUUID } from 'node:crypto'
import type { ExportSettings } from './destination.ts'
import { Exporter, type ExporterSource } from './exporter.ts'
import { openDestination } from './open-destination.ts'
import { RangeExports, type RangeExportsSource } from './range-exports.ts'

/** The exports that run, and those of past ranges that a request starts. */
export interface RunningExports {
  readonly onDemand: RangeExports
  close(): Promise<void>
}

type ExportsSource = Omit<ExporterSource, 'settings' | 'destination' | 'holder'> & Pick<RangeExportsSource, 'lines'>

export function startExports(exports: readonly ExportSettings[], source: ExportsSource): RunningExports {
  const holder = randomUUID()
  const running = exports.map(
    (settings) => new Exporter({ ...source, settings, holder, destination: openDestination(settings, source.clock) }),
  )
  const { clock, log, lines } = source
  const onDemand = new RangeExports({ exports, clock, log, lines })
  return {
    onDemand,
    close: async () => {
      await Promise.all([...running, onDemand].map((each) => each.close()))
    },
  }
}
