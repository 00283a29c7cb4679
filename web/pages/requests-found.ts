/** The search goes on by itself until a page is full, and shows how far it has come: one call looks at rows for some milliseconds only. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { GenerationsReply } from '../api-types.ts'
import { announce } from '../components/toast.tsx'
import type { RequestEntry } from './requests-types.ts'

const PAGE = 50
/** Calls without a result after which the visitor is to say that it shall go on. */
const MAX_CALLS = 40

export interface Found {
  readonly rows: readonly RequestEntry[] | undefined
  readonly error: Error | undefined
  readonly isSearching: boolean
  readonly scannedUntil: string | undefined
  /** There may be more. */
  readonly hasMore: boolean
}

const NOTHING: Found = { rows: undefined, error: undefined, isSearching: true, scannedUntil: undefined, hasMore: false }

/** @param query parameters of GET /v1/generations; when they change, it is searched anew. */
export function useSearch(query: Readonly<Record<string, string>>): Found & { more: () => void; stop: () => void; reload: () => void } {
  const [found, setFound] = useState<Found>(NOTHING)
  const [round, setRound] = useState(0)
  const cursor = useRef<string | null>(null)
  const running = useRef<AbortController>(undefined)
  const run = async (before: readonly RequestEntry[]): Promise<void> => {
    running.current?.abort()
    const ended = new AbortController()
    running.current = ended
    let rows = before
    setFound((last) => ({ ...last, isSearching: true, error: undefined }))
    try {
      for (let calls = 0; calls < MAX_CALLS && rows.length < before.length + PAGE; calls++) {
        const rest = before.length + PAGE - rows.length
        const reply: GenerationsReply = await call('/v1/generations', {
          query: { ...query, limit: rest, cursor: cursor.current ?? undefined },
          signal: ended.signal,
        })
        rows = [...rows, ...reply.data]
        cursor.current = reply.next
        const state = { rows, error: undefined, isSearching: true, scannedUntil: reply.scanned_until, hasMore: reply.next !== null }
        setFound(state)
        if (reply.next === null) break
      }
      announce(`${rows.length} requests found`)
      setFound((last) => ({ ...last, isSearching: false }))
    } catch (thrown) {
      if (!ended.signal.aborted) setFound((last) => ({ ...last, error: thrown as Error, isSearching: false }))
    }
  }
  const text = JSON.stringify(query)
  useEffect(() => {
    cursor.current = null
    setFound(NOTHING)
    void run([])
    return () => running.current?.abort()
  }, [text, round])
  return {
    ...found,
    more: () => void run(found.rows ?? []),
    stop: () => {
      running.current?.abort()
      setFound((last) => ({ ...last, rows: last.rows ?? [], isSearching: false, hasMore: true }))
    },
    reload: () => setRound((last) => last + 1),
  }
}
