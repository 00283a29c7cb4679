/** The reply of GET /v1/status. */
import type { StatusReply } from '../api-types.ts'

export type Status = StatusReply['data']
/** Milliseconds. */
export type Percentiles = Status['latency_ms']
export type ProviderStatus = Status['providers'][number]
export type EndpointStatus = ProviderStatus['endpoints'][number]
