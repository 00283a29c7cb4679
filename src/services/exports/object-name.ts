/** Names of batches: the same batch always has the same one, so that a repetition writes over what a crash has left. */

export interface BatchMoment {
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
