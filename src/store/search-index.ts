/**
 * The expressions that the indexes of generations are made of. A query finds its index only where it repeats them to the letter, so
 * both stand here and never change; a change is a new version of the schema.
 */

/** Facts are written without spaces, so that a look for this text spares most rows the parser. */
const NAMED = '"session_id":"'

/** True where a generation names a session. Facts of earlier programs may be no JSON. */
export const HAS_SESSION = {
  sqlite: `instr(facts, '${NAMED}') > 0 and json_valid(facts)`,
  postgres: `strpos(facts, '${NAMED}') > 0 and facts like '{%'`,
}

/**
 * The session of a generation that names one. PostgreSQL takes no JSON apart that holds an escaped NUL or a lone surrogate (see
 * `postgres/json-text.ts`): these become a replacement character.
 */
export const SESSION_OF = {
  sqlite: `facts ->> '$.session_id'`,
  postgres: `(case when strpos(facts, chr(92) || 'u') > 0 then
    regexp_replace(facts, repeat(chr(92), 2) || 'u(0000|[dD][89a-fA-F][0-9a-fA-F]{2})', repeat(chr(92), 2) || 'ufffd', 'g')
    else facts end)::json ->> 'session_id'`,
}
