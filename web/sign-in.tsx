/** The form that exchanges a management key or the admin token for a session. */
import { useState } from 'preact/hooks'
import { type ApiError, type Session, signIn } from './api.ts'
import { Field } from './components/field.tsx'

export interface SignInProps {
  readonly brand: string
  readonly notice: string | undefined
  readonly onSession: (session: Session) => void
}

export function SignIn({ brand, notice, onSession }: SignInProps) {
  const [error, setError] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
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
        <Field
          name="key"
          label="Management key or admin token"
          type="password"
          autocomplete="off"
          required
          error={error}
          hint="It is sent once, for a session of this browser. The page does not keep it."
        />
        <button type="submit" class="button primary" disabled={isBusy}>
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
