/** Reads which ids of providers the body of a request names, while it passes. */
import type { IncomingHttpHeaders } from 'node:http'
import { finished } from 'node:stream/promises'
import { contentCoding, type Decoder, decoderOf } from '../../core/content-coding.ts'
import { asFault, Fault } from '../../core/faults.ts'
import type { SentBody } from '../../services/upstream/pass-through.ts'
import { FormScan } from './form-scan.ts'
import { addIds, idsInPath, LONGEST_NAME } from './id-forms.ts'
import { checkedIds, type IdHolder, type IdRows, type NamedIds } from './id-owners.ts'
import { isWideJson, TextScan, WIDE_BYTES } from './text-scan.ts'

/** Texts of a request that may be ids: more are no request of an SDK. */
const MOST_NAMED = 20_000
/** Texts of files that are looked up together: a data set has as many as it has lines. */
const AT_ONCE = 1_000
/** Bytes that a body in a content coding may have without it. */
const MOST_DECODED = 64 * 1024 * 1024

/** `store` of chat completions and responses, `thread` of messages. */
const KEEPS: ReadonlySet<string> = new Set(['store', 'thread'])

const JSON_TYPE = /^\s*(?:application\/(?:json|jsonl|x-jsonlines|jsonlines|x-ndjson|ndjson|json-seq)|[\w.-]+\/[\w.-]+\+json)\s*(?:;|$)/i
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

