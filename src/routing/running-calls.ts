/** Number of calls that run at each endpoint in this process: `sort: least_busy` orders by it. */
import type { Endpoint } from './catalog/types.ts'

export class RunningCalls {
  /** No entry where nothing runs, so that it holds no more of them than there are calls. */
  private readonly counts = new Map<string, number>()

  begin(endpoint: Endpoint): void {
    const name = endpointName(endpoint)
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1)
  }

  end(endpoint: Endpoint): void {
    const name = endpointName(endpoint)
    const left = (this.counts.get(name) ?? 0) - 1
    if (left > 0) this.counts.set(name, left)
    else this.counts.delete(name)
  }

  at(endpoint: Endpoint): number {
    return this.counts.get(endpointName(endpoint)) ?? 0
  }
}

/** The names behind a wildcard are served by one server. */
const endpointName = ({ wildcardId, id }: Endpoint): string => wildcardId ?? id
