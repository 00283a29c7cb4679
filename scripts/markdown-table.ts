/** Generated parts of Markdown documents: padded tables, and the sections that they go into. */
import { entryAt } from '../src/core/entry-at.ts'

export type Cells = readonly string[]

/** A Markdown table with its columns padded. */
export function markdownTable(head: Cells, rows: readonly Cells[]): string {
  const widths = head.map((cell, column) => Math.max(cell.length, ...rows.map((row) => entryAt(row, column).length)))
  const line = (cells: Cells): string => `| ${cells.map((cell, column) => cell.padEnd(entryAt(widths, column))).join(' | ')} |`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** The text with each section between its markers written anew. @throws Error where a marker is missing. */
export function withSections(document: string, sections: Readonly<Record<string, string>>): string {
  let text = document
  for (const [name, content] of Object.entries(sections)) {
    const start = `<!-- generated: ${name} -->`
    const from = text.indexOf(start)
    const to = text.indexOf('<!-- /generated -->', from)
    if (from < 0 || to < 0) throw new Error(`the document has no section ${start} … <!-- /generated -->`)
    text = `${text.slice(0, from + start.length)}\n\n${content}\n\n${text.slice(to)}`
  }
  return text
}
