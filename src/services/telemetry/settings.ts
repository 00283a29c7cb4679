/** Exports with their addresses, as the configuration resolves them. */

/** Form of one signal: OTLP over HTTP, in binary protobuf. */
export interface OtlpTarget {
  /** The whole address, such as `http://127.0.0.1:4318/v1/traces`. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly compression: 'none' | 'gzip'
  /** Milliseconds for one export. */
  readonly timeout: number
  /** Bytes that may wait to be sent. */
  readonly queue: number
}

export interface TraceSettings extends OtlpTarget {
  /** Share of the requests that are traced where their caller says nothing, 0 to 1. */
  readonly ratio: number
  /** True: the caller's `traceparent` decides where there is one. */
  readonly followParent: boolean
  /** True: requests that fail, or that a provider failed on the way, are traced whatever was drawn. */
  readonly onError: boolean
  /** Milliseconds from which on a request is traced whatever was drawn; undefined: none is for its length. */
  readonly slow: number | undefined
}

export interface MetricSettings extends OtlpTarget {
  /** Milliseconds between two exports. */
  readonly interval: number
}

export interface TelemetrySettings {
  /** Attributes of the resource: who reports. */
  readonly resource: Readonly<Record<string, string>>
  readonly traces: TraceSettings | undefined
  readonly metrics: MetricSettings | undefined
  readonly logs: OtlpTarget | undefined
  /** Settings of the environment that this program cannot follow. */
  readonly problems: readonly string[]
}
