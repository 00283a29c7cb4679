/**
 * Ids that a provider gives in replies of the pass-through are of use to the key that got them alone. The bytes of a reply stay as they came:
 * a row of the store says whose an id is (docs/decisions/0061-ids-of-the-pass-through.md).
 */
import { hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Transform } from 'node:stream'
import { finished } from 'node:stream/promises'
import { contentCoding, decoderOf } from '../../core/content-coding.ts'
import { asFault, Fault } from '../../core/faults.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'
import { accountLetters } from '../../dialects/canon/reasoning-owner.ts'
import { EventReader } from '../../dialects/sse/reader.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Provider } from '../../routing/catalog/types.ts'
import type { SentBody } from '../../services/upstream/pass-through.ts'
import type { GivenIdStore } from '../../store/given-ids.ts'
import { isListed } from '../request/provider-ids.ts'
import { addIds, idsGiven, idsInPath, LONGEST_NAME, lifetimeOf } from './id-forms.ts'
import { isWideJson, TextScan, WIDE_BYTES } from './text-scan.ts'

/** Bytes of a whole reply that are read. */
const MOST = 8 * 1024 * 1024
/** Texts of a request that may be ids: more are no request of an SDK. */
const MOST_NAMED = 20_000
/** Ids that one reply gives. */
const MOST_GIVEN = 1_000

interface Caller {
  readonly key: ApiKey
  readonly provider: Provider
}

const rowIdOf = (owner: readonly string[], id: string): string =>
  hash('sha256', JSON.stringify(['given', ...owner, id]), 'base64url').slice(0, 32)

/** An account without a name is known by its key, which is rotated; the provider of the configuration outlives that. */
function rowIdsOf(provider: Provider, id: string): string[] {
  const own = rowIdOf([accountLetters(provider)], id)
  return provider.account === undefined ? [own, rowIdOf(['provider', provider.slug], id)] : [own]
}

/** What a request names, as far as it is known. */
export interface NamedIds {
  readonly texts: Set<string>
  /** True where one of them was given to the key. */
  readonly hasOwn: boolean
  /** True once the body has a member by which a generation is kept. */
  keeps: boolean
}

/** `store` of chat completions and responses, `thread` of messages. */
const KEEPS: ReadonlySet<string> = new Set(['store', 'thread'])

/** @returns whether one of them was given to the key. @throws Fault 404 where one was given to another. */
async function checked(
  store: Pick<GivenIdStore, 'find'>,
  { key, provider }: Caller,
  { texts, where }: { texts: ReadonlySet<string>; where: 'path' | 'body' },
): Promise<boolean> {
  if (texts.size > MOST_NAMED) throw new Fault('bad_request', { message: `The body has more than ${MOST_NAMED} texts that may be ids` })
  const names = new Map([...texts].flatMap((text) => rowIdsOf(provider, text).map((row) => [row, text])))
  let hasOwn = false
  for (const { id, owner } of names.size > 0 ? await store.find([...names.keys()]) : []) {
    const text = names.get(id) ?? ''
    if (owner === key.identity) hasOwn = true
    else if (!isListed(text, key))
      throw new Fault('not_found', {
        message: `${where}: no such id: ${text.slice(0, 80)}; expected one that a reply to this key has shown`,
      })
  }
  return hasOwn
}

/** @throws Fault 404 where the path names an id that was given to another key. */
export async function idsOfPath(store: Pick<GivenIdStore, 'find'>, caller: Caller, path: string): Promise<NamedIds> {
  const texts = new Set<string>()
  idsInPath(path, texts)
  return { texts, hasOwn: await checked(store, caller, { texts, where: 'path' }), keeps: false }
}

/** Bytes that a body in a content coding may have without it. */
const MOST_DECODED = 64 * 1024 * 1024

/** Reads which ids a body names, while it passes. */
export class SentIds implements SentBody {
  private readonly store: Pick<GivenIdStore, 'find'>
  private readonly caller: Caller
  private readonly named: NamedIds
  private readonly texts = new Set<string>()
  private readonly scan = new TextScan(LONGEST_NAME, (text) => this.note(text))
  private readonly decoder: Transform | undefined
  /** True in a coding that is not known, or in several at once: nothing is found in it. */
  private isHidden = false
  private decoded = 0
  private begin: Buffer = Buffer.alloc(0)

