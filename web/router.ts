/** The address: which page is shown, and the state of the page in the query. */
import { useEffect, useState } from 'preact/hooks'

export const ROOT = '/control-room/'

export interface Address {
  /** Parts of the path below /control-room/, decoded: the first is the page. */
  readonly parts: readonly string[]
  readonly query: URLSearchParams
}

const listeners = new Set<() => void>()

function current(): Address {
  const parts = location.pathname.slice(ROOT.length).split('/')
  return { parts: parts.filter((part) => part !== '').map(decoded), query: new URLSearchParams(location.search) }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Address of a page: `pathTo(['requests', id], { model: 'sim/echo' })`. */
export function pathTo(parts: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '')
  const text = new URLSearchParams(given).toString()
  return `${ROOT}${parts.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** @param replace the address takes the place of the last one in the browser's history. */
export function navigate(path: string, { replace = false } = {}): void {
  if (replace) history.replaceState(null, '', path)
  else history.pushState(null, '', path)
  for (const listener of [...listeners]) listener()
}

export function useAddress(): Address {
  const [address, setAddress] = useState(current)
  useEffect(() => {
    const changed = (): void => setAddress(current())
    listeners.add(changed)
    addEventListener('popstate', changed)
    return () => {
      listeners.delete(changed)
      removeEventListener('popstate', changed)
    }
  }, [])
  return address
}

/** The query of the address as an object, and what changes some of it; `undefined` or '' removes a name. */
export function useQuery(): [
  query: Readonly<Record<string, string>>,
  set: (changes: Readonly<Record<string, string | undefined>>, replace?: boolean) => void,
] {
  const { parts, query } = useAddress()
  const all = Object.fromEntries(query)
  return [all, (changes, replace = true) => navigate(pathTo(parts, { ...all, ...changes }), { replace })]
}

/** Follows links to pages without loading the document anew. */
export function followLinks(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  const link = (event.target as Element | null)?.closest?.('a')
  if (link?.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
  if (!link.pathname.startsWith(ROOT) || link.pathname.startsWith(`${ROOT}files/`)) return
  // A link within the page, such as the one over the navigation.
  if (link.hash !== '' && link.pathname === location.pathname) return
  event.preventDefault()
  navigate(link.pathname + link.search)
}
