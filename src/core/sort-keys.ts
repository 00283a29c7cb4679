/** Keys by which a request, a key or the account may sort endpoints (`provider.sort`). */
export const SORT_KEYS = ['price', 'throughput', 'latency', 'exacto', 'least_busy'] as const
export type SortKey = (typeof SORT_KEYS)[number]
