/** Files that the caller has uploaded: what a part names by its id goes on as the bytes, since no provider knows the id. */

import { badField, Fault } from '../../core/faults.ts'
import { isObject, type Json } from '../../core/json.ts'
import { fileUrl } from '../../dialects/canon/file-url.ts'
import type { Item, Part } from '../../dialects/canon/request.ts'
import type { FileStore, StoredFile } from '../../services/files/types.ts'
import type { Accepted } from '../exchange.ts'

type Media = Extract<Part, { kind: 'media' }>

/**
 * @param exchange whose body may hold media.
 * @param most bytes of all files of one request together: they are held in memory, as a body is.
 * @returns a promise only where the request names such files. @throws Fault 400 naming the field, 413, 503.
 */
export function fillInFiles(exchange: Accepted, files: FileStore, most: number): Promise<void> | undefined {
  if (exchange.request.client.embedding) return undefined
  const ids = namedFiles(exchange.request.canonical().items, files)
  if (ids.size === 0) return undefined
  return fileUrls(ids, exchange, files, most).then((found) =>
    exchange.request.edit('files', (draft) => {
      draft.items = draft.items.map((item) => withBytes(item, found))
    }),
  )
}

/** Ids with how often each is named: a file goes on as many times. */
function namedFiles(items: readonly Item[], files: FileStore): Map<string, number> {
  const ids = new Map<string, number>()
  for (const item of items) {
    if (item.kind !== 'message' && item.kind !== 'result') continue
    for (const part of item.parts)
      if (isMedia(part) && part.fileId !== undefined && files.owns(part.fileId)) ids.set(part.fileId, (ids.get(part.fileId) ?? 0) + 1)
  }
  return ids
}

/** Memory per byte of a file: the bytes themselves, their base64 in the request, and that again in the body for the provider. */
const FILE_WEIGHT = 4

interface Found {
  file: StoredFile
  url: string
}

/** @throws Fault 400 naming the field of a file that the key has not, 413, 503. */
async function fileUrls(ids: ReadonlyMap<string, number>, exchange: Accepted, files: FileStore, most: number): Promise<Map<string, Found>> {
  const { identity, issuer } = exchange.auth.key
  const own = files.of(identity, issuer?.identity)
  const found = new Map<string, Found>()
  let size = 0
  for (const [id, times] of ids) {
    const file = await own.find(id)
    size += (file?.bytes ?? 0) * times
    if (size > most) throw tooMuch(fieldNaming(exchange.request.body, 'file_id', id), most)
    if (file) await exchange.head.connection.reserve?.(file.bytes * FILE_WEIGHT)
    const bytes = file && (await own.read(id))
    if (!file || !bytes)
      throw badField(
        fieldNaming(exchange.request.body, 'file_id', id),
        'no such file; expected the id of a file that was uploaded with this key',
      )
    found.set(id, { file, url: dataUrl(file, bytes) })
  }
  return found
}

function tooMuch(field: string, most: number): Fault {
  return new Fault('too_large', { message: `${field}: the files of one request may have ${most} bytes together`, metadata: { field } })
}

function withBytes(item: Item, found: ReadonlyMap<string, Found>): Item {
  if (item.kind !== 'message' && item.kind !== 'result') return item
  if (!item.parts.some((part) => isMedia(part) && found.has(part.fileId ?? ''))) return item
  const parts = item.parts.map((part): Part => {
    const stored = isMedia(part) ? found.get(part.fileId ?? '') : undefined
    if (!stored || !isMedia(part)) return part
    const { fileId: _, ...rest } = part
    return { ...rest, url: stored.url, ...(part.media === 'file' ? { name: part.name ?? stored.file.name } : {}) }
  })
  return { ...item, parts }
}

function isMedia(part: Part): part is Media {
  return part.kind === 'media'
}

const UNKNOWN = 'application/octet-stream'
const BEGINNINGS: readonly [type: string, latin1: RegExp][] = [
  ['image/png', /^\x89PNG/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8/],
  ['image/webp', /^RIFF[\s\S]{4}WEBP/],
]

/** Uploads often come without a type: the first bytes show it then, or the name. */
export function dataUrl({ type, name }: Pick<StoredFile, 'type' | 'name'>, bytes: Buffer): string {
  const start = bytes.toString('latin1', 0, 16)
  const known = type !== UNKNOWN ? type : BEGINNINGS.find(([, beginning]) => beginning.test(start))?.[0]
  const base64 = bytes.toString('base64')
  return known === undefined ? fileUrl(base64, name) : `data:${known};base64,${base64}`
}

/** @returns the path of the first member with this text, such as `messages[0].content[1].image_url.url`; undefined where there is none. */
export function fieldHolding(body: Json, text: string): string | undefined {
  return pathIn(body, '', (_, value) => value === text)
}

/** @returns the path of the first member `name` with this value, such as `messages[0].content[1].file.file_id`; the name where there is none. */
export function fieldNaming(body: Json, name: string, value: Json): string {
  return pathIn(body, '', (key, one) => key === name && one === value) ?? name
}

function pathIn(node: Json | undefined, at: string, wanted: (key: string, value: Json | undefined) => boolean): string | undefined {
  const entries: [string, string, Json | undefined][] = Array.isArray(node)
    ? node.map((one, i) => [String(i), `${at}[${i}]`, one])
    : isObject(node)
      ? Object.entries(node).map(([key, one]) => [key, at === '' ? key : `${at}.${key}`, one])
      : []
  for (const [key, path, one] of entries) {
    if (wanted(key, one)) return path
    const below = typeof one === 'object' && one !== null ? pathIn(one, path, wanted) : undefined
    if (below !== undefined) return below
  }
  return undefined
}
