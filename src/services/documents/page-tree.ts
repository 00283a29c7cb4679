/** The tree of a page, as far as readers of it look. */

class LightMap {
  private readonly place = Symbol('kept')

  get(holder: Record<symbol, unknown>): unknown {
    return holder[this.place]
  }

  has(holder: Record<symbol, unknown>): boolean {
    return holder[this.place] !== undefined
  }

  set(holder: Record<symbol, unknown>, value: unknown): this {
    // Empty maps of listeners are dropped: a page that is only read has none.
    const empty = value instanceof Map && value.constructor === Map && value.size === 0
    if (!empty) Object.defineProperty(holder, this.place, { value, writable: true, configurable: true })
    return this
  }

  delete(holder: Record<symbol, unknown>): boolean {
    return Reflect.deleteProperty(holder, this.place)
  }
}

/**
 * The parser of pages keeps facts of each node in weak maps, most of them empty lists of event listeners. The garbage
 * collector walks weak maps entry by entry, again and again: for a large page that takes ten times as long as the rest.
 * Loads a module whose weak maps keep their facts on the objects themselves; such objects must not be frozen.
 */
async function withLightMaps<M>(load: () => Promise<M>): Promise<M> {
  const { WeakMap: usual } = globalThis
  Object.assign(globalThis, { WeakMap: LightMap })
  try {
    return await load()
  } finally {
    Object.assign(globalThis, { WeakMap: usual })
  }
}

const { parseHTML } = await withLightMaps(() => import('linkedom'))

export interface PageNode {
  readonly nodeName: string
  readonly parentNode: PageNode | null
  readonly textContent: string | null
}

export interface PageElement extends PageNode {
  getAttribute(name: string): string | null
  setAttribute(name: string, value: string): void
  removeAttribute(name: string): void
  remove(): void
  querySelector(selector: string): PageElement | null
  querySelectorAll(selector: string): Iterable<PageElement>
}

export interface PageDocument extends PageElement {
  readonly title: string
  readonly body: PageElement
}

/** @param html as `tidied` gives it: the parser keeps to no limits of its own. */
export function parsePage(html: string): PageDocument {
  const { document }: { document: PageDocument } = parseHTML(html)
  return document
}

/** Links that lead somewhere, absolute; no others, and no image that carries its own bytes. */
export function withAbsoluteLinks(page: PageDocument, url: string | undefined): void {
  const base = URL.parse(page.querySelector('base')?.getAttribute('href') ?? '', url)?.href ?? url
  for (const [selector, attribute] of [
    ['a', 'href'],
    ['img', 'src'],
  ] as const) {
    for (const element of page.querySelectorAll(`${selector}[${attribute}]`)) {
      const target = URL.parse(element.getAttribute(attribute) ?? '', base)
      if (target && /^(?:https?|mailto):$/.test(target.protocol)) element.setAttribute(attribute, target.href)
      else element.removeAttribute(attribute)
    }
  }
}

const INVISIBLE = /(?:display\s*:\s*none|visibility\s*:\s*hidden)/i

/** By its own attributes: style sheets are not read. */
export function isVisible(element: PageElement): boolean {
  return (
    element.getAttribute('hidden') === null &&
    element.getAttribute('aria-hidden') !== 'true' &&
    !INVISIBLE.test(element.getAttribute('style') ?? '')
  )
}

const MAYBE_HIDDEN = '[hidden],[aria-hidden],[style]'

/** Removes elements that a browser would not show. */
export function withoutHidden(page: PageDocument): void {
  for (const element of [...page.querySelectorAll(MAYBE_HIDDEN)]) if (!isVisible(element)) element.remove()
}
