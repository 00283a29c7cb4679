/** A field of a form with its label, its hint, and the API's error where the error names this field. */
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { ApiError } from '../api.ts'

interface Shared {
  /** As the API calls it; an error that names it is shown here. */
  readonly name: string
  readonly label: string
  readonly hint?: string
  readonly error?: Error | undefined
  readonly required?: boolean
}

export interface FieldProps extends Shared {
  readonly type?: 'text' | 'password' | 'number' | 'search' | 'date' | 'datetime-local'
  readonly value?: string
  readonly placeholder?: string
  readonly autocomplete?: string
  readonly list?: readonly string[]
  readonly min?: string
  readonly max?: string
  readonly step?: string
  readonly onInput?: (value: string) => void
  readonly onChange?: (value: string) => void
}

export function Field({ name, label, hint, error, onInput, onChange, list, type = 'text', ...rest }: FieldProps) {
  const id = useId()
  const message = messageFor(name, error)
  // The types of an input depend on its type, which only the caller knows.
  return (
    <div class={message ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      <input
        id={id}
        name={name}
        {...({ type, ...rest } as { type: 'text' })}
        {...(list && { list: `${id}-list` })}
        spellcheck={false}
        aria-invalid={message ? true : undefined}
        aria-describedby={describedBy(id, hint, message)}
        onInput={(event) => onInput?.(event.currentTarget.value)}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      />
      {list && (
        <datalist id={`${id}-list`}>
          {list.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
      <Notes id={id} hint={hint} message={message} />
    </div>
  )
}

export interface ChoiceProps extends Shared {
  readonly value?: string
  readonly options: readonly (readonly [value: string, label: string])[]
  readonly onChange?: (value: string) => void
}

export function Choice({ name, label, hint, error, value, options, onChange, required }: ChoiceProps) {
  const id = useId()
  const message = messageFor(name, error)
  return (
    <div class={message ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        value={value}
        required={required}
        aria-invalid={message ? true : undefined}
        aria-describedby={describedBy(id, hint, message)}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      >
        {options.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
      <Notes id={id} hint={hint} message={message} />
    </div>
  )
}

export interface TextAreaProps extends Shared {
  readonly value?: string
  readonly rows?: number
  readonly placeholder?: string
  readonly isCode?: boolean
  readonly onInput?: (value: string) => void
}

export function TextArea({ name, label, hint, error, onInput, rows = 6, isCode, ...rest }: TextAreaProps) {
  const id = useId()
  const message = messageFor(name, error)
  return (
    <div class={message ? 'field wrong' : 'field'}>
      <label for={id}>{label}</label>
      <textarea
        id={id}
        name={name}
        rows={rows}
        {...rest}
        class={isCode ? 'code' : undefined}
        spellcheck={!isCode}
        aria-invalid={message ? true : undefined}
        aria-describedby={describedBy(id, hint, message)}
        onInput={(event) => onInput?.(event.currentTarget.value)}
      />
      <Notes id={id} hint={hint} message={message} />
    </div>
  )
}

export interface CheckboxProps extends Shared {
  readonly checked?: boolean
  readonly onChange?: (checked: boolean) => void
}

export function Checkbox({ name, label, hint, error, checked, onChange }: CheckboxProps) {
  const id = useId()
  const message = messageFor(name, error)
  return (
    <div class={message ? 'field checkbox wrong' : 'field checkbox'}>
      <input
        id={id}
        name={name}
        type="checkbox"
        checked={checked}
        aria-describedby={describedBy(id, hint, message)}
        onChange={(event) => onChange?.(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      <Notes id={id} hint={hint} message={message} />
    </div>
  )
}

/** An error of a form that none of its fields shows. @param fields the names of those that do. */
export function FormError({ error, fields }: { error: Error | undefined; fields: readonly string[] }): ComponentChildren {
  if (!error || fields.some((name) => messageFor(name, error))) return null
  return (
    <p class="form-error" role="alert">
      {error.message}
    </p>
  )
}

function messageFor(name: string, error: Error | undefined): string | undefined {
  if (!(error instanceof ApiError)) return name === 'key' ? error?.message : undefined
  if (error.field === undefined) return undefined
  return error.field === name || error.field.startsWith(`${name}.`) || error.field.startsWith(`${name}[`) ? error.message : undefined
}

const describedBy = (id: string, hint: string | undefined, message: string | undefined): string | undefined =>
  [message && `${id}-error`, hint && `${id}-hint`].filter(Boolean).join(' ') || undefined

function Notes({ id, hint, message }: { id: string; hint: string | undefined; message: string | undefined }) {
  return (
    <>
      {message && (
        <p class="field-error" id={`${id}-error`} role="alert">
          {message}
        </p>
      )}
      {hint && (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  )
}
