/** The key with which this page calls models: pasted by the visitor, and kept in the memory of this page alone. */
import { useState } from 'preact/hooks'
import type { Session } from '../api.ts'
import { Field } from './field.tsx'

/** Never in storage, in the address or in the page's text; gone with the document. */
let pasted = ''

/** The key as pasted; '' where there is none. */
export const pastedKey = (): string => pasted

/** Forgets the key, when its visitor leaves. */
export function forgetKey(): void {
  pasted = ''
}

/** The published development key stands in for a pasted one where the gateway honours it: the server puts it in. */
export const hasDevelopmentKey = (session: Session): boolean => session.actions.includes('sample')

export const canCall = (session: Session): boolean => pasted !== '' || hasDevelopmentKey(session)

/** Headers of a request that is charged to the key. */
export function callerHeaders(): Readonly<Record<string, string>> {
  return pasted === '' ? { 'x-control-room': 'sample' } : { authorization: `Bearer ${pasted}` }
}

export interface CallerKeyProps {
  readonly session: Session
  readonly error?: Error | undefined
  readonly onChange: () => void
}

export function CallerKey({ session, error, onChange }: CallerKeyProps) {
  const [value, setValue] = useState(pasted)
  const input = (text: string): void => {
    setValue(text)
    pasted = /^[!-~]*$/.test(text.trim()) ? text.trim() : ''
    onChange()
  }
  return (
    <Field
      name="authorization"
      label="Key that pays"
      type="password"
      autocomplete="off"
      value={value}
      error={error}
      placeholder={hasDevelopmentKey(session) ? 'The development key' : 'sk-…'}
      hint="A key for completions, not a management key. It stays in the memory of this page."
      onInput={input}
    />
  )
}
