/** Data that a page loads from the API: once, when its input changes, or again and again. */
import { useCallback, useEffect, useState } from 'preact/hooks'

export interface Resource<T> {
  /** The last that came; it stays while the next is loaded, and where that fails. */
  readonly data: T | undefined
  readonly error: Error | undefined
  readonly isLoading: boolean
  readonly reload: () => void
  /** Puts what a change of the visitor's has made of the data in its place, until the next load has it from the API. */
  readonly replace: (change: (data: T) => T) => void
}

export interface ResourceOptions {
  /** Milliseconds between the end of one load and the next; it pauses while the page is hidden. A function is called after each load. */
  readonly every?: number | (() => number)
  /** False: nothing is loaded. */
  readonly enabled?: boolean
}

/**
 * @param load gets a signal that is aborted when its reply is no longer wanted.
 * @param inputs what `load` depends on, as text: when one changes, it is loaded anew.
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly (string | number | boolean | undefined)[],
  { every, enabled = true }: ResourceOptions = {},
): Resource<T> {
  const [state, setState] = useState<Pick<Resource<T>, 'data' | 'error' | 'isLoading'>>({
    data: undefined,
    error: undefined,
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const reload = useCallback(() => setRound((last) => last + 1), [])
  const replace = useCallback(
    (change: (data: T) => T) => setState((last) => (last.data === undefined ? last : { ...last, data: change(last.data) })),
    [],
  )
  useEffect(() => {
    if (!enabled) {
      setState({ data: undefined, error: undefined, isLoading: false })
      return
    }
    const ended = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const run = async (): Promise<void> => {
      if (!document.hidden || every === undefined) {
        setState((last) => ({ ...last, isLoading: true }))
        try {
          const data = await load(ended.signal)
          if (!ended.signal.aborted) setState({ data, error: undefined, isLoading: false })
        } catch (thrown) {
          if (!ended.signal.aborted) setState((last) => ({ ...last, error: thrown as Error, isLoading: false }))
        }
      }
      if (every !== undefined && !ended.signal.aborted) timer = setTimeout(run, typeof every === 'function' ? every() : every)
    }
    void run()
    return () => {
      ended.abort()
      clearTimeout(timer)
    }
  }, [...inputs, round, enabled, typeof every === 'function' || every])
  return { ...state, reload, replace }
}
