/** /v1/files: a key's own files, shown in the form of the caller's format. */
import { badField, Fault } from '../core/faults.ts'
import type { Json, JsonObject } from '../core/json.ts'
import type { KeyFiles, StoredFile } from '../services/files/types.ts'
import { choice, integer, text } from './parameters.ts'
import { queryInteger } from './query.ts'
import { type ApiReply, type BytesReply, ok } from './reply.ts'

/** Files are shown as clients of chat and responses know them, or as those of messages do. */
export type FileForm = 'usual' | 'messages'

const MOST: Readonly<Record<FileForm, number>> = { usual: 10_000, messages: 1000 }
const PAGE: Readonly<Record<FileForm, number>> = { usual: 1000, messages: 20 }

const limits = integer('limit', 'Entries per page at most.', { least: 1, most: MOST.usual, example: 100 })
const behind = text('after', 'Id of the last entry of the page before.')
const orders = choice('order', 'By time; newest first by default.', ['asc', 'desc'], 'desc')
const ofPurpose = text('purpose', 'Only files with this purpose.', {}, 'user_data')
export const FILES_QUERY = [limits, behind, orders, ofPurpose]

/** @param query with `FILES_QUERY`, or `after_id` in place of `after`. @throws Fault 400 naming the query parameter. */
export async function listFiles(query: URLSearchParams, files: KeyFiles, form: FileForm): Promise<ApiReply> {
  const limit = queryInteger(query, limits.name, 1, MOST[form]) ?? PAGE[form]
  const order = orders.read(query)
  if (query.get('before_id')) throw badField('before_id', 'pages go forward only, expected after_id')
  const after = behind.read(query) || query.get('after_id') || undefined
  const purpose = ofPurpose.read(query)
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
async function fileNamed(id: string, files: KeyFiles): Promise<StoredFile> {
  const file = await files.find(id)
  if (!file) throw noFile()
  return file
}

/** Its bytes. @throws Fault 404. */
export async function fileContent(id: string, files: KeyFiles, headOnly: boolean): Promise<BytesReply> {
  const file = await fileNamed(id, files)
  const bytes = headOnly ? undefined : await files.open(id)
  if (!headOnly && !bytes) throw noFile()
  return {
    status: 200,
    headers: {
      'Content-Type': 'application/octet-stream',
      'Content-Length': file.bytes,
      'Content-Disposition': `attachment; filename*=UTF-8''${encoded(file.name)}`,
      'X-Content-Type-Options': 'nosniff',
    },
    bytes,
  }
}

/** RFC 8187: what `encodeURIComponent` leaves and that form does not take. A lone half of a character has no form at all. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
}

function noFile(): Fault {
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
