/** Where generations are exported to, as the configuration resolves it. */

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
