/** A dialog in front of the page: the browser's own, which keeps the focus within and closes with Escape. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

export interface DialogProps {
  readonly title: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly children: ComponentChildren
  /** Wider, for tables and code. */
  readonly isWide?: boolean
}

export function Dialog({ title, isOpen, onClose, children, isWide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const element = dialog.current
    if (!element || element.open === isOpen) return
    if (isOpen) element.showModal()
    else element.close()
  }, [isOpen])
  return (
    <dialog ref={dialog} class={isWide ? 'wide' : undefined} aria-labelledby={id} onClose={onClose}>
      {isOpen && (
        <>
          <header class="card-head">
            <h2 id={id}>{title}</h2>
            <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
              ✕
            </button>
          </header>
          {children}
        </>
      )}
    </dialog>
  )
}
