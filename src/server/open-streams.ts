/** Streams being relayed now, over all connections of the process. */
import { type MetricRegistry, reading } from '../machines/metrics/metrics.ts'

const openStreams = reading('gauge', 'open_streams', 'Streams being relayed now.')

export class OpenStreams {
  count = 0

  constructor(metrics: MetricRegistry) {
    metrics.of(openStreams).from(() => this.count)
  }
}