  /** @param named is added to. @param headers of the request. */
  constructor(store: Pick<GivenIdStore, 'find'>, { named, ...caller }: Caller & { named: NamedIds }, headers: IncomingHttpHeaders) {
    this.store = store
    this.caller = caller
    this.named = named
    const coding = contentCoding(headers['content-encoding'])
    if (coding === undefined) return
    this.decoder = decoderOf(coding)
    this.isHidden = this.decoder === undefined
    this.decoder?.on('error', () => {})
    this.decoder?.on('data', (chunk: Buffer) => {
      this.decoded += chunk.length
      if (this.decoded > MOST_DECODED) this.decoder?.destroy()
      else this.look(chunk)
    })
  }

  push(chunk: Buffer): void {
    if (this.decoder) this.decoder.write(chunk)
    else this.look(chunk)
  }

  private look(chunk: Buffer): void {
    if (this.begin.length < WIDE_BYTES) this.begin = Buffer.concat([this.begin, chunk.subarray(0, WIDE_BYTES - this.begin.length)])
    this.scan.push(chunk)
  }

  private note(text: string): void {
    addIds(text, this.texts)
    if (KEEPS.has(text)) this.named.keeps = true
  }

  /** Once all of it has come. @returns why it must not go on. */
  async verdict(): Promise<Fault | undefined> {
    try {
      if (this.decoder) await finished(this.decoder.end()).catch(() => {})
      if (this.decoded > MOST_DECODED)
        throw new Fault('too_large', { message: `The body has more than ${MOST_DECODED} bytes behind its content coding` })
      if (this.isHidden && this.begin.length > 0)
        throw new Fault('bad_request', { message: 'content-encoding: expected one of gzip, deflate, br, zstd' })
      if (isWideJson(this.begin)) throw new Fault('bad_request', { message: 'body: expected JSON in UTF-8' })
      await checked(this.store, this.caller, { texts: this.texts, where: 'body' })
      for (const text of this.texts) this.named.texts.add(text)
      return undefined
    } catch (thrown) {
      return asFault(thrown)
    }
  }
}

function jsonIn(text: Buffer | string): unknown {
  try {
    return JSON.parse(text.toString())
  } catch {
    return undefined
  }
}

/** Frames at the begin of a stream that are read whatever they are: they show what has been made. */
const FIRST_FRAMES = 8
/** Frames of a stream that may give an id behind those: its first and last ones, and those with a container. */
const GIVES = /"(?:response\.(?:created|completed)|message_start|container(?:_id)?)"/

/** Reads on the way which ids a reply gives. */
export class GivenIds {
  private readonly caller: Caller
  private readonly named: NamedIds
  private readonly isKept: boolean
  private readonly given = new Set<string>()
  private frames: EventReader | undefined
  private first = FIRST_FRAMES
  private pieces: Pieces | undefined

  /** @param isKept true where the reply as a whole is of something that the provider keeps, whatever the request says. */
  constructor(caller: Caller, named: NamedIds, isKept: boolean) {
    this.caller = caller
    this.named = named
    this.isKept = isKept
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || status > 299 || contentCoding(headers['content-encoding']) !== undefined) return
    const type = String(headers['content-type'] ?? '').toLowerCase()
    if (type.startsWith('text/event-stream'))
      this.frames = new EventReader((data) => {
        if (this.first-- > 0 || GIVES.test(data)) this.read(data)
      })
    else if (type.includes('json')) this.pieces = new Pieces()
  }

  data(chunk: Buffer): void {
    if (this.pieces) {
      this.pieces.push(chunk)
      if (this.pieces.size > MOST) this.pieces = undefined
      return
    }
    try {
      this.frames?.push(chunk)
    } catch {
      // No events.
      this.frames = undefined
    }
  }

  /** Writes down what has been given. @param now milliseconds since the epoch. @returns undefined where it is nothing. */
  keep(store: Pick<GivenIdStore, 'give'>, now: number): Promise<void> | undefined {
    if (this.pieces) this.read(this.pieces.take().toString('utf8'))
    this.pieces = undefined
    this.frames = undefined
    const { key, provider } = this.caller
    const rows = [...this.given]
      .filter((id) => !this.named.texts.has(id))
      .slice(0, MOST_GIVEN)
      .flatMap((id) => rowIdsOf(provider, id).map((row) => ({ id: row, owner: key.identity, until: now + lifetimeOf(id) })))
    return rows.length === 0 ? undefined : Promise.resolve(store.give(rows))
  }

  private read(text: string): void {
    const value = jsonIn(text)
    if (isObject(value as JsonObject)) for (const id of idsGiven(value as JsonObject, this.isKept || this.named.keeps)) this.given.add(id)
  }
}
