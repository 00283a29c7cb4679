/** A target of a load as it runs, and the names of all targets. */
export type TargetName =
  | 'direct'
  | 'forwarder'
  | 'blind-proxy'
  | 'headgate'
  | 'guarded'
  | 'gomodel'
  | 'gomodel-usage'
  | 'litellm'
  | 'portkey'
  | 'nginx'

/** A running target. */
export interface Target {
  readonly name: TargetName
  readonly port: number
  /** The process whose cost counts; none for the mock alone. */
  readonly pid: number | undefined
  /** Headers that only this target needs. */
  readonly headers: Record<string, string>
  stop(): Promise<void>
  /** The end of what the target wrote, where it is kept. */
  readonly logTail?: () => string
  /** Called after the load with the number of requests. @throws Error when the target did not do what it should. */
  check(requests: number): Promise<void>
}
