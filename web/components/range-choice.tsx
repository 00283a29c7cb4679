/** The choice of the range of time that a page looks at: one press for the usual ones, and two fields for any other. */
import { type Range, SPANS } from '../range.ts'
import { currentZone } from '../zone.ts'
import { Field } from './field.tsx'

/** @param all true where a page can show all that there is. */
export function RangeChoice({ range: { query, set }, all = false }: { range: Range; all?: boolean }) {
  const spans = [...(all ? [['', 'All'] as const] : []), ...Object.entries(SPANS).map(([word, { label }]) => [word, label] as const)]
  const isOwn = Boolean(query.since || query.until)
  const zone = currentZone() === 'utc' ? 'UTC' : 'local time'
  return (
    <div class="range">
      <fieldset class="segments">
        <legend class="hidden">Time</legend>
        {spans.map(([word, label]) => (
          <button key={word} type="button" aria-pressed={!isOwn && (query.span ?? '') === word} onClick={() => set({ span: word })}>
            {label}
          </button>
        ))}
      </fieldset>
      <details open={isOwn}>
        <summary>From and to</summary>
        <div class="filters">
          {(['since', 'until'] as const).map((name) => (
            <Field
              key={name}
              name={name}
              label={`${name === 'since' ? 'From' : 'To'}, ${zone}`}
              type="datetime-local"
              value={query[name] ?? ''}
              onChange={(value) => set({ since: query.since, until: query.until, [name]: value })}
            />
          ))}
        </div>
      </details>
    </div>
  )
}
