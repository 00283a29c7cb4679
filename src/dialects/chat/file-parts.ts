/**
 * Files in the content of messages: `file` of OpenAI (types of openai 7.59.0, `ChatCompletionContentPart.File`), `document_url` and `file` of
 * Mistral (npm @mistralai/mistralai 2.7.0, `DocumentURLChunk`, `FileChunk`).
 */
import { asString, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { fileUrl } from '../canon/file-url.ts'

/** The type of Mistral's part, and the value of the quirk `file_parts`. */
export const DOCUMENT_URL = 'document_url'

/** A part in either form. @returns undefined for any other part. */
export function fileIn(part: JsonObject): { data?: string; fileId?: string; name?: string } | undefined {
  if (part.type === DOCUMENT_URL) return named({ data: asString(part.document_url) }, part.document_name)
  if (part.type !== 'file' || !isObject(part.file)) return undefined
  return named({ data: asString(part.file.file_data), fileId: asString(part.file.file_id) }, part.file.filename)
}

function named({ data, fileId }: { data?: string | undefined; fileId?: string | undefined }, given: Json | undefined) {
  const name = asString(given)
  return { ...(data === undefined ? {} : { data }), ...(fileId === undefined ? {} : { fileId }), ...(name === undefined ? {} : { name }) }
}

/** A file in the form that the provider takes; the same part where it is no file, or has that form. */
export function fitFile(part: JsonObject, takesDocuments: boolean): JsonObject {
  if ((part.type === DOCUMENT_URL) === takesDocuments) return part
  const file = fileIn(part)
  if (file === undefined) return part
  const { data, fileId, name } = file
  if (!takesDocuments)
    return { type: 'file', file: { ...(data === undefined ? {} : { file_data: data }), ...(name === undefined ? {} : { filename: name }) } }
  if (data === undefined) return { type: 'file', file_id: fileId ?? '' }
  return { type: DOCUMENT_URL, document_url: fileUrl(data, name), ...(name === undefined ? {} : { document_name: name }) }
}
