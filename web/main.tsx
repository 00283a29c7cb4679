/** Starts the control room: signs in where there is no session, then shows the frame with the page of the address. */
import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { onSignedOut, readSession, type Session, signIn, signOut } from './api.ts'
import { forgetKey } from './components/caller-key.tsx'
import { LiveRegion, Toasts } from './components/toast.tsx'
import { Frame } from './frame.tsx'
import { SignIn } from './sign-in.tsx'
import { applyTheme } from './theme.ts'

applyTheme()

type State = { kind: 'loading' } | { kind: 'out'; brand: string; notice?: string } | { kind: 'in'; brand: string; session: Session }

/** @returns the session of the link by which the page was opened, or the one that there is. */
async function begin(): Promise<State> {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? []
  // Neither the history nor a copied address keeps it.
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search)
  const refused =
    code === undefined
      ? undefined
      : await signIn({ code }).then(
          () => undefined,
          (error: Error) => error.message,
        )
  const { brand, data } = await readSession()
  if (data) return { kind: 'in', brand, session: data }
  return refused === undefined ? { kind: 'out', brand } : { kind: 'out', brand, notice: refused }
}

function App() {
  const [state, setState] = useState<State>({ kind: 'loading' })
  const brand = state.kind === 'loading' ? '' : state.brand
  useEffect(() => {
    begin().then(setState, (error: Error) => setState({ kind: 'out', brand: 'Gateway', notice: error.message }))
  }, [])
  useEffect(() => onSignedOut(() => setState({ kind: 'out', brand, notice: 'The session has ended. Sign in again.' })), [brand])
  useEffect(() => {
    if (state.kind === 'out') forgetKey()
  }, [state.kind])
  if (state.kind === 'loading') return <p class="boot">Loading…</p>
  if (state.kind === 'out')
    return <SignIn brand={state.brand} notice={state.notice} onSession={(session) => setState({ ...state, kind: 'in', session })} />
  const leave = async (): Promise<void> => {
    await signOut()
    setState({ kind: 'out', brand, notice: 'You have signed out.' })
  }
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
