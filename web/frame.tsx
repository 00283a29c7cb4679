/** Frame of every page: the bar, the navigation, the page of the address. */
import { useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks'
import type { Session } from './api.ts'
import { EmptyNote, ErrorNote, Loading } from './components/notes.tsx'
import type { Page } from './page.ts'
import { keepRange, lastRange } from './range.ts'
import { opens, RightsProvider } from './rights.ts'
import { followLinks, pathTo, useAddress } from './router.ts'
import { ROUTES, type Route } from './routes.ts'
import { currentTheme, setTheme, type Theme } from './theme.ts'
import { currentZone, setZone, type Zone } from './zone.ts'

export interface FrameProps {
  readonly brand: string
  readonly session: Session
  readonly onSignOut: () => void
}

export function Frame({ brand, session, onSignOut }: FrameProps) {
  const { parts, query } = useAddress()
  keepRange(query)
  const routes = ROUTES.filter(({ reads }) => opens(session, reads))
  const first = routes[0]?.name ?? ''
  const [name = first, ...rest] = parts
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [zone, setShownZone] = useState<Zone>(currentZone)
  const route = routes.find((each) => each.name === name)
  const main = useRef<HTMLElement>(null)
  const shown = useRef(name)
  useEffect(() => {
    document.title = `${route?.title ?? 'Not found'} · ${brand} control room`
    setMenuOpen(false)
    // A screen reader goes on at the new page, as it does with a document.
    if (shown.current !== name) main.current?.focus()
    shown.current = name
  }, [name])
  useEffect(() => {
    document.addEventListener('click', followLinks)
    return () => document.removeEventListener('click', followLinks)
  }, [])
  return (
    <div class={isMenuOpen ? 'frame menu-open' : 'frame'}>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="bar">
        <button
          type="button"
          class="icon-button menu-button"
          aria-expanded={isMenuOpen}
          aria-controls="pages"
          aria-label="Pages"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          <Icon path="M3 5.5h14M3 10h14M3 14.5h14" />
        </button>
        <a class="home" href={pathTo([first])}>
          <span class="mark" aria-hidden="true" />
          {brand} <span class="quiet">control room</span>
        </a>
        <span class="who" title={`Signed in with ${session.name}`}>
          {session.name} <span class="quiet">{session.key_role}</span>
        </span>
        <ZoneSwitch zone={zone} onChange={setShownZone} />
        <ThemeSwitch />
        <button type="button" class="button small" onClick={onSignOut}>
          Sign out
        </button>
      </header>
      <nav id="pages" class="pages" aria-label="Pages">
        <ul>
          {routes.map(({ name: each, title, icon }) => (
            <li key={each}>
              <a href={pathTo([each], RANGED.has(each) ? lastRange() : {})} aria-current={each === name ? 'page' : undefined}>
                <Icon path={icon} />
                {title}
              </a>
            </li>
          ))}
        </ul>
        <p class="version">Version {session.version}</p>
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <RightsProvider value={session}>
          {route ? (
            <Shown key={`${route.name} ${zone}`} route={route} session={session} rest={rest} />
          ) : (
            <NotFound first={routes[0]} isClosed={ROUTES.some((each) => each.name === name)} role={session.key_role} />
          )}
        </RightsProvider>
      </main>
    </div>
  )
}

export function Icon({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path d={path} />
    </svg>
  )
}

/** Pages that look at a range of time: it goes along to the next one. */
const RANGED = new Set(['usage', 'requests', 'events', 'changes'])

/** A page is shown anew in the other zone: "today" is another day there. */
function ZoneSwitch({ zone, onChange }: { zone: Zone; onChange: (zone: Zone) => void }) {
  const other = zone === 'utc' ? 'local' : 'utc'
  const text = zone === 'utc' ? 'UTC' : 'Local'
  const change = (): void => {
    setZone(other)
    onChange(other)
  }
  return (
    <button
      type="button"
      class="button small"
      aria-label={`${text} times, show them in ${other === 'utc' ? 'UTC' : 'local time'}`}
      onClick={change}
    >
      {text}
    </button>
  )
}

function ThemeSwitch() {
  const [theme, set] = useState<Theme>(currentTheme)
  const other = theme === 'dark' ? 'light' : 'dark'
  const change = (): void => {
    setTheme(other)
    set(other)
  }
  return (
    <button type="button" class="icon-button" aria-label={`Use ${other} colours`} onClick={change}>
      <Icon
        path={
          theme === 'dark'
            ? 'M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2M4 4l1.4 1.4M14.6 14.6 16 16M4 16l1.4-1.4M14.6 5.4 16 4'
            : 'M16.5 12.2A7 7 0 0 1 7.8 3.5a7 7 0 1 0 8.7 8.7'
        }
      />
    </button>
  )
}

interface ShownProps {
  readonly route: Route
  readonly session: Session
  readonly rest: readonly string[]
}

/** Loads a page's code when it is first shown. An error in a page leaves the frame usable. */
function Shown({ route, session, rest }: ShownProps) {
  const [page, setPage] = useState<{ Page: Page }>()
  const [failure, setFailure] = useState<Error>()
  const [thrown, reset] = useErrorBoundary()
  const load = (): void => {
    setFailure(undefined)
    route.load().then(({ default: Page }) => setPage({ Page }), setFailure)
  }
  useEffect(load, [])
  if (thrown) return <ErrorNote error={thrown as Error} onRetry={reset} />
  // A new version has other file names.
  if (failure)
    return (
      <ErrorNote error={new Error('The page cannot be loaded. Is there a new version? Load it again.')} onRetry={() => location.reload()} />
    )
  if (!page) return <Loading />
  return <page.Page session={session} rest={rest} />
}

interface NotFoundProps {
  readonly first: Route | undefined
  readonly isClosed: boolean
  readonly role: Session['key_role']
}

/** @param isClosed true for a page that the role may not read. */
function NotFound({ first, isClosed, role }: NotFoundProps) {
  return (
    <EmptyNote title={isClosed ? `This page is not open to the role ${role}` : 'There is no such page'}>
      {first && <a href={pathTo([first.name])}>{first.name === 'now' ? 'Show what happens now' : `Show ${first.title}`}</a>}
    </EmptyNote>
  )
}
