/** The ways in: a button for each identity provider, and the form that exchanges a management key or the admin token for a session. */
import { useState } from 'preact/hooks'
import { type ApiError, type Session, signIn, signInAt } from './api.ts'
import type { SessionReply } from './api-types.ts'
import { Field } from './components/field.tsx'

export interface SignInProps {
  readonly brand: string
  readonly issuers: SessionReply['sign_in']['issuers']
  readonly notice: string | undefined
  readonly onSession: (session: Session) => void
}

export function SignIn({ brand, issuers, notice, onSession }: SignInProps) {
  const [error, setError] = useState<ApiError>()
  const [elsewhere, setElsewhere] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const goTo = async (name: string): Promise<void> => {
    setBusy(true)
    setElsewhere(undefined)
    await signInAt(name).catch((thrown) => {
      setElsewhere(thrown as ApiError)
      setBusy(false)
    })
  }
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const form = event.currentTarget as HTMLFormElement
    const key = String(new FormData(form).get('key') ?? '').trim()
    setBusy(true)
    setError(undefined)
    try {
      const session = await signIn({ key })
      form.reset()
      onSession(session)
    } catch (thrown) {
      setError(thrown as ApiError)
    }
    setBusy(false)
  }
  return (
    <main class="sign-in" id="main">
      <form class="card" onSubmit={submit}>
        <h1>
          <span class="mark" aria-hidden="true" />
          {brand} <span class="quiet">control room</span>
        </h1>
        {notice && <p role="status">{notice}</p>}
        {issuers.map(({ name, label }) => (
          <button key={name} type="button" class="button primary" disabled={isBusy} onClick={() => void goTo(name)}>
            Sign in with {label}
          </button>
        ))}
        {elsewhere && (
          <p role="alert" class="bad">
            {elsewhere.message}
          </p>
        )}
        {issuers.length > 0 && <p class="quiet">Or with a key:</p>}
        <Field
          name="key"
          label="Management key or admin token"
          type="password"
          autocomplete="off"
          required
          error={error}
          hint="It is sent once, for a session of this browser. The page does not keep it."
        />
        <button type="submit" class={issuers.length > 0 ? 'button' : 'button primary'} disabled={isBusy}>
          {isBusy ? 'Signing in…' : 'Sign in'}
        </button>
        <details>
          <summary>Where do I find one?</summary>
          <p>
            If the configuration sets no <code>admin.token</code>, each start writes a new token beside the store, for example to{' '}
            <code>data/headgate.db.admin-token</code>. A management key has <code>management: true</code> or a <code>role</code> in{' '}
            <code>auth.keys</code>, or was made by <code>headgate keys create --role</code>. The role decides what is open.
          </p>
        </details>
      </form>
    </main>
  )
}
