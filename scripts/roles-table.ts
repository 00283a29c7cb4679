/** The table of roles and their operations in docs/keys.md, made from the declarations of the operations. */
import { OPERATIONS } from '../src/api/operations/index.ts'
import { isPermitted, permittedRoles, ROLE_TEXTS, ROLES } from '../src/core/roles.ts'
import { SCOPE_NAMES, SCOPES } from '../src/core/scopes.ts'
import { markdownTable } from './markdown-table.ts'

export function rolesMarkdown(): string {
  return markdownTable(
    ['Role', 'Rights'],
    ROLES.map((role) => [`\`${role}\``, ROLE_TEXTS[role]]),
  )
}

export function scopesMarkdown(): string {
  const operations = (scope: string): string =>
    OPERATIONS.filter((each) => each.scope === scope)
      .map(({ method, path }) => `\`${method.toUpperCase()} ${path}\``)
      .join(', ')
  return markdownTable(
    ['Scope', 'Meaning', 'Operations under `/v1`'],
    SCOPE_NAMES.map((scope) => [`\`${scope}\``, SCOPES[scope], operations(scope)]),
  )
}

/** Operations that callers with a place cannot perform. */
export function gatewayOperationsMarkdown(): string {
  return OPERATIONS.filter(({ reach }) => reach === 'gateway')
    .map(({ method, path }) => `\`${method.toUpperCase()} ${path}\``)
    .join(', ')
}

/** Operations that are open to the same roles share a row. */
export function roleOperationsMarkdown(): string {
  const rows = new Map<string, { readonly cells: string[]; readonly names: string[] }>()
  for (const { method, path, roles } of OPERATIONS) {
    if (roles === 'none') continue
    const cells = ROLES.map((role) => (isPermitted({ role }, roles) ? 'yes' : ''))
    const row = rows.get(permittedRoles(roles).join()) ?? { cells, names: [] }
    row.names.push(`\`${method.toUpperCase()} ${path}\``)
    rows.set(permittedRoles(roles).join(), row)
  }
  return markdownTable(
    ['Operations under `/v1`', ...ROLES.map((role) => `\`${role}\``)],
    [...rows.values()].map(({ cells, names }) => [names.join(', '), ...cells]),
  )
}
