/** Starts the exports of a configuration. */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { ClickHouseDestination } from './clickhouse.ts'
import type { Destination } from './destination.ts'
import { Exporter, type ExporterSource } from './exporter.ts'
import { FileDestination } from './files.ts'
import { S3Destination } from './s3.ts'
import type { ExportSettings } from './settings.ts'

/** @returns a function that ends them. */
export function startExports(
  exports: readonly ExportSettings[],
  source: Omit<ExporterSource, 'settings' | 'destination' | 'holder'>,
): () => Promise<void> {
  const holder = randomUUID()
  const running = exports.map(
    (settings) => new Exporter({ ...source, settings, holder, destination: destinationOf(settings, source.clock) }),
  )
  return async () => {
    await Promise.all(running.map((each) => each.close()))
  }
}

function destinationOf({ name, file, s3, clickhouse, timeout }: ExportSettings, clock: Clock): Destination {
  if (file) return new FileDestination(file)
  if (s3) return new S3Destination(s3, timeout, clock)
  if (clickhouse) return new ClickHouseDestination(clickhouse, timeout, clock)
  throw new TypeError(`the export ${name} has no destination`)
}
