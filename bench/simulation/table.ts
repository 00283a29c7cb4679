/** A Markdown table that also reads well on a terminal. */
import { entryAt } from '../../src/core/entry-at.ts'

/** @param rows cells as text; all columns but the first are aligned right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => entryAt(row, at).length)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(entryAt(widths, at)) : cell.padStart(entryAt(widths, at)))).join(' | ')} |`
  const rule = `| ${widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}