function kindOf(contentType: string, path: string): Kind {
  if (/^\s*multipart\//i.test(contentType)) return 'form'
  if (isUpload(path)) return 'file'
  if (FILES.test(contentType)) return 'labelled'
  if (contentType === '' || JSON_TYPE.test(contentType)) return 'json'
  return /^\s*application\/x-www-form-urlencoded/i.test(contentType) ? 'fields' : 'unknown'
}

/** Bytes by which a file that is JSON is known; blanks in front of it count as much. */
const BEGIN = 1_024
/** Bytes of a number. */
const LONGEST_SINGLE = 64
const JSON_BLANKS = /^(?:\xef\xbb\xbf)?[ \t\r\n]*/
/** A single value that names nothing. */
const SINGLE = /^(?:-?\d[\d.eE+-]*|true|false|null)?[ \t\r\n]*$/
/** Bytes of a query in a body: no form of an SDK is longer. */
const LONGEST_FIELDS = 64 * 1024

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
  private readonly scan: TextScan
  private readonly form: FormScan | undefined
  private fields = ''
  private readonly decoder: Decoder | undefined
  /** Bytes that came in a content coding: a server may not look at the header. */
  private readonly raw: { readonly scan: TextScan; readonly form: FormScan | undefined } | undefined
  private came = 0
  /** True in a coding that is not known, or in several at once: nothing is found in it. */
  private isHidden = false
  private decoded = 0
  private begin: Buffer = Buffer.alloc(0)
  /** Begin of a body of JSON, behind blanks; undefined where its type does not say that it is JSON. */
  private value: string | undefined

  /** @param headers of the request. @throws Fault 400 for a form in which nothing is found. */
  constructor(rows: IdRows, sent: Sent, headers: IncomingHttpHeaders) {
    const contentType = headers['content-type'] ?? ''
    this.rows = rows
    this.sent = sent
    this.kind = kindOf(contentType, sent.path)
    const isJson = this.kind === 'json' || this.kind === 'fields'
    this.scan = new TextScan(LONGEST_NAME, (text) => this.noteQuoted(text), !isJson)
    const formOf = (): FormScan | undefined =>
      this.kind === 'form' ? new FormScan(contentType, (text) => this.noteValue(text)) : undefined
    this.form = formOf()
    if (JSON_TYPE.test(contentType) && this.kind === 'json') this.value = ''
    const coding = contentCoding(headers['content-encoding'])
    if (coding === undefined) return
    if (this.kind === 'fields')
      throw new Fault('bad_request', { message: 'content-encoding: expected none for application/x-www-form-urlencoded' })
    this.decoder = decoderOf(coding)
    this.raw = { scan: new TextScan(LONGEST_NAME, (text) => this.noteOfFile(text), true), form: formOf() }
    this.isHidden = this.decoder === undefined
    this.decoder?.on('error', () => {})
    this.decoder?.on('data', (chunk: Buffer) => {
      this.decoded += chunk.length
      if (this.decoded > MOST_DECODED) this.decoder?.destroy()
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
      this.raw?.scan.push(chunk)
      this.raw?.form?.push(chunk)
    } catch (thrown) {
      this.fault = asFault(thrown)
    }
  }

  private look(chunk: Buffer): void {
    if (this.fault) return
    if (this.begin.length < WIDE_BYTES) this.begin = Buffer.concat([this.begin, chunk.subarray(0, WIDE_BYTES - this.begin.length)])
    try {
      if (this.value !== undefined && this.value.length <= LONGEST_SINGLE) this.addValue(chunk)
      // Blanks are not the begin of anything.
      if (this.kind === 'labelled' && /\S/.test(chunk.toString('latin1', 0, BEGIN)))
        this.kind = /^\s*[{[]/.test(chunk.toString('latin1', 0, BEGIN)) ? 'json' : 'file'
      this.scan.push(chunk)
      this.form?.push(chunk)
      if (this.kind === 'fields') this.addFields(chunk)
    } catch (thrown) {
      this.fault = asFault(thrown)
    }
  }

  private addValue(chunk: Buffer): void {
    const value = (this.value + chunk.toString('latin1')).replace(JSON_BLANKS, '')
    this.value = value.slice(0, LONGEST_SINGLE + 1)
  }

  private note(text: string): void {
    addIds(text, this.texts)
    if (KEEPS.has(text)) this.sent.named.keeps = true
    if (this.texts.size > MOST_NAMED)
      throw new Fault('bad_request', { message: `The body has more than ${MOST_NAMED} texts that may be ids` })
  }

  private noteQuoted(text: string): void {
    if (this.kind === 'json' || this.kind === 'fields') this.note(text)
    else this.noteOfFile(text)
  }

  /** Words in front of what may be a border: those of a long file are no fields. */
  private noteValue(text: string): void {
    if (this.texts.size < MOST_NAMED) addIds(text, this.texts)
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
    const room = LONGEST_FIELDS - this.fields.length
    this.fields += chunk.toString('latin1', 0, Math.max(0, room))
    if (chunk.length > room && !/^\s*[{[]/.test(this.fields))
      throw new Fault('too_large', { message: `A body of application/x-www-form-urlencoded may have ${LONGEST_FIELDS} bytes here` })
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
      if (this.decoded > MOST_DECODED)
        throw new Fault('too_large', { message: `The body has more than ${MOST_DECODED} bytes behind its content coding` })
      if (this.isHidden && this.begin.length > 0)
        throw new Fault('bad_request', { message: 'content-encoding: expected one of gzip, deflate, br, zstd' })
      if (!isDecoded)
        throw new Fault('bad_request', { message: 'body: expected one body in the coding of content-encoding, and nothing behind it' })
      if (this.fault) return this.fault
      this.form?.end()
      this.raw?.form?.end()
      if (this.kind === 'unknown' && this.begin.length > 0)
        throw new Fault('bad_request', {
          message: 'content-type: expected application/json, a form, application/octet-stream or the type of a media file',
        })
      if ((this.kind === 'json' || this.kind === 'fields') && isWideJson(this.begin))
        throw new Fault('bad_request', { message: 'body: expected JSON in UTF-8' })
      if (this.value !== undefined && !/^[{["]/.test(this.value) && !(this.value.length <= LONGEST_SINGLE && SINGLE.test(this.value)))
        throw new Fault('bad_request', { message: 'body: expected JSON, as content-type says' })
      if (this.fields !== '') idsInPath(`/?${this.fields.replaceAll('+', ' ')}`, this.texts)
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
