/** /v1/files: a key's own files, shown in the form of the caller's format. */
import { badField, Fault } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { KeyFiles, StoredFile } from '../services/files/types.ts'
import { choiceOf, integerOf } from './query.ts'
import { type ApiReply, ok } from './reply.ts'

/** Files are shown as clients of chat and responses know them, or as those of messages do. */
export type FileForm = 'usual' | 'messages'

const MOST: Readonly<Record<FileForm, number>> = { usual: 10_000, messages: 1000 }
const PAGE: Readonly<Record<FileForm, number>> = { usual: 1000, messages: 20 }

/** @param query with `limit`, `after` (`after_id`), `order`, `purpose`. @throws Fault 400 naming the query parameter. */
export async function listFiles(query: URLSearchParams, files: KeyFiles, form: FileForm): Promise<ApiReply> {
  const limit = integerOf(query, 'limit', 1, MOST[form]) ?? PAGE[form]
  const order = choiceOf(query, 'order', ['asc', 'desc'])
  if (query.get('before_id')) throw badField('before_id', 'pages go forward only, expected after_id')
  const after = query.get('after') || query.get('after_id') || undefined
  const purpose = query.get('purpose') || undefined
  const page = await files.page({ after, limit, newestFirst: order !== 'asc', purpose })
  const entries: JsonObject = {
    data: page.files.map((file) => fileEntry(file, form)),
    has_more: page.more,
    first_id: page.files[0]?.id ?? null,
    last_id: page.files.at(-1)?.id ?? null,
  }
  return ok(form === 'usual' ? { object: 'list', ...entries } : entries)
}

/** @throws Fault 404. */
export async function oneFile(id: string, files: KeyFiles, form: FileForm): Promise<ApiReply> {
  return ok(fileEntry(await fileNamed(id, files), form))
}

/** @throws Fault 404. */
export async function removeFile(id: string, files: KeyFiles, form: FileForm): Promise<ApiReply> {
  if (!(await files.remove(id))) throw noFile()
  return ok(form === 'usual' ? { id, object: 'file', deleted: true } : { id, type: 'file_deleted' })
}

/** @throws Fault 404: a file of another key is no file. */
export async function fileNamed(id: string, files: KeyFiles): Promise<StoredFile> {
  const file = await files.find(id)
  if (!file) throw noFile()
  return file
}

export function noFile(): Fault {
  return new Fault('not_found', { message: 'No such file' })
}

export function fileEntry({ id, name, purpose, type, bytes, created }: StoredFile, form: FileForm): JsonObject {
  if (form === 'usual')
    return {
      id,
      object: 'file',
      bytes,
      created_at: Math.floor(created / 1000),
      filename: name,
      purpose,
      status: 'processed',
      mime_type: type,
    }
  const shown: Record<string, Json> = { id, type: 'file', filename: name, mime_type: type, size_bytes: bytes }
  return { ...shown, created_at: new Date(created).toISOString(), downloadable: true }
}
