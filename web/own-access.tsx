/** The page of a person who has signed in and manages nothing: what the person has at the gateway, and what is missing for more. */
import { call, type Session } from './api.ts'
import { Code } from './components/copy.tsx'
import { ErrorNote, Loading } from './components/notes.tsx'
import { Money, Section, Time } from './components/values.tsx'
import { useResource } from './resource.ts'

/** As `GET /v1/key` shows a caller its own key. */
interface OwnKey {
  readonly data: {
    readonly name: string
    readonly usage: number
    readonly limit: number | null
    readonly limit_remaining: number | null
    readonly limit_reset: string | null
    readonly expires_at: string | null
  }
}

export interface OwnAccessProps {
  readonly brand: string
  readonly session: Session
  readonly onSignOut: () => void
}

export function OwnAccess({ brand, session, onSignOut }: OwnAccessProps) {
  const own = useResource<OwnKey>((signal) => call('/v1/key', { signal }), [])
  return (
    <main class="sign-in" id="main">
      <div class="card">
        <h1>
          <span class="mark" aria-hidden="true" />
          {brand} <span class="quiet">control room</span>
        </h1>
        <p role="status">
          You are signed in as {session.name}. The pages of the control room need a role that manages, and the rule of the configuration
          that is for you gives none. Ask the person who runs the gateway for one.
        </p>
        <Section title="Your use">
          {own.error && <ErrorNote error={own.error} onRetry={own.reload} />}
          {!own.data && !own.error && <Loading />}
          {own.data && <OwnUse {...own.data} />}
        </Section>
        {session.api_url && (
          <Section title="Your access to models">
            <p>Get a token for programs and coding agents on your machine:</p>
            <Code text={`headgate login ${session.api_url}`} label="Command" />
          </Section>
        )}
        <button type="button" class="button" onClick={onSignOut}>
          Sign out
        </button>
      </div>
    </main>
  )
}

function OwnUse({ data }: OwnKey) {
  return (
    <dl class="facts">
      <dt>Caller</dt>
      <dd>{data.name}</dd>
      <dt>Spent</dt>
      <dd>
        <Money usd={data.usage} />
      </dd>
      <dt>Left</dt>
      <dd>{data.limit === null ? 'no limit of your own' : <Money usd={data.limit_remaining} />}</dd>
      <dt>Session until</dt>
      <dd>
        <Time iso={data.expires_at} />
      </dd>
    </dl>
  )
}
