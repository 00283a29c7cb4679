/** Text to take along: a button that copies it, and code with such a button. */
import { useState } from 'preact/hooks'
import { toast } from './toast.tsx'

/** Milliseconds for which the button says that it has copied. */
const SAID = 2000

/** @param what names what is copied, for screen readers. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    // Absent where the page comes without TLS from another machine (Clipboard API: secure contexts only).
    const isDone =
      (await navigator.clipboard?.writeText(text).then(
        () => true,
        () => false,
      )) ?? false
    if (!isDone) return toast('The browser does not let the page copy: select the text and copy it', { isError: true })
    setCopied(true)
    setTimeout(() => setCopied(false), SAID)
  }
  return (
    <button type="button" class="button small" onClick={copy} aria-label={isCopied ? `${what} is copied` : `Copy ${what}`}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <section aria-label={label}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard (axe: scrollable-region-focusable) */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </section>
  )
}
