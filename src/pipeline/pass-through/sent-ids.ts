/** Reads which ids of providers the body of a request names, while it passes. */
import type { IncomingHttpHeaders } from 'node:http'
import { finished } from 'node:stream/promises'
import { contentCoding, createDecoder, type Decoder } from '../../core/content-coding.ts'
import { asFault, Fault } from '../../core/faults.ts'
import type { SentBody } from '../../services/upstream/pass-through.ts'
import { FormScan } from './form-scan.ts'
import { addIds, idsInPath, MAX_NAME_LENGTH } from './id-forms.ts'
import { checkedIds, type IdHolder, type IdRows, type NamedIds } from './id-owners.ts'
import { NumberScan } from './number-scan.ts'
import { refuseOverrides } from './overrides.ts'
import { TextScan } from './text-scan.ts'

/** Texts of a request that may be ids: more are no request of an SDK. */
const MAX_NAMED = 20_000
/** Texts of files that are looked up together: a data set has as many as it has lines. */
const AT_ONCE = 1_000
/** Bytes that a body in a content coding may have without it. */
const MAX_DECODED = 64 * 1024 * 1024

/** `store` of chat completions and responses, `thread` of messages, `deferred` of xAI's chat completions (docs.x.ai). */
const KEEPS: ReadonlySet<string> = new Set(['store', 'thread', 'deferred'])

const JSON_TYPE = /^\s*(?:application\/(?:json|jsonl|x-jsonlines|jsonlines|x-ndjson|ndjson)|[\w.-]+\/[\w.-]+\+json)\s*(?:;|$)/i
/** Bytes of these types are no JSON, but may have some in them. */
const FILES =
  /^\s*(?:(?:audio|video|image|font|text)\/|application\/(?:octet-stream|pdf|zip|gzip|msword|rtf|epub\+zip|vnd\.(?:openxmlformats-officedocument|oasis\.opendocument|ms-))|binary\/octet-stream)/i

/** Addresses at Google that take the bytes of a file, such as the lines of a data set. An escape or a `;` may lead out of them. */
function isUpload(path: string): boolean {
  const { pathname } = new URL(`http://provider${path}`)
  return /^\/(?:resumable\/)?upload\/[^%;]*$/.test(pathname)
}

/** Ways to look through a body. `labelled`: a file by its type, which a server may not look at. `unknown`: nothing is found in it. */
type Kind = 'json' | 'form' | 'fields' | 'file' | 'labelled' | 'unknown'

