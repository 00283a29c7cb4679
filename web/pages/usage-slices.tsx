/** Slices of the ledger for the page "Usage": they are loaded again until all of the range is read. */
import { call } from '../api.ts'
import type { SlicesReply } from '../api-types.ts'
import { formatTime } from '../format.ts'
import { type Resource, useResource } from '../resource.ts'
import { useQuery } from '../router.ts'
import { type FilterName, SUMS } from './usage-views.ts'

/** Parts of the range in the charts. */
const POINTS = 48
/** Milliseconds between two looks while a part of the range is still being read, and once all is. */
const READING_EVERY = 400
const EVERY = 30_000

type Times = { readonly since?: string; readonly until?: string }
type Filters = Readonly<Partial<Record<FilterName, string>>>

/** @param load of the API. @param inputs what it depends on. */
export function useWhole<T extends { readonly is_complete: boolean; readonly is_full: boolean }>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly string[],
): Resource<T> {
  let every = EVERY
  const reading = async (signal: AbortSignal): Promise<T> => {
    const reply = await load(signal)
    every = reply.is_complete || reply.is_full ? EVERY : READING_EVERY
    return reply
  }
  return useResource(reading, inputs, { every: () => every })
}

export function useSlices(view: string, times: Times, filters: Filters): Resource<SlicesReply> {
  const [{ sort, order }] = useQuery()
  const { by = [], sort: usual = 'usage' } = SUMS[view] ?? {}
  const query = { ...times, ...filters, group_by: by.join(','), sort: sort ?? usual, order, points: POINTS, limit: 100 }
  return useWhole<SlicesReply>((signal) => call('/v1/slices', { query, signal }), [JSON.stringify(query)])
}

type CoverProps = Pick<SlicesReply, 'is_complete' | 'is_full' | 'read_since'>

/** States how far the range is read, where it is not all. */
export function Cover({ is_complete: isComplete, is_full: isFull, read_since: since }: CoverProps) {
  if (isComplete) return null
  return (
    <p class="note-line" role="status">
      {isFull
        ? `Requests from ${formatTime(since)} on: there are too many before to look at at once. Spending by key, model and provider of all days is on the page Keys and budgets.`
        : `Read back to ${formatTime(since)} so far…`}
    </p>
  )
}
