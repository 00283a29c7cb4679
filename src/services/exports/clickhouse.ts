/**
 * Exports to ClickHouse over HTTP (ClickHouse documentation, "HTTP Interface"): the statement in the query, the rows in the body, the
 * identity in `X-ClickHouse-User` and `X-ClickHouse-Key`. A batch that is sent again has the same `insert_deduplication_token`
 * ("Deduplicating inserts on retries").
 */
import type { Clock } from '../../core/clock.ts'
import { type ClickHouseTarget, type Delivery, DeliveryError, type Destination } from './destination.ts'
import { HttpSender } from './http-send.ts'

/** Fields that the table lacks are left out, moments are ISO 8601, and lists become texts where a column is one. */
const SETTINGS = {
  input_format_skip_unknown_fields: '1',
  input_format_null_as_default: '1',
  date_time_input_format: 'best_effort',
  input_format_json_read_arrays_as_strings: '1',
  input_format_json_read_objects_as_strings: '1',
  input_format_json_read_numbers_as_strings: '1',
  insert_deduplicate: '1',
  // The reply comes when the rows are written.
  async_insert: '0',
  wait_end_of_query: '1',
}

export class ClickHouseDestination implements Destination {
  readonly place: string
  private readonly path: string
  private readonly headers: Record<string, string>
  private readonly insert: string
  private readonly sender: HttpSender

  constructor({ url, database, table, user, password }: ClickHouseTarget, timeout: number, clock: Clock) {
    const { origin, pathname } = new URL(url)
    this.path = pathname
    this.place = `${origin}${pathname} ${database}.${table}`
    // Their patterns have no backtick.
    this.insert = `INSERT INTO \`${database}\`.\`${table}\` FORMAT JSONEachRow`
    this.headers = {
      ...(user === undefined ? {} : { 'x-clickhouse-user': user }),
      ...(password === undefined ? {} : { 'x-clickhouse-key': password }),
    }
    this.sender = new HttpSender(origin, timeout, clock)
  }

  async deliver({ token, body, isGzip }: Delivery): Promise<void> {
    const query = new URLSearchParams({ query: this.insert, insert_deduplication_token: token, ...SETTINGS })
    const { status, headers } = await this.sender.send({
      method: 'POST',
      path: `${this.path}?${query}`,
      headers: { ...this.headers, 'content-type': 'application/x-ndjson', ...(isGzip ? { 'content-encoding': 'gzip' } : {}) },
      body,
    })
    const code = headers['x-clickhouse-exception-code']
    if (status === 200 && code === undefined) return
    throw new DeliveryError(`status ${status}${typeof code === 'string' && /^\d{1,6}$/.test(code) ? `, ClickHouse error ${code}` : ''}`)
  }

  close(): void {
    this.sender.close()
  }
}
