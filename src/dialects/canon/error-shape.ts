/** Signs of an error that does not have the form which its wire has for errors. */
import { isObject, type Json, type JsonObject } from '../../core/json.ts'

export const isSet = (value: Json | undefined): boolean => value !== undefined && value !== null && value !== false && value !== ''

/** Codes that services put into good replies, too. */
export const GOOD_CODES: ReadonlySet<unknown> = new Set([0, '0', 200, '200', 'ok', 'OK', 'success', 'Success', 'SUCCESS'])

const isFailing = (status: Json | undefined): boolean => Number(status) >= 400 && Number(status) <= 599

/** MiniMax has `base_resp` in good replies as well, with the status 0 (platform.minimax.io, "Error Codes"). */
export function isBadBase({ base_resp: base }: JsonObject): boolean {
  return isObject(base) && isSet(base.status_code) && !GOOD_CODES.has(base.status_code)
}

/** Members with which services report a failure where they should write `error`. */
export function looksFailed(body: JsonObject): boolean {
  const { code, errors } = body
  if (isSet(code) && !GOOD_CODES.has(code)) return true
  if (isSet(body.detail) || isFailing(body.status) || isFailing(body.status_code) || body.success === false) return true
  return Array.isArray(errors) ? errors.length > 0 : isSet(errors)
}

/**
 * True for an event that is an error, on a wire whose every event states its type, whatever else it claims.
 * @param name of the server-sent event.
 */
export function isErrorEvent(event: JsonObject, name: string | undefined): boolean {
  const { type, error } = event
  if (name === 'error' || type === 'error' || event.object === 'error' || isSet(error)) return true
  return typeof type !== 'string' && name === undefined && (looksFailed(event) || isBadBase(event))
}
