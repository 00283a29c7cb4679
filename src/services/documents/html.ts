/** A page: the article in it where there is one, else all that can be seen. */
import { Readability } from '@mozilla/readability'
import { toMarkdown } from './markdown.ts'
import { isVisible, type PageElement, parsePage, withAbsoluteLinks, withoutHidden } from './page-tree.ts'
import { cleanTitle, cut, decoded } from './texts.ts'
import { tidyHtml } from './tidy.ts'
import type { ReadJob, ReadResult } from './types.ts'

/** Below so many characters, an article counts as a side remark of the page. */
const ARTICLE = 250

export function readHtml({ bytes, source, maxCharacters }: ReadJob): ReadResult {
  return { ...readPage(tidyHtml(decoded(bytes, source.type, true)), source.url, maxCharacters) }
}

/** @param html as `tidied` gives it. */
export function readPage(html: string, url: string | undefined, maxCharacters: number): ReadResult {
  const page = parsePage(html)
  const title = cleanTitle(page.title)
  withAbsoluteLinks(page, url)
  const article = pageArticle(page)
  if (article) return { title: cleanTitle(article.title) ?? title, ...cut(toMarkdown(article.content), maxCharacters) }
  // Looking for an article changes the tree.
  const whole = parsePage(html)
  withAbsoluteLinks(whole, url)
  withoutHidden(whole)
  return { title, ...cut(toMarkdown(whole.body), maxCharacters) }
}

class ArticleReader extends Readability<PageElement> {
  /** In place of the reader's own look, which parses the style of every element. */
  _isProbablyVisible(element: PageElement): boolean {
    return isVisible(element)
  }
}

function pageArticle(page: unknown): { title: unknown; content: PageElement } | undefined {
  try {
    const found = new ArticleReader(page as ConstructorParameters<typeof Readability>[0], {
      serializer: (node) => node as unknown as PageElement,
      disableJSONLD: true,
      keepClasses: true,
    }).parse()
    return found?.content && (found.length ?? 0) >= ARTICLE ? { title: found.title, content: found.content } : undefined
  } catch {
    return undefined
  }
}
