/**
 * The errors of validators: FastAPI answers 422 with `detail`, a text or a list of `{type, loc, msg}` (FastAPI's reference, "Request
 * validation exceptions"; `HTTPValidationError` and `ValidationError` of Mistral's TypeScript SDK, 1.10).
 */
import { type Json, objectsOf, stringOf } from '../../core/json.ts'

export interface ErrorDetail {
  readonly sentence: string | undefined
  /** Path of the field that the first error names. */
  readonly field: string | undefined
}

/** Errors of a list that are shown. */
const MOST = 5
/** Where the value was: it is no part of the path. */
const PLACES: ReadonlySet<Json> = new Set(['body', 'query', 'path', 'header'])

/** `["body", "messages", 0, "role"]` as `messages[0].role`; '' where it is no such list. */
function pathOf(loc: Json | undefined): string {
  if (!Array.isArray(loc)) return ''
  let path = ''
  for (const [index, step] of loc.entries()) {
    if (typeof step === 'number') path += `[${step}]`
    else if (typeof step === 'string' && !(index === 0 && PLACES.has(step))) path += path === '' ? step : `.${step}`
  }
  return path
}

/** @param detail whatever stands in the member `detail`. The values that were refused are left out. */
export function errorDetail(detail: Json | undefined): ErrorDetail {
  if (typeof detail === 'string') return { sentence: detail, field: undefined }
  const errors = objectsOf(detail).slice(0, MOST)
  const texts = errors.flatMap(({ loc, msg }) => {
    const path = pathOf(loc)
    const text = stringOf(msg)
    return text === undefined ? [] : [path === '' ? text : `${path}: ${text}`]
  })
  const field = pathOf(errors[0]?.loc)
  return { sentence: texts.length === 0 ? undefined : texts.join('; '), field: field === '' ? undefined : field }
}
