/** A destination of exports: its address as the configuration resolves it, its contents, and the names of batches. */

export interface FileTarget {
  readonly path: string
}

export interface S3Target {
  readonly bucket: string
  readonly region: string
  /** Of another service that speaks S3; absent: that of AWS. */
  readonly endpoint?: string | undefined
  readonly pathStyle?: boolean | undefined
  readonly prefix?: string | undefined
  readonly accessKeyId?: string | undefined
  readonly secretAccessKey?: string | undefined
  readonly profile?: string | undefined
  readonly role?: string | undefined
  readonly externalId?: string | undefined
}

export interface ClickHouseTarget {
  readonly url: string
  readonly database: string
  readonly table: string
  readonly user?: string | undefined
  readonly password?: string | undefined
}

export interface ExportSettings {
  readonly name: string
  readonly file?: FileTarget | undefined
  readonly s3?: S3Target | undefined
  readonly clickhouse?: ClickHouseTarget | undefined
  /** Template of the name of a file or object. */
  readonly path: string
  readonly compression: 'none' | 'gzip'
  /** Generations of a batch. */
  readonly rows: number
  /** Milliseconds: between two looks at the ledger, and for one delivery. */
  readonly interval: number
  readonly timeout: number
  /** Milliseconds since the epoch; absent: all that the ledger has. */
  readonly since?: number | undefined
}

export interface Delivery {
  /** Relative path of a file or object, with its ending. */
  readonly name: string
  /** Of this batch of this export: a destination that knows it has the batch already. */
  readonly token: string
  /** JSON lines. */
  readonly body: Buffer
  readonly isGzip: boolean
}

export interface Destination {
  /** Without secrets, for the log. */
  readonly place: string
  /** Resolves when the batch is safe there. Rejects with a `DeliveryError`, or an error of the system. */
  deliver(delivery: Delivery): Promise<void>
  close(): void
}

/** Why a batch was not taken, in words that a log may show: never with the text of the destination. */
export class DeliveryError extends Error {}

interface BatchMoment {
  /** Milliseconds since the epoch: when the batch was begun. */
  readonly begunAt: number
  readonly number: number
}

/** `20261126T104503123Z-000007`: no two batches have the same one, also where the ledger begins anew. */
export function batchId({ begunAt, number }: BatchMoment): string {
  const moment = new Date(begunAt).toISOString().replaceAll(/[-:.]/g, '')
  return `${moment}-${String(number).padStart(6, '0')}`
}

/** @param template such as `{year}/{month}/{day}/{name}-{batch}`, by the moment at which the batch was begun, in UTC. */
export function objectName(template: string, name: string, batch: BatchMoment, compression: 'none' | 'gzip'): string {
  const [year = '', month = '', day = '', hour = ''] = new Date(batch.begunAt).toISOString().split(/[-T:]/)
  const values: Readonly<Record<string, string>> = { name, year, month, day, hour, batch: batchId(batch) }
  const path = template.replaceAll(/\{(\w+)\}/g, (whole, field: string) => values[field] ?? whole)
  return `${path}.jsonl${compression === 'gzip' ? '.gz' : ''}`
}
