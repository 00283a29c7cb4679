/** Lets the model list, read, write and edit the files of the key that sent the request. */
import {
  asFault,
  badField,
  documentKind,
  Fault,
  type JsonObject,
  type KeyFiles,
  readDocument,
  type SessionTool,
  type StoredFile,
  type ToolHost,
  type ToolOutcome,
  type ToolSession,
} from '../../plugin-api/index.ts'

const OPERATIONS = ['list', 'read', 'write', 'edit'] as const
type Operation = (typeof OPERATIONS)[number]

export const files: SessionTool = {
  name: 'files',
  description:
    'Works with stored files. list: shows them, the newest first. read: gives the text of one. write: stores a text as a new file. edit: stores a changed copy under a new id, and leaves the old file as it is.',
  parameters: {
    type: 'object',
    properties: {
      operation: { type: 'string', enum: [...OPERATIONS] },
      file_id: { type: 'string', description: 'For read and edit: id of the file.' },
      filename: { type: 'string', description: 'For write: name of the new file. For edit: another name, if it is to have one.' },
      content: { type: 'string', description: 'For write: the whole text. For edit: the whole new text, unless old_text is given.' },
      old_text: { type: 'string', description: 'For edit: what is to be replaced; it must stand in the file exactly once.' },
      new_text: { type: 'string', description: 'For edit: what takes its place.' },
    },
    required: ['operation'],
    additionalProperties: false,
  },
  plugin: 'files',

  begin(parameters: JsonObject, at: string): ToolSession {
    const [stray] = Object.keys(parameters)
    if (stray !== undefined) throw badField(`${at}.parameters.${stray}`, 'the tool takes no parameters')
    return { bound: 0, run: runOperation }
  },
}

/** Files that a list shows, and characters of a file that are read. */
const MAX_LISTED = 100
const MAX_CHARACTERS = 100_000
/** Bytes of a file that is read or edited: it is held in memory. */
const MAX_BYTES = 20 * 1024 * 1024
const MAX_NAME_LENGTH = 255
const PURPOSE = 'user_data'
const TYPES: Readonly<Record<string, string>> = { md: 'text/markdown', csv: 'text/csv', html: 'text/html', json: 'application/json' }

interface FileServices {
  files: KeyFiles
  host: ToolHost
  signal: AbortSignal
}

/** Operations of the model on the files of its caller's key, and no other's. */
async function runOperation(args: JsonObject, host: ToolHost, signal: AbortSignal): Promise<ToolOutcome> {
  const { operation } = args
  const name = OPERATIONS.find((one) => one === operation)
  const item: JsonObject = { call_id: host.callId, arguments: JSON.stringify(args) }
  if (name) item.operation = name
  try {
    if (!name) throw refusal(`operation: expected one of: ${OPERATIONS.join(', ')}`)
    const { identity, issuer } = host.key
    const result = await ACTS[name](args, { files: host.files.of(identity, issuer?.identity), host, signal })
    for (const field of ['file_id', 'filename']) if (typeof result[field] === 'string') item[field] = result[field]
    return { output: JSON.stringify({ result }), item: { ...item, result: JSON.stringify(result) }, status: 'completed' }
  } catch (thrown) {
    const fault = asFault(thrown)
    const mine = fault.origin === 'client'
    const error = mine ? fault.message : 'the files cannot be reached'
    if (typeof args.file_id === 'string') item.file_id = args.file_id
    return {
      output: JSON.stringify({ error }),
      item: { ...item, status: 'incomplete', error },
      status: 'failed',
      ...(mine ? {} : { cause: thrown }),
    }
  }
}

const ACTS: Readonly<Record<Operation, (args: JsonObject, services: FileServices) => Promise<JsonObject>>> = {
  async list(_args, { files }) {
    const page = await files.page({ limit: MAX_LISTED, newestFirst: true })
    return { files: page.files.map(fileEntry), more: page.more }
  },

  async read(args, services) {
    const file = await findFile(args, services)
    const text = await readText(file, services)
    const content = text.slice(0, MAX_CHARACTERS)
    return { ...fileEntry(file), content, ...(content.length < text.length ? { truncated: true } : {}) }
  },

  async write(args, { files }) {
    const { content } = args
    if (typeof content !== 'string') throw refusal('content: expected the text of the file')
    return fileEntry(await put(files, safeName(args.filename), content))
  },

  async edit(args, services) {
    const file = await findFile(args, services)
    const { content, old_text: before, new_text: after } = args
    const name = args.filename === undefined ? file.name : safeName(args.filename)
    if (before === undefined && typeof content !== 'string') throw refusal('content: expected the whole new text, or old_text and new_text')
    const text = before === undefined ? String(content) : exchanged(await plainText(file, services), before, after)
    return { ...fileEntry(await put(services.files, name, text)), copied_from: file.id }
  },
}

function put(files: KeyFiles, name: string, content: string): Promise<StoredFile> {
  const type = TYPES[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? 'text/plain'
  return files.put(Buffer.from(content, 'utf8'), { name, purpose: PURPOSE, type })
}

function exchanged(text: string, before: unknown, after: unknown): string {
  if (typeof before !== 'string' || before === '') throw refusal('old_text: expected a text that stands in the file')
  if (typeof after !== 'string') throw refusal('new_text: expected the text that takes its place')
  const found = occurrences(text, before)
  if (found !== 1)
    throw refusal(
      `old_text: stands in the file ${found === MAX_COUNTED ? `${found} times or more` : `${found} times`}, expected it exactly once`,
    )
  return text.replace(before, () => after)
}

const MAX_COUNTED = 100

/** Not all are counted: a long file may have millions. */
function occurrences(text: string, wanted: string): number {
  let count = 0
  for (let at = text.indexOf(wanted); at !== -1 && count < MAX_COUNTED; at = text.indexOf(wanted, at + wanted.length)) count++
  return count
}

async function findFile({ file_id: id }: JsonObject, { files }: FileServices): Promise<StoredFile> {
  const file = typeof id === 'string' ? await files.find(id) : undefined
  if (!file) throw refusal('file_id: no such file; list shows those that there are')
  return file
}

async function readBytes(file: StoredFile, { files }: FileServices): Promise<Buffer> {
  if (file.bytes > MAX_BYTES) throw refusal(`file_id: the file is larger than ${MAX_BYTES} bytes`)
  const bytes = await files.read(file.id)
  if (!bytes) throw refusal('file_id: no such file any more')
  return bytes
}

/** The words of a document; a text, which may be edited, as it stands. */
async function readText(file: StoredFile, services: FileServices): Promise<string> {
  const bytes = await readBytes(file, services)
  const source = { type: file.type, name: file.name }
  const kind = documentKind(bytes, source)
  if (kind === undefined || kind === 'text' || kind === 'html') return decoded(bytes)
  const { host, signal } = services
  return (await readDocument(bytes, source, { clock: host.clock, signal, handOver: true })).text
}

async function plainText(file: StoredFile, services: FileServices): Promise<string> {
  return decoded(await readBytes(file, services))
}

function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw refusal('file_id: the file is no text')
  }
}

function safeName(name: unknown): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH || /[\u0000-\u001f\u007f]/.test(name))
    throw refusal(`filename: expected a name of up to ${MAX_NAME_LENGTH} characters`)
  return name
}

function fileEntry({ id, name, bytes, type, created }: StoredFile): JsonObject {
  return { file_id: id, filename: name, bytes, mime_type: type, created_at: new Date(created).toISOString() }
}

function refusal(message: string): Fault {
  return new Fault('bad_request', { message })
}
