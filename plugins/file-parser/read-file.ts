/** One file to words: by what came back of it, by the service for scans, or by what the file itself holds. */
import {
  type Cancel,
  type Clock,
  type DocumentText,
  documentKind,
  Fault,
  guardedFetch,
  type JsonObject,
  type OutboundPolicy,
  readDocument,
} from '../../src/plugin-api/index.ts'
import type { FileNote } from './annotations.ts'
import type { Engine } from './config.ts'
import { type FileBytes, type FilePart, hashPart, inlineBytes, MAX_BYTES, mayBePdf } from './file-parts.ts'
import { type OcrAccount, readScan } from './ocr.ts'

/** Milliseconds for fetching one file. */
const FETCH_TIMEOUT = 30_000
/** Memory per fetched byte: the bytes, and their base64 for the service that reads scans. */
const WEIGHT = 2.4

/** Inputs of a reading. */
export interface ReadingRoom {
  engine: Engine | undefined
  ocr: OcrAccount | undefined
  policy: OutboundPolicy
  clock: Clock
  cancel: Cancel
  /** See `Resolved.memory`. */
  memory: (bytes: number) => Promise<void> | undefined
  /** Annotations of earlier answers, by hash. */
  known: ReadonlyMap<string, FileNote>
  /** Texts that were read of late. */
  recent: { get(hash: string): FileNote | undefined; put(note: FileNote): void }
  /** Readings of this request that run, by hash. */
  running: Map<string, Promise<ReadFile>>
}

export interface ReadFile {
  note: FileNote
  /** Undefined where it did not have to be read. */
  by: Exclude<Engine, 'native'> | undefined
  /** Pages that the service has read. */
  paid: number
  /** True where the caller has not received it yet. */
  fresh: boolean
}

/** @throws Fault */
export async function readFile(part: FilePart, room: ReadingRoom): Promise<ReadFile> {
  const inline = inlineBytes(part)
  const hash = await hashPart(part, inline)
  const known = room.known.get(hash)
  if (known) return { note: known, by: undefined, paid: 0, fresh: false }
  const running = room.running.get(hash)
  if (running) return { ...(await running), by: undefined, paid: 0, fresh: false }
  const recent = room.recent.get(hash)
  if (recent) return { note: recent, by: undefined, paid: 0, fresh: true }
  const reading = readAnew(part, inline, hash, room)
  room.running.set(hash, reading)
  return reading
}

async function readAnew(part: FilePart, inline: FileBytes | undefined, hash: string, room: ReadingRoom): Promise<ReadFile> {
  const file = inline ?? (await fetchedBytes(part, room))
  const name = part.name ?? urlFileName(part.url)
  const noted = (content: JsonObject[]): FileNote => ({
    hash,
    name,
    content: [textPart(`<file name=${JSON.stringify(name)}>`), ...content, textPart('</file>')],
  })
  // What nothing was held for is not scanned.
  if (mayBePdf(part) && mayScan(file, room)) return scanned(file, room, noted)
  const note = noted([textPart((await readHere(file, room, true)).text)])
  room.recent.put(note)
  return { note, by: 'text', paid: 0, fresh: true }
}

function mayScan({ bytes, type }: FileBytes, { engine, ocr }: ReadingRoom): boolean {
  return ocr !== undefined && engine !== 'text' && documentKind(bytes, { type }) === 'pdf'
}

/** The text that the file itself holds is used where the service fails and the request does not name it. */
async function scanned(file: FileBytes, room: ReadingRoom, noted: (content: JsonObject[]) => FileNote): Promise<ReadFile> {
  const { ocr, engine } = room
  const here = await readHere(file, room, file.dataUrl !== undefined).catch((thrown: unknown) => {
    if (room.cancel.aborted) throw thrown
    return undefined
  })
  const long = ocr !== undefined && here?.pages !== undefined && here.pages > ocr.maxPages
  if (ocr && !long) {
    try {
      const document = file.dataUrl ?? `data:application/pdf;base64,${file.bytes.toString('base64')}`
      const { text, images, pages } = await readScan(document, ocr, room)
      const shown = images.map((url): JsonObject => ({ type: 'image_url', image_url: { url } }))
      const note = noted([textPart(text), ...shown])
      room.recent.put(note)
      return { note, by: 'scan', paid: pages, fresh: true }
    } catch (cause) {
      if (room.cancel.aborted) throw cause
      if (engine || !here?.text.trim())
        throw new Fault('unavailable', { message: 'Service temporarily unavailable: the service that reads scans did not answer', cause })
    }
  } else if (engine) throw new Fault('too_large', { message: `it has ${here?.pages} pages, at most ${ocr?.maxPages} are read` })
  return { note: noted([textPart(here?.text ?? '')]), by: 'text', paid: 0, fresh: true }
}

/** @param handOver the bytes are not used again. */
function readHere({ bytes, type }: FileBytes, { clock, cancel }: ReadingRoom, handOver: boolean): Promise<DocumentText> {
  return readDocument(bytes, { type }, { clock, signal: cancel.signal, handOver })
}

function textPart(text: string): JsonObject {
  return { type: 'text', text }
}

/** The last part of an address's path. */
function urlFileName(url = ''): string {
  const path = url.startsWith('data:') ? '' : (URL.parse(url)?.pathname ?? '')
  return path.split('/').findLast((one) => one !== '') ?? 'file'
}

/** @throws Fault 400 for an address that may not be fetched, 408, 413, 422. */
async function fetchedBytes({ url = '' }: FilePart, { policy, clock, cancel, memory }: ReadingRoom): Promise<FileBytes> {
  const counted = (bytes: number): Promise<void> | undefined => memory(Math.ceil(bytes * WEIGHT))
  const options = { policy, clock, signal: cancel.signal, maxBytes: MAX_BYTES, timeout: FETCH_TIMEOUT, memory: counted }
  const { status, bytes, type } = await guardedFetch(url, options)
  if (status < 200 || status > 299) throw new Fault('unprocessable', { message: 'The address could not be fetched' })
  return { bytes, type, dataUrl: undefined }
}
