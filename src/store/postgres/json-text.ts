/** JSON texts in columns, as PostgreSQL can take them apart. */

/**
 * The JSON of a text column. PostgreSQL takes no JSON apart that holds an escaped NUL or a lone surrogate (PostgreSQL 15,
 * 8.14 "JSON Types"), and one such row would fail the statement for all others: rows of earlier programs may
 * hold them. Our JSON escapes no other surrogates, and the text stays JSON where an escaped backslash comes before.
 * @param column an expression of SQL.
 */
export function columnJson(column: string): string {
  const backslash = 'chr(92)'
  const escapes = `repeat(${backslash}, 2) || 'u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})'`
  const replaced = `regexp_replace(${column}, ${escapes}, repeat(${backslash}, 2) || 'ufffd', 'g')`
  return `(case when strpos(${column}, ${backslash} || 'u') > 0 then ${replaced} else ${column} end)::json`
}

/** A fact of the settlement as text, or another expression where none is recorded. */
export function factColumn(name: string, otherwise: string): string {
  return `coalesce(nullif(case when facts like '{%' then ${columnJson('facts')} ->> '${name}' end, ''), ${otherwise})`
}

/** Whole nano-dollars that the cache has saved. */
export const SAVED = `case when facts like '{%' and json_typeof(${columnJson('facts')} -> 'cache_discount') = 'number'
  then round((${columnJson('facts')} ->> 'cache_discount')::numeric * 1000000000) else 0 end`
