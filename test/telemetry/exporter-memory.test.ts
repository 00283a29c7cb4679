/** Records that wait for a collector that is away hold about as much memory as the bound of the queue counts, whatever else the process does. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { openLog } from '../../src/core/log.ts'
import { MetricRegistry } from '../../src/machines/metrics/metrics.ts'
import { Exporter } from '../../src/services/telemetry/exporter.ts'
import { FakeClock } from '../support/clock.ts'
import { REFUSING_URL } from '../support/upstream.ts'

const RECORDS = 20_000
const BYTES = 200
/** Memory that others take from the pool of buffers for each record that waits. */
const OTHERS = 10

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

t.test('records that wait keep no memory of others', async (t) => {
  const clock = new FakeClock()
  const target = { url: REFUSING_URL, headers: {}, compression: 'none' as const, timeout: 1_000, queue: 64 * 1024 * 1024 }
  const reporter = { resource: {}, scope: { name: 'test', version: '0' }, schemaUrl: '' }
  const { log } = openLog(clock, () => {})
  const exporter = new Exporter({ signal: 'logs', target, reporter, clock, log, metrics: new MetricRegistry() })
  collect()
  const before = process.memoryUsage().arrayBuffers
  for (let i = 0; i < RECORDS; i++) {
    exporter.add({ bytes: Buffer.from('x'.repeat(BYTES)), count: 1 })
    for (let other = 0; other < OTHERS; other++) Buffer.from('y'.repeat(BYTES))
  }
  collect()
  const held = process.memoryUsage().arrayBuffers - before
  // A batch that is under way stands there a second time.
  t.ok(held > RECORDS * BYTES * 0.9, `${held} bytes are there`)
  t.ok(held < RECORDS * BYTES * 1.5 + 1024 * 1024, `${held} bytes for ${RECORDS * BYTES}`)
  await exporter.close()
})
