/**
 * Ids that a provider gives in replies of the pass-through are of use to the key that got them alone. The bytes of a reply stay as they came:
 * a row of the store says whose an id is (docs/decisions/0061-ids-of-the-pass-through.md).
 */
import type { IncomingHttpHeaders } from 'node:http'
import { contentCoding } from '../../core/content-coding.ts'
import { isObject, type JsonObject } from '../../core/json.ts'
import { Pieces } from '../../core/pieces.ts'
import { EventReader } from '../../machines/sse/reader.ts'
import type { GivenIdStore } from '../../store/given-ids.ts'
import { type Giving, idLifetime, idsGiven, idsInHead } from './id-forms.ts'
import { type IdHolder, type NamedIds, providerRowIds } from './id-owners.ts'

/** Bytes of a whole reply that are read. */
const MOST = 8 * 1024 * 1024
/** Ids that one reply gives. */
const MAX_GIVEN = 1_000

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
  private readonly caller: IdHolder
  private readonly named: NamedIds
  private readonly isKept: boolean
  private readonly makes: Giving['makes']
  private readonly given = new Set<string>()
  private frames: EventReader | undefined
  private first = FIRST_FRAMES
  private pieces: Pieces | undefined

  /** @param isKept true where the reply as a whole is of something that the provider keeps, whatever the request says. */
  constructor(caller: IdHolder, named: NamedIds, { isKept, makes }: Pick<Giving, 'makes'> & { isKept: boolean }) {
    this.caller = caller
    this.named = named
    this.isKept = isKept
    this.makes = makes
  }

  head(status: number, headers: IncomingHttpHeaders): void {
    if (status < 200 || status > 299) return
    if (this.makes === 'a thing') for (const id of idsInHead(headers)) this.given.add(id)
    if (contentCoding(headers['content-encoding']) !== undefined) return
    const type = String(headers['content-type'] ?? '').toLowerCase()
    if (type.startsWith('text/event-stream'))
      this.frames = new EventReader(({ data }) => {
        if (this.first-- > 0 || GIVES.test(data)) this.read(data)
      })
    else if (type === '' || type.includes('json') || type.startsWith('text/')) this.pieces = new Pieces()
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
      .slice(0, MAX_GIVEN)
      .flatMap((id) => providerRowIds(provider, id).map((row) => ({ id: row, owner: key.identity, until: now + idLifetime(id) })))
    return rows.length === 0 ? undefined : Promise.resolve(store.give(rows))
  }

  private read(text: string): void {
    const value = jsonIn(text)
    if (!isObject(value as JsonObject)) return
    const isMade = this.isKept || this.named.keeps
    for (const id of idsGiven(value as JsonObject, { isMade, makes: this.makes })) this.given.add(id)
  }
}
