/** A tree of HTML as markdown. */
import TurndownService from 'turndown'
import type { PageElement, PageNode } from './page-tree.ts'

/** Tables that serve as layout have these in their cells; a table of data has none. */
const LAYOUT = 'table,ul,ol,pre,blockquote,h1,h2,h3,h4,h5,h6'

const turndown = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-', emDelimiter: '*' })
turndown.addRule('cell', {
  filter: (node) => (node.nodeName === 'TD' || node.nodeName === 'TH') && isData(node),
  replacement: (content) =>
    ` ${content
      .replace(/\s*\n\s*/g, ' ')
      .replaceAll('|', '\\|')
      .trim()} |`,
})
turndown.addRule('row', {
  filter: (node) => node.nodeName === 'TR' && isData(node),
  replacement: (content, node) => `\n|${content}${isFirstRow(node) ? `\n|${' --- |'.repeat(cells(node))}` : ''}`,
})
turndown.addRule('rows', {
  filter: (node) => /^(?:THEAD|TBODY|TFOOT)$/.test(node.nodeName) && isData(node),
  replacement: (content) => content,
})
turndown.addRule('image', {
  filter: 'img',
  replacement: (_content, node: PageElement) => {
    const words = (node.getAttribute('alt') ?? '').replace(/\s+/g, ' ').trim()
    const source = node.getAttribute('src')
    return words === '' ? '' : source ? `![${words}](${source})` : words
  },
})
turndown.addRule('link', {
  filter: 'a',
  replacement: (content, node: PageElement) => {
    const words = content.trim()
    const target = node.getAttribute('href')
    return words === '' || !target
      ? content
      : `[${words.replace(/\s*\n\s*/g, ' ')}](${target.replaceAll('(', '%28').replaceAll(')', '%29')})`
  },
})

/** A page too deep or odd for the converter is given as its bare text. */
export function toMarkdown(root: PageElement): string {
  kinds = new WeakMap()
  try {
    return turndown.turndown(root as unknown as string).replace(/\n{3,}/g, '\n\n')
  } catch {
    return (root.textContent ?? '').trim()
  }
}

let kinds = new WeakMap<PageNode, boolean>()

function isData(node: PageNode): boolean {
  let table: PageNode | null = node
  while (table && table.nodeName !== 'TABLE') table = table.parentNode
  if (!table) return false
  const known = kinds.get(table)
  if (known !== undefined) return known
  const data = (table as PageElement).querySelector(LAYOUT) === null
  kinds.set(table, data)
  return data
}

function isFirstRow(row: PageElement): boolean {
  let table: PageNode | null = row
  while (table && table.nodeName !== 'TABLE') table = table.parentNode
  return table !== null && (table as PageElement).querySelector('tr') === row
}

function cells(row: PageElement): number {
  return [...row.querySelectorAll('td,th')].length
}
