/** Forms of `error.code` in OpenAI's formats: the HTTP status, as documented (docs/contract.md#errors), or a word as in OpenAI's API. */
/** `auto`: a word for clients that are known to need one, the status for all others. */
export const ERROR_CODES = ['status', 'name', 'auto'] as const
export type ErrorCodes = (typeof ERROR_CODES)[number]
export type CodeForm = Exclude<ErrorCodes, 'auto'>

/**
 * Words by code of the fault, then by its `error_type`; every other error has its `error_type`. Those of OpenAI's guide "Error codes" and of
 * its recorded replies, so that programs that look for one find it.
 */
const BY_FAULT: ReadonlyMap<string, string> = new Map([
  ['model_not_found', 'model_not_found'],
  ['no_endpoints', 'model_not_found'],
  ['upstream_missing', 'model_not_found'],
])
const BY_TYPE: ReadonlyMap<string, string> = new Map([
  ['authentication', 'invalid_api_key'],
  ['payment_required', 'insufficient_quota'],
  ['provider_overloaded', 'server_is_overloaded'],
  ['provider_unavailable', 'server_error'],
  ['server', 'server_error'],
  ['unmapped', 'server_error'],
])

/** Properties of a fault that decide its `error.code`. */
interface Coded {
  readonly code: string
  readonly type: string
  readonly status: number
}

export function codeIn(form: CodeForm | undefined, { code, type, status }: Coded): string | number {
  return form === 'name' ? (BY_FAULT.get(code) ?? BY_TYPE.get(type) ?? type) : status
}
