/** Plain text of any kind: as it is. */
import { decoded } from './charset.ts'
import { cut } from './cut.ts'
import { mediaTypeOf } from './kind.ts'
import type { ReadJob, ReadResult } from './types.ts'

export function readText({ bytes, source, maxCharacters }: ReadJob): ReadResult {
  const named = /xml$/.test(mediaTypeOf(source))
  return cut(decoded(bytes, source.type, named), maxCharacters)
}
