/** Decides which of the caller's parameters an endpoint is sent, and records the others. */
import type { Target } from '../encoded-request.ts'

export class ParameterFilter {
  /** Names of what the caller sent and this upstream cannot take. */
  readonly dropped = new Set<string>()
  private readonly supported: ReadonlySet<string> | undefined
  private readonly never: readonly string[]

  constructor({ supported, quirks }: Pick<Target, 'supported' | 'quirks'>) {
    this.supported = supported
    this.never = quirks.body?.drop ?? []
  }

  /** @returns the value, or undefined where the endpoint is never sent the parameter. */
  unlessDropped<T>(name: string, value: T | undefined): T | undefined {
    if (value === undefined || !this.never.includes(name)) return value
    this.dropped.add(name)
    return undefined
  }

  /**
   * As `unlessDropped`, for parameters that endpoints list.
   * @param aliases other names under which the list may have it.
   */
  ifListed<T>(name: string, value: T | undefined, aliases: readonly string[] = []): T | undefined {
    const { supported } = this
    if (value === undefined || !supported || supported.has(name) || aliases.some((alias) => supported.has(alias)))
      return this.unlessDropped(name, value)
    this.dropped.add(name)
    return undefined
  }

  /** True for a parameter that the endpoint lists and is sent. */
  readonly takes = (name: string): boolean => (this.supported?.has(name) ?? true) && !this.never.includes(name)
}
