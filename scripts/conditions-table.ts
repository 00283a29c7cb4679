/** The tables of docs/conditions.md, made from the variables and functions that conditions have. */
import { FUNCTIONS } from '../src/config/conditions/cost.ts'
import { type Field, isGroup, VARIABLE_LIST } from '../src/config/conditions/variables.ts'
import { markdownTable } from './markdown-table.ts'

export function variablesMarkdown(): string {
  const rows = VARIABLE_LIST.flatMap(([name, variable]) => {
    if (!isGroup(variable)) return [variableRow(`\`${name}\``, variable)]
    const fields = Object.entries(variable.fields).map(([field, each]) => variableRow(`\`${name}.${field}\``, each))
    return [[`\`${name}\``, '', '', variable.text], ...fields]
  })
  return markdownTable(['Variable', 'Type', 'Characters', 'Meaning'], rows)
}

function variableRow(name: string, { type, text, characters }: Field): string[] {
  const shown = type === 'google.protobuf.Timestamp' ? 'timestamp' : type
  return [name, `\`${shown}\``, characters === undefined ? '' : characters.toLocaleString('en'), text]
}

export function functionsMarkdown(): string {
  return `${FUNCTIONS.map((name) => `\`${name}\``).join(', ')}, and the operators of CEL.`
}
