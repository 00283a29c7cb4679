/** An upload: the file of a form, written to the folder of its key as it arrives. */
import { type FileForm, fileEntry } from '../api/files.ts'
import type { UploadSource } from '../api/source.ts'
import { badField, Fault } from '../core/faults.ts'
import type { JsonObject } from '../core/json.ts'
import type { Admission } from '../pipeline/request/admission.ts'
import type { FileStore, FileUpload, KeyFiles } from '../services/files/types.ts'
import type { OperationRequest } from './gateway.ts'
import { type FormPiece, FormReader, formBoundary, type PartHead } from './multipart.ts'

/** Bytes of a form beside its file. */
const ROOM = 64 * 1024
/** Bytes of a field that is no file. */
const MAX_FIELD_LENGTH = 1024
const MAX_NAME_LENGTH = 255
const PURPOSE = /^[a-z][a-z0-9_-]{0,63}$/
const USUAL_PURPOSE = 'user_data'
const UNKNOWN_TYPE = 'application/octet-stream'

/** @param maxFile bytes of one file. */
export function createUploads(store: FileStore, maxFile: number, admission: Pick<Admission, 'request'>): UploadSource {
  return {
    store,
    count: async (key) => admission.request(key),
    receive: ({ headers, pieces }, files, form) => receiveFile({ request: { headers }, readPieces: pieces }, files, { maxFile, form }),
  }
}

/** @throws Fault 400 naming the field, 413, 415, 503. */
export async function receiveFile(
  call: Pick<OperationRequest, 'readPieces'> & { request: Pick<OperationRequest['request'], 'headers'> },
  files: KeyFiles,
  options: { maxFile: number; form: FileForm },
): Promise<JsonObject> {
  const { headers } = call.request
  const reader = new FormReader(formBoundary(headers['content-type']))
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity')
    throw new Fault('media_type', { message: 'content-encoding: request bodies are taken uncompressed only' })
  const most = options.maxFile + ROOM
  if (Number(headers['content-length']) > most) throw tooLarge(options.maxFile)
  const fields = new FormFields(files)
  try {
    let size = 0
    for await (const chunk of call.readPieces()) {
      size += chunk.length
      if (size > most) throw tooLarge(options.maxFile)
      for (const piece of reader.push(chunk)) await fields.take(piece)
    }
    reader.end()
    return fileEntry(await fields.finish(), options.form)
  } finally {
    await fields.abandon()
  }
}

function tooLarge(most: number): Fault {
  return new Fault('too_large', { message: `Request payload too large: a file may have ${most} bytes` })
}

class FormFields {
  private readonly files: KeyFiles
  private upload: FileUpload | undefined
  private head: PartHead | undefined
  /** Of the running part, where it is no file. */
  private text: Buffer[] = []
  private textSize = 0
  private file: PartHead | undefined
  private purpose = USUAL_PURPOSE

  constructor(files: KeyFiles) {
    this.files = files
  }

  async take(piece: FormPiece): Promise<void> {
    if (piece.kind === 'part') await this.begin(piece.head)
    else if (piece.kind === 'part-end') this.end()
    else if (this.head === this.file) await this.upload?.write(piece.bytes)
    else this.collect(piece.bytes)
  }

  /** @throws Fault 400 where there was no file. */
  finish(): ReturnType<FileUpload['finish']> {
    const { file, upload, purpose } = this
    if (!file || !upload) throw badField('file', 'is required')
    return upload.finish({ name: file.filename || 'file', purpose, type: file.type || UNKNOWN_TYPE })
  }

  async abandon(): Promise<void> {
    await this.upload?.abandon()
  }

  private async begin(head: PartHead): Promise<void> {
    this.head = head
    this.text = []
    this.textSize = 0
    if (head.name !== 'file') {
      if (head.name.startsWith('expires_after')) throw badField(head.name, 'files stay until they are deleted, expected no such field')
      return
    }
    if (this.file) throw badField('file', 'was sent twice, expected one file')
    const { filename = '' } = head
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused.
    if (filename.length > MAX_NAME_LENGTH || /[\u0000-\u001f\u007f]/.test(filename))
      throw badField('file', `expected a file name of up to ${MAX_NAME_LENGTH} characters, none of them a control character`)
    this.file = head
    this.upload = await this.files.begin()
  }

  private collect(bytes: Buffer): void {
    this.textSize += bytes.length
    if (this.textSize > MAX_FIELD_LENGTH)
      throw badField(this.head?.name.slice(0, 64) ?? 'body', `expected at most ${MAX_FIELD_LENGTH} bytes`)
    this.text.push(bytes)
  }

  private end(): void {
    if (this.head?.name !== 'purpose') return
    this.purpose = Buffer.concat(this.text).toString('utf8')
    if (!PURPOSE.test(this.purpose)) throw badField('purpose', 'expected a word of small letters, such as user_data or assistants')
  }
}
