/** Starts the control room: signs in where there is no session, then shows the frame with the page of the address. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { onSignedOut, readSession, type Session, signIn, signOut } from './api.ts'
import type { SessionReply } from './api-types.ts'
import { forgetKey } from './components/caller-key.tsx'
import { LiveRegion, Toasts } from './components/toast.tsx'
import { Frame } from './frame.tsx'
import { OwnAccess } from './own-access.tsx'
import { SignIn } from './sign-in.tsx'
import { applyTheme } from './theme.ts'

applyTheme()

type Issuers = SessionReply['sign_in']['issuers']

type State =
  | { kind: 'loading' }
  | { kind: 'out'; brand: string; issuers: Issuers; notice?: string }
  | { kind: 'in'; brand: string; issuers: Issuers; session: Session }

/** @returns the session of the link by which the page was opened, or the one that there is. */
async function begin(): Promise<State> {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? []
  const [, refusal] = /^#refused=(\w+)$/.exec(location.hash) ?? []
  // Neither the history nor a copied address keeps it.
  if (code !== undefined || refusal !== undefined) history.replaceState(null, '', location.pathname + location.search)
  const refused =
    code === undefined
      ? undefined
      : await signIn({ code }).then(
          () => undefined,
          (error: Error) => error.message,
        )
  const { brand, data, sign_in: at } = await readSession()
  const { issuers } = at
  if (data) return { kind: 'in', brand, issuers, session: data }
  // Of the words of the address only those that the gateway has are shown.
  const notice = refused ?? (refusal === undefined || !Object.hasOwn(at.refusals, refusal) ? undefined : at.refusals[refusal])
  return notice === undefined ? { kind: 'out', brand, issuers } : { kind: 'out', brand, issuers, notice }
}

function App() {
  const [state, setState] = useState<State>({ kind: 'loading' })
  const { brand, issuers } = state.kind === 'loading' ? { brand: '', issuers: [] } : state
  useEffect(() => {
    begin().then(setState, (error: Error) => setState({ kind: 'out', brand: 'Gateway', issuers: [], notice: error.message }))
  }, [])
  useEffect(() => onSignedOut(() => setState({ kind: 'out', brand, issuers, notice: 'The session has ended. Sign in again.' })), [state])
  useEffect(() => {
    if (state.kind === 'out') forgetKey()
  }, [state.kind])
  if (state.kind === 'loading') return <p class="boot">Loading…</p>
  if (state.kind === 'out')
    return (
      <SignIn
        brand={brand}
        issuers={issuers}
        notice={state.notice}
        onSession={(session) => setState({ kind: 'in', brand, issuers, session })}
      />
    )
  const leave = async (): Promise<void> => {
    const elsewhere = await signOut()
    if (elsewhere === undefined) setState({ kind: 'out', brand, issuers, notice: 'You have signed out.' })
    else location.assign(elsewhere)
  }
  if (state.session.key_role === 'member') return <OwnAccess brand={brand} session={state.session} onSignOut={leave} />
  return <Frame brand={brand} session={state.session} onSignOut={leave} />
}

const root = document.getElementById('room')
if (root)
  render(
    <>
      <App />
      <Toasts />
      <LiveRegion />
    </>,
    root,
  )
