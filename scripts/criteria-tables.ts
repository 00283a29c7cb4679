/** The tables of docs/routing.md that are made from the list of routing criteria. */
import { CRITERIA, CRITERION_FIELDS, type Field } from '../src/routing/criteria/index.ts'

const quoted = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(', ')

function fieldValues(field: Field): string {
  switch (field.kind) {
    case 'flag':
      return 'true, false'
    case 'choice':
      return quoted(field.values)
    case 'choices':
      return `list of ${quoted(field.values)}`
    case 'endpoints':
      return 'list of [endpoints](#name-endpoints)'
    case 'prices':
      return `\`{ ${Object.keys({ ...field.perMillion, ...field.perUnit }).join(', ')} }\`, numbers or strings`
  }
}

/** Which value applies where several sources set the field. */
function joinRule(field: Field): string {
  if ('all' in field && field.all) return 'all lists apply'
  return 'strict' in field && field.strict !== undefined ? `\`${field.strict}\` wins` : 'highest precedence wins'
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Fields of the `provider` object that belong to a criterion. */
export function criterionFieldsMarkdown(): string {
  const rows = Object.entries<Field>(CRITERION_FIELDS).map(([name, field]) => [
    `\`${name}\``,
    fieldValues(field),
    field.text,
    joinRule(field),
  ])
  return table(['Field', 'Value', 'Effect', '[Precedence](#precedence)'], rows)
}

/** The filters in their order. */
export function criteriaMarkdown(): string {
  return table(
    ['Filter', 'Removes an endpoint'],
    CRITERIA.map(({ name, removes }) => [`\`${name}\``, removes]),
  )
}
