/** A page: the article in it where there is one, else all that can be seen. */
import { Readability } from '@mozilla/readability'
import { markdownOf } from './markdown.ts'
import { isVisible, type PageElement, pageOf, withAbsoluteLinks, withoutHidden } from './page-tree.ts'
import { cut, decoded, titleOf } from './texts.ts'
import { tidied } from './tidy.ts'
import type { ReadJob, ReadResult } from './types.ts'

/** Below so many characters, an article counts as a side remark of the page. */
const ARTICLE = 250

export function readHtml({ bytes, source, maxCharacters }: ReadJob): ReadResult {
  return { ...readPage(tidied(decoded(bytes, source.type, true)), source.url, maxCharacters) }
}

/** @param html as `tidied` gives it. */
export function readPage(html: string, url: string | undefined, maxCharacters: number): ReadResult {
  const page = pageOf(html)
  const title = titleOf(page.title)
  withAbsoluteLinks(page, url)
  const article = articleOf(page)
  if (article) return { title: titleOf(article.title) ?? title, ...cut(markdownOf(article.content), maxCharacters) }
  // Looking for an article changes the tree.
  const whole = pageOf(html)
  withAbsoluteLinks(whole, url)
  withoutHidden(whole)
  return { title, ...cut(markdownOf(whole.body), maxCharacters) }
}

class ArticleReader extends Readability<PageElement> {
  /** In place of the reader's own look, which parses the style of every element. */
  _isProbablyVisible(element: PageElement): boolean {
    return isVisible(element)
  }
}

function articleOf(page: unknown): { title: unknown; content: PageElement } | undefined {
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
