/** Opens the destination of an export, which runs or is started on demand. */
import type { Clock } from '../../core/clock.ts'
import { ClickHouseDestination } from './clickhouse.ts'
import type { Destination, ExportSettings } from './destination.ts'
import { FileDestination } from './files.ts'
import { S3Destination } from './s3.ts'

export function openDestination({ name, file, s3, clickhouse, timeout }: ExportSettings, clock: Clock): Destination {
  if (file) return new FileDestination(file)
  if (s3) return new S3Destination(s3, timeout, clock)
  if (clickhouse) return new ClickHouseDestination(clickhouse, timeout, clock)
  throw new TypeError(`the export ${name} has no destination`)
}
