/** Unions of some clients fall back silently to `isUnknown`. @returns the paths at which the client did not know what it read. */
export function unknowns(value: unknown, path = '$'): string[] {
  if (typeof value !== 'object' || value === null) return []
  if ((value as { isUnknown?: boolean }).isUnknown === true) return [`${path}: ${JSON.stringify((value as { raw?: unknown }).raw)}`]
  return Object.entries(value).flatMap(([key, inner]) => unknowns(inner, `${path}.${key}`))
}
