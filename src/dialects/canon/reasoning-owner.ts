/**
 * Encrypted and signed reasoning belongs to the account at the provider that made it: another one refuses it with 400
 * (OpenAI: `invalid_encrypted_content`, github.com/openai/codex/issues/8119). So on its way to the caller it gets a mark in front,
 * `hg:` and eight letters that stand for the account, and on its way back only that account gets it, without the mark.
 * Reasoning without a mark was made where it is not bound to an account, or not behind this gateway: it is sent as it is.
 */
import { hash } from 'node:crypto'
import type { JsonObject } from '../../core/json.ts'
import type { StreamEvent } from './events.ts'
import type { CanonicalRequest, Item } from './request.ts'

const MARK = /^hg:([\w-]{8}):/

interface Account {
  /** The name that the operator gave it. */
  readonly account?: string | undefined
  readonly baseUrl?: string | undefined
  readonly key?: string | undefined
  /** In place of a key. The fingerprint is that of its settings, so that a new token changes nothing. */
  readonly credential?: { readonly fingerprint: string } | undefined
}

const letters = new WeakMap<Account, string>()

/** Eight letters that stand for an account; they show neither its name nor its key. A named account keeps its letters with a new key. */
export function accountLetters(provider: Account): string {
  let found = letters.get(provider)
  if (found === undefined) {
    const { account, baseUrl = '', credential, key = credential?.fingerprint ?? '' } = provider
    const owner = account === undefined ? ['address', baseUrl, key] : ['account', account]
    found = hash('sha256', JSON.stringify(['reasoning', ...owner]), 'base64url').slice(0, 8)
    letters.set(provider, found)
  }
  return found
}

/** Mark in front of reasoning that this account made. */
export const accountMark = (account: string): string => `hg:${account}:`

/** True for reasoning that has the mark of any account. */
export function isMarked(text: unknown): text is string {
  return typeof text === 'string' && MARK.test(text)
}

/**
 * @returns the reasoning as its provider made it; undefined where another account did. A provider may have sent it in pieces, each of
 * which got the mark.
 */
export function ownReasoning(text: string, account: string | undefined): string | undefined {
  const mark = MARK.exec(text)
  if (mark === null) return text
  return mark[1] === account ? text.replaceAll(mark[0], '') : undefined
}

/** Members of notes and of opaque items that hold what is signed or encrypted. */
const SIGNED = ['data', 'signature', 'encrypted_content'] as const

function marked(data: JsonObject, mark: string, members: readonly string[] = SIGNED): JsonObject {
  let copy: JsonObject | undefined
  for (const member of members) {
    const value = data[member]
    if (typeof value === 'string' && value !== '') {
      copy ??= { ...data }
      copy[member] = mark + value
    }
  }
  return copy ?? data
}

/** Marks what a provider signed or encrypted in decoded events, in place. */
export function markEvents(events: StreamEvent[], account: string): void {
  for (const [index, event] of events.entries()) {
    if (event.type === 'block-note' && (event.note === 'signature' || event.note === 'encrypted'))
      events[index] = { ...event, data: marked(event.data, accountMark(account)) }
    else if (event.type === 'block-start' && typeof event.of?.data.encrypted_content === 'string')
      events[index] = { ...event, of: { ...event.of, data: marked(event.of.data, accountMark(account), ['encrypted_content']) } }
  }
}

/** The same in a frame or a whole reply as it is passed on. @param places where values begin that are signed or encrypted. */
export function markText(text: string, places: RegExp, account: string): string {
  return text.replace(places, (place) => place + accountMark(account))
}

type ReasoningItem = Extract<Item, { kind: 'reasoning' }>

/** Rest of reasoning that another account made: words that some providers take as plain text. */
function reasoningWords({ text, summary }: ReasoningItem): Item[] {
  if (text === undefined && summary === undefined) return []
  // A family that no provider is of.
  const words: ReasoningItem = { kind: 'reasoning', format: 'unknown' }
  if (text !== undefined) words.text = text
  if (summary !== undefined) words.summary = summary
  return [words]
}

interface Reader {
  readonly account: string | undefined
  /** False where the provider has refused reasoning of this conversation. */
  readonly takesReasoning: boolean
}

function fitReasoning(item: ReasoningItem, { account, takesReasoning }: Reader): Item[] | undefined {
  const { encrypted, signature } = item
  if (encrypted === undefined && signature === undefined && takesReasoning) return undefined
  const own: ReasoningItem = { ...item }
  if (encrypted !== undefined) own.encrypted = ownReasoning(encrypted, account)
  if (signature !== undefined) own.signature = ownReasoning(signature, account)
  const isForeign = own.encrypted !== encrypted && own.encrypted === undefined
  if (!takesReasoning || isForeign || (signature !== undefined && own.signature === undefined)) return reasoningWords(item)
  return own.encrypted === encrypted && own.signature === signature ? undefined : [own]
}

/** Items that stand for a conversation: without them it would go on from nothing, so they are never left out for a refusal. */
const KEPT: ReadonlySet<string> = new Set(['compaction', 'compaction_summary', 'context_compaction'])

/** An item of one wire alone, such as a summary of the conversation that the provider encrypted. */
function fitOpaque(item: Extract<Item, { kind: 'opaque' }>, { account, takesReasoning }: Reader, dropped: Set<string>): Item[] | undefined {
  const { encrypted_content: encrypted } = item.of.data
  if (typeof encrypted !== 'string') return undefined
  const own = takesReasoning || KEPT.has(item.of.type) ? ownReasoning(encrypted, account) : undefined
  if (own === undefined) {
    dropped.add(item.of.type)
    return []
  }
  return own === encrypted ? undefined : [{ kind: 'opaque', of: { ...item.of, data: { ...item.of.data, encrypted_content: own } } }]
}

/** True for items whose provider may refuse them for what is signed or encrypted in them. */
export function isBound(item: Item): boolean {
  if (item.kind === 'opaque') return typeof item.of.data.encrypted_content === 'string'
  return item.kind === 'reasoning' && (item.encrypted !== undefined || item.signature !== undefined || item.id !== undefined)
}

/** True for output of the model: text, reasoning and calls. */
function isSpoken(item: Item): item is Extract<Item, { kind: 'call' | 'message' }> {
  return item.kind === 'call' || (item.kind === 'message' && item.role === 'assistant')
}

/**
 * The request with the reasoning that its reader made, without marks; the same request where nothing changes. Output of the model
 * right after reasoning that is left out loses its ids: OpenAI refuses a call that it knows "without its required 'reasoning' item".
 * @param dropped receives the names of what is left out.
 */
export function withOwnReasoning(request: CanonicalRequest, reader: Reader, dropped: Set<string>): CanonicalRequest {
  let changed: Item[] | undefined
  let isAfterLoss = false
  for (const [index, item] of request.items.entries()) {
    let fitted: Item[] | undefined
    if (item.kind === 'reasoning') {
      fitted = fitReasoning(item, reader)
      isAfterLoss = fitted !== undefined && !fitted.some(isBound)
      if (isAfterLoss) dropped.add('reasoning')
    } else if (item.kind === 'opaque') fitted = fitOpaque(item, reader, dropped)
    else if (!isSpoken(item)) isAfterLoss = false
    else if (isAfterLoss && item.id !== undefined) {
      const { id: _id, ...rest } = item
      fitted = [rest]
    }
    if (fitted) changed ??= request.items.slice(0, index)
    if (changed) for (const each of fitted ?? [item]) changed.push(each)
  }
  return changed ? { ...request, items: changed } : request
}
