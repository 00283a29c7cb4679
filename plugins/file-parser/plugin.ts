/** Turns PDF, Word and text files of a request into words for models that take no files, here or by a service that reads scans. */
import {
  asFault,
  Fault,
  type Host,
  isObject,
  type JsonObject,
  type Part,
  type Planned,
  type Plugin,
  type Resolved,
  type Tap,
} from '../../src/plugin-api/index.ts'
import { noteParts, returnedNotes, shownNote, withoutNotes } from './annotations.ts'
import { type FileParserConfig, parseConfig } from './config.ts'
import { type FilePart, filesIn, mayBePdf, replaced } from './file-parts.ts'
import { pagesPrice } from './ocr.ts'
import { type ReadFile, type ReadingRoom, readFile } from './read-file.ts'
import { recentNotes } from './recent-notes.ts'

const ID = 'file-parser'
/** Files that are read of one request. */
const MAX_FILES = 20

export const fileParser: Plugin<FileParserConfig> = {
  id: ID,
  timeout: 120_000,
  reserved: ['ocr', 'allow_private'],
  remote: true,
  reads: { input: 'file', when: readsWhen },
  parse: parseConfig,
  impliedBy: { media: true },
  implied: (exchange) => filesIn(exchange.request()).length > 0,
  bound,
  shape,
  tap,
}

function readsWhen({ pdf }: JsonObject): 'always' | 'otherwise' | 'never' {
  const engine = isObject(pdf) ? (pdf.engine ?? undefined) : undefined
  return engine === undefined ? 'otherwise' : engine === 'native' ? 'never' : 'always'
}

/** False where the files go to the model as they are. */
function reads({ endpoints }: Resolved, { enabled, engine }: FileParserConfig): boolean {
  if (!enabled || engine === 'native') return false
  return engine !== undefined || !endpoints.every(({ model }) => model.input.includes('file'))
}

/** Of a model that does not declare what it reads the provider decides: it has the files that are here by its id alone. */
function filesHere(exchange: Resolved, { engine }: FileParserConfig): FilePart[] {
  const files = filesIn(exchange.request())
  if (engine !== undefined || !exchange.endpoints.some(({ model }) => model.anyInput)) return files
  return files.filter(({ url, data, fileId }) => url !== undefined || data !== undefined || fileId === undefined)
}

function bound(exchange: Resolved, config: FileParserConfig): number {
  const { engine, ocr } = config
  if (!ocr || engine === 'text' || !reads(exchange, config)) return 0
  return filesHere(exchange, config).filter(mayBePdf).length * pagesPrice(ocr.maxPages, ocr)
}

async function shape(exchange: Resolved, config: FileParserConfig, host: Host): Promise<void> {
  if (!reads(exchange, config)) return
  const files = filesHere(exchange, config)
  if (files.length === 0) return
  if (files.length > MAX_FILES) throw new Fault('bad_request', { message: `a request may have ${MAX_FILES} files that are to be read` })
  const { ocr } = config
  const room = readingRoom(exchange, config, host)
  const found = await Promise.allSettled(files.map((file, i) => readNamed(file, i, room)))
  const done = found.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  for (const { paid } of done) if (ocr && paid > 0) exchange.charge(pagesPrice(Math.min(paid, ocr.maxPages), ocr), 'pages')
  const fresh = done.filter((file) => file.fresh).map(({ note }) => note)
  const failed = found.find((one) => one.status === 'rejected')
  if (failed) throw withNotes(asFault(failed.reason), fresh.map(shownNote))
  if (fresh.length > 0) exchange.addErrorMetadata({ file_annotations: fresh.map(shownNote) })
  for (const note of fresh) config.notes.add(note)
  const seesImages = exchange.endpoints.every(({ model }) => model.input.includes('image'))
  const parts = new Map<FilePart, Part[]>()
  for (const [i, { note }] of done.entries()) {
    const file = files[i]
    if (file) parts.set(file, noteParts(note, seesImages))
  }
  exchange.edit(ID, (draft) => {
    draft.items = draft.items.map((item) => withoutNotes(replaced(item, parts)))
  })
  exchange.stages.push({ type: 'plugin', name: ID, ...summarise(done) })
}

function readingRoom(exchange: Resolved, { engine, ocr, policy }: FileParserConfig, { clock, files }: Host): ReadingRoom {
  const notes = recentNotes(files)
  const place = (hash: string): string => [exchange.key.identity, engine ?? '', hash].join('\n')
  return {
    engine,
    ocr,
    policy,
    clock,
    cancel: exchange.cancel,
    memory: (bytes) => exchange.memory(bytes),
    known: returnedNotes(exchange.body),
    recent: {
      get: (hash) => notes.get(place(hash), clock.monotonic()),
      put: (note) => notes.put(place(note.hash), note, clock.monotonic()),
    },
    running: new Map(),
  }
}

function tap({ client }: Planned, { notes, named }: FileParserConfig): Tap | undefined {
  // Only chat documents such annotations: clients of other formats may refuse one that they have not requested.
  return notes.empty || !(named || client.id === 'chat') ? undefined : notes
}

/** @throws Fault that says which file it is about. */
async function readNamed(file: FilePart, i: number, room: ReadingRoom): Promise<ReadFile> {
  try {
    return await readFile(file, room)
  } catch (thrown) {
    const fault = asFault(thrown)
    if (fault.origin !== 'client' || fault.code === 'client_gone') throw fault
    throw new Fault(fault.code, { message: `file ${i + 1} of the request: ${fault.message}`, metadata: fault.metadata, cause: fault.cause })
  }
}

/** Text that has been read is paid for: with it the caller need not have it read again. */
function withNotes(fault: Fault, notes: readonly JsonObject[]): Fault {
  if (notes.length > 0) fault.metadata = { ...fault.metadata, file_annotations: [...notes] }
  return fault
}

function summarise(files: readonly ReadFile[]): { summary: string; data: JsonObject } {
  const count = (by: ReadFile['by']): number => files.filter((file) => file.by === by).length
  const [service, here, reused] = [count('scan'), count('text'), count(undefined)]
  const pages = files.reduce((sum, { paid }) => sum + paid, 0)
  return {
    summary: `Read ${files.length} files: ${service} by the service for scans, ${here} here, ${reused} were known already`,
    data: {
      ...(service > 0 ? { engine: 'mistral-ocr' } : here > 0 ? { engine: 'pdf-text' } : {}),
      files: files.length,
      reused,
      ...(pages > 0 ? { pages } : {}),
    },
  }
}