function contentKind(contentType: string, path: string): Kind {
  if (/^\s*multipart\//i.test(contentType)) return 'form'
  if (isUpload(path)) return 'file'
  if (FILES.test(contentType)) return 'labelled'
  if (contentType === '' || JSON_TYPE.test(contentType)) return 'json'
  return /^\s*application\/x-www-form-urlencoded/i.test(contentType) ? 'fields' : 'unknown'
}

/** Bytes by which a file that is JSON is known; blanks in front of it count as much. */
const BEGIN = 1_024
/** Bytes of a query in a body: no form of an SDK is longer. */
const MAX_FIELDS_LENGTH = 64 * 1024

interface Sent extends IdHolder {
  /** Is added to. */
  readonly named: NamedIds
  readonly path: string
}

export class SentIds implements SentBody {
  private readonly rows: IdRows
  private readonly sent: Sent
  private kind: Kind
  /** Of the request itself. */
  private readonly texts = new Set<string>()
  /** Of files, not looked up yet. */
  private found = new Set<string>()
  /** Look-ups under way. */
  private checks: Promise<void> | undefined
  private fault: Fault | undefined
  private readonly scans: readonly TextScan[]
  private readonly numbers = new NumberScan((digits) => this.noteValue(digits))
  private readonly form: FormScan | undefined
  private fields = ''
  private readonly decoder: Decoder | undefined
  /** Bytes that came in a content coding: a server may not look at the header. */
  private readonly raw: { readonly scans: readonly TextScan[]; readonly form: FormScan | undefined } | undefined
  private came = 0
  /** True in a coding that is not known, or in several at once: nothing is found in it. */
  private isHidden = false
  private decoded = 0

  /** @param headers of the request. @throws Fault 400 for a form in which nothing is found. */
  constructor(rows: IdRows, sent: Sent, headers: IncomingHttpHeaders) {
    const contentType = headers['content-type'] ?? ''
    this.rows = rows
    this.sent = sent
    this.kind = contentKind(contentType, sent.path)
    const scansOfKind = this.kind === 'json' && contentType !== '' ? TextScan.inJson : TextScan.inFile
    this.scans = scansOfKind(MAX_NAME_LENGTH, (text) => this.noteQuoted(text))
    const openForm = (): FormScan | undefined =>
      this.kind === 'form' ? new FormScan(contentType, (text) => this.noteValue(text)) : undefined
    this.form = openForm()
    const coding = contentCoding(headers['content-encoding'])
    if (coding === undefined) return
    if (this.kind === 'fields')
      throw new Fault('bad_request', { message: 'content-encoding: expected none for application/x-www-form-urlencoded' })
    this.decoder = createDecoder(coding)
    this.raw = { scans: TextScan.inFile(MAX_NAME_LENGTH, (text) => this.noteOfFile(text)), form: openForm() }
    this.isHidden = this.decoder === undefined
    this.decoder?.on('error', () => {})
    this.decoder?.on('data', (chunk: Buffer) => {
      this.decoded += chunk.length
      if (this.decoded > MAX_DECODED) this.decoder?.destroy()
      else this.look(chunk)
    })
  }

  push(chunk: Buffer): Promise<void> | undefined {
    this.came += chunk.length
    if (this.decoder) this.lookBehind(this.decoder, chunk)
    else this.look(chunk)
    return this.checks
  }

  private lookBehind(decoder: Decoder, chunk: Buffer): void {
    decoder.write(chunk)
    if (this.fault) return
    try {
      for (const scan of this.raw?.scans ?? []) scan.push(chunk)
      this.raw?.form?.push(chunk)
    } catch (thrown) {
      this.fault = asFault(thrown)
    }
  }

  private look(chunk: Buffer): void {
    if (this.fault) return
    try {
      // Blanks are not the begin of anything.
      if (this.kind === 'labelled' && /\S/.test(chunk.toString('latin1', 0, BEGIN)))
        this.kind = /^\s*[{[]/.test(chunk.toString('latin1', 0, BEGIN)) ? 'json' : 'file'
      for (const scan of this.scans) scan.push(chunk)
      if (this.form) this.form.push(chunk)
      else this.numbers.push(chunk)
      if (this.kind === 'fields') this.addFields(chunk)
    } catch (thrown) {
      this.fault = asFault(thrown)
    }
  }

  private note(text: string): void {
    addIds(text, this.texts)
    if (KEEPS.has(text)) this.sent.named.keeps = true
    if (this.texts.size > MAX_NAMED)
      throw new Fault('bad_request', { message: `The body has more than ${MAX_NAMED} texts that may be ids` })
  }

  private noteQuoted(text: string): void {
    if (this.kind === 'json' || this.kind === 'fields') this.note(text)
    else this.noteOfFile(text)
  }

  /** Words in front of what may be a border: those of a long file are no fields. */
  private noteValue(text: string): void {
    if (this.texts.size < MAX_NAMED) addIds(text, this.texts)
    else this.noteOfFile(text)
  }

  private noteOfFile(text: string): void {
    addIds(text, this.found)
    if (this.found.size < AT_ONCE) return
    const { found } = this
    this.found = new Set()
    this.check(found)
  }

  /** A request in a body of this type is one where a server does not look at the type, and else one query. */
  private addFields(chunk: Buffer): void {
    const room = MAX_FIELDS_LENGTH - this.fields.length
    this.fields += chunk.toString('latin1', 0, Math.max(0, room))
    if (chunk.length > room && !/^\s*[{[]/.test(this.fields))
      throw new Fault('too_large', { message: `A body of application/x-www-form-urlencoded may have ${MAX_FIELDS_LENGTH} bytes here` })
  }

  /** Looks texts up beside what passes meanwhile. */
  private check(texts: ReadonlySet<string>): void {
    const before = this.checks ?? Promise.resolve()
    const done = before
      .then(async () => {
        if (!this.fault) await checkedIds(this.rows, this.sent, texts, 'body')
      })
      .catch((thrown: unknown) => {
        this.fault = asFault(thrown)
      })
      .then(() => {
        if (this.checks === done) this.checks = undefined
      })
    this.checks = done
  }

  /** Once all of it has come. @returns why it must not go on. */
  async verdict(): Promise<Fault | undefined> {
    try {
      const isDecoded = !this.decoder || (await isWhole(this.decoder, this.came))
      if (this.decoded > MAX_DECODED)
        throw new Fault('too_large', { message: `The body has more than ${MAX_DECODED} bytes behind its content coding` })
      if (this.isHidden && this.came > 0)
        throw new Fault('bad_request', { message: 'content-encoding: expected one of gzip, deflate, br, zstd' })
      if (!isDecoded)
        throw new Fault('bad_request', { message: 'body: expected one body in the coding of content-encoding, and nothing behind it' })
      this.form?.end()
      this.numbers.end()
      this.raw?.form?.end()
      if (this.kind === 'unknown' && this.came > 0)
        throw new Fault('bad_request', {
          message: 'content-type: expected application/json, a form, application/octet-stream or the type of a media file',
        })
      if (this.scans.some(({ hasOther }) => hasOther))
        throw new Fault('bad_request', { message: 'body: expected JSON, as content-type says' })
      if (this.fields !== '') {
        refuseOverrides(new URLSearchParams(this.fields))
        idsInPath(`/?${this.fields}`, this.texts)
      }
      this.check(new Set([...this.texts, ...this.found]))
      await this.checks
      for (const text of this.texts) this.sent.named.texts.add(text)
      return this.fault
    } catch (thrown) {
      return asFault(thrown)
    }
  }
}

/** @param came bytes. @returns false where the decoder has not taken all of them: then a server may read something else. */
async function isWhole(decoder: Decoder, came: number): Promise<boolean> {
  const isSound = await finished(decoder.end()).then(
    () => true,
    () => false,
  )
  return came === 0 || (isSound && decoder.bytesWritten === came)
}
