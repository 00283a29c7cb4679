/** The tree of a page, as far as readers of it look. */
import { withLightMaps } from './light-maps.ts'

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
export function pageOf(html: string): PageDocument {
  const { document }: { document: PageDocument } = parseHTML(html)
  return document
}

/** Links that lead somewhere, absolute; no others, and no image that carries its own bytes. */
export function withAbsoluteLinks(page: PageDocument, url: string | undefined): void {
  const base = URL.parse(page.querySelector('base')?.getAttribute('href') ?? '', url)?.href ?? url
  for (const [selector, attribute] of [
    ['a', 'href'],
    ['img', 'src'],
  ]) {
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
