/**
 * `${NAME}`, `${NAME:-default}` and `${NAME?}` in the strings of a file, and references to secrets that stand elsewhere, such as
 * `${file:/run/secrets/openai}`; `$${` stands for `${`.
 */

/** Variables by name, and secrets that were read by their references. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Places of secrets outside the environment; `src/services/secrets` reads them. */
export const SECRET_SCHEMES = [
  'file',
  'command',
  'vault',
  'aws-secretsmanager',
  'aws-parameterstore',
  'google-secretmanager',
  'aws-kms',
  'google-kms',
  'azure-keyvault-key',
] as const

/** The value of a variable or a secret that is there and must not be used: no value of an environment holds a NUL. */
export const WITHHELD = '\0'
/** In place of the environment: every string stays as it is written. */
export const AS_WRITTEN: Environment = Object.freeze({})

export interface Expansion {
  text: string
  /** Variables and references whose values are withheld; absent where there are none. */
  withheld?: string[]
  /** Such as `vault:secret/data/app#key`, whether or not they were read; absent where there are none. */
  references?: string[]
  /** True where a variable took part: the text may be a secret. */
  expanded: boolean
  /** Name of a `${NAME?}` that is not set. */
  unset?: string
  /** Why the text cannot be expanded; never holds a value. */
  problem?: string
}

const PART = /\$\$\{|\$\{([^}]*)(\}?)/g
const REFERENCE = new RegExp(`^(?:${SECRET_SCHEMES.join('|')}):[^-]`)
const FORM = /^([A-Za-z_][A-Za-z0-9_]*)(?:(\?)|:-([\s\S]*))?$/

/** An empty variable counts as not set. Values are not expanded again. */
export function expand(source: string, env: Environment): Expansion {
  if (!source.includes('${')) return { text: source, expanded: false }
  const result: Expansion = { text: '', expanded: false }
  result.text = source.replace(PART, (whole, inner: string | undefined, close: string | undefined) => {
    if (whole === '$${') return '${'
    if (close === '}' && inner !== undefined && REFERENCE.test(inner)) {
      result.expanded = true
      result.references = [...(result.references ?? []), inner]
      if (env[inner] === WITHHELD) result.withheld = [...(result.withheld ?? []), whole]
      if (env[inner] === undefined) result.problem ??= `the secret ${inner} is not available here, expected a variable`
      return env[inner] ?? ''
    }
    const [, name, optional, fallback] = (close === '}' && FORM.exec((inner ?? '').replace(/^env:(?=[A-Za-z_])/, ''))) || []
    if (name === undefined) {
      result.problem ??= `malformed variable, expected \${NAME}, \${NAME:-default} or \${NAME?}`
      return ''
    }
    result.expanded = true
    const value = env[name]
    if (value === WITHHELD) result.withheld = [...(result.withheld ?? []), `\${${name}}`]
    if (value !== undefined && value !== '') return value
    if (fallback !== undefined) return fallback
    if (optional) result.unset ??= name
    else result.problem ??= `the environment variable ${name} is not set, expected a value or a default as in \${${name}:-default}`
    return ''
  })
  return result
}
