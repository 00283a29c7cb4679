/** What a request, a key or the account may have endpoints sorted by (`provider.sort`). */
export const SORT_KEYS = ['price', 'throughput', 'latency', 'exacto', 'least_busy'] as const
export type SortKey = (typeof SORT_KEYS)[number]
