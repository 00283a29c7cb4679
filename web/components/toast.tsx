/** Short messages about what has just been done, and the live region that announces them to screen readers. */
import { useEffect, useState } from 'preact/hooks'

interface Message {
  readonly id: number
  readonly text: string
  readonly isError: boolean
}

/** Milliseconds that a message stays; an error stays until it is closed. */
const SHOWN = 6000

let count = 0
let shown: readonly Message[] = []
const listeners = new Set<() => void>()

function change(next: readonly Message[]): void {
  shown = next
  for (const listener of listeners) listener()
}

export function toast(text: string, { isError = false } = {}): void {
  const id = ++count
  change([...shown, { id, text, isError }].slice(-4))
  if (!isError) setTimeout(() => close(id), SHOWN)
}

/** For `promise.catch(toastError)`. */
export const toastError = (error: unknown): void => toast(error instanceof Error ? error.message : String(error), { isError: true })

const close = (id: number): void => change(shown.filter((message) => message.id !== id))

export function Toasts() {
  const [messages, set] = useState(shown)
  useEffect(() => {
    const listener = (): void => set(shown)
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }, [])
  return (
    <div class="toasts" role="log" aria-live="polite" aria-label="Messages">
      {messages.map(({ id, text, isError }) => (
        <div key={id} class={isError ? 'toast bad' : 'toast'}>
          <p>{text}</p>
          <button type="button" class="icon-button" aria-label="Close the message" onClick={() => close(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  )
}

let announced: ((text: string) => void) | undefined

/** Has a screen reader say what has changed on the page, such as `12 requests found`. */
export function announce(text: string): void {
  announced?.(text)
}

export function LiveRegion() {
  const [text, set] = useState('')
  useEffect(() => {
    announced = set
  }, [])
  return (
    <p class="hidden" role="status" aria-live="polite">
      {text}
    </p>
  )
}
