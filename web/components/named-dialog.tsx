/** A dialog for what cannot be undone: the name of what it is about is typed first. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { Field, FormError } from './field.tsx'

export interface NamedDialogProps {
  readonly title: string
  /** Such as `key`. */
  readonly noun: string
  /** Text that has to be typed. */
  readonly name: string
  readonly verb: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly act: () => Promise<void>
  readonly children: ComponentChildren
  /** Fields above that of the name. */
  readonly fields?: ComponentChildren
}

export function NamedDialog(props: NamedDialogProps) {
  return (
    <Dialog title={props.title} isOpen={props.isOpen} onClose={props.onClose}>
      <NamedForm {...props} />
    </Dialog>
  )
}

function NamedForm({ noun, name, verb, onClose, act, children, fields }: NamedDialogProps) {
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<Error>()
  const [isBusy, setBusy] = useState(false)
  const send = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    await act().catch(setError)
    setBusy(false)
  }
  return (
    <form class="form" onSubmit={send}>
      <p>{children}</p>
      {fields}
      <Field name="typed" label={`Type the name of the ${noun}: ${name}`} value={typed} onInput={setTyped} autocomplete="off" />
      <FormError error={error} fields={[]} />
      <p class="actions">
        <button type="submit" class="button danger" disabled={isBusy || typed !== name}>
          {isBusy ? 'Sending…' : verb}
        </button>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
      </p>
    </form>
  )
}
