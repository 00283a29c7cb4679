/** The table of events in docs/events.md, made from their declarations. */
import { eventTypes } from '../src/core/event-types.ts'
import { markdownTable } from './markdown-table.ts'

export function eventsMarkdown(): string {
  const rows = eventTypes().map(({ type, text, subject, fields }) => [
    `\`${type}\``,
    text,
    subject,
    Object.entries(fields)
      .map(([name, meaning]) => `\`${name}\`: ${meaning}`)
      .join('<br>'),
  ])
  return markdownTable(['Type', 'When', '`subject`', '`data`'], rows)
}
