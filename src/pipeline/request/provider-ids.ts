/**
 * Ids of what providers keep, in requests (docs/decisions/0030-ids-of-providers.md): one that a reply has shown to the key is sent as the
 * provider knows it, to the account that has it and to no other; one that was made elsewhere is taken where the operator lists it for the
 * key; any other is unknown here.
 */
import { Fault } from '../../core/faults.ts'
import { asString, isObject, type JsonObject } from '../../core/json.ts'
import { findMedia } from '../../dialects/canon/media.ts'
import { isStoredFile } from '../../dialects/canon/provider-files.ts'
import {
  generationsIn,
  type NamedGeneration,
  type NamedId,
  parseSignedId,
  resourcesIn,
  SIGNED_ID,
  signedIdsIn,
  withPlainIds,
  writeSignedId,
} from '../../dialects/canon/provider-ids.ts'
import { accountLetters } from '../../dialects/canon/reasoning-owner.ts'
import type { Opaque } from '../../dialects/canon/request.ts'
import { parseFacts } from '../../ledger/facts.ts'
import type { LedgerReader } from '../../ledger/reader.ts'
import type { ApiKey } from '../../plugin-api/key.ts'
import type { Endpoint } from '../../routing/catalog/types.ts'
import type { EncryptedTexts } from '../../services/compaction/encrypted-texts.ts'
import type { FileStore } from '../../services/files/types.ts'
import type { Accepted } from '../exchange.ts'
import type { Pin } from '../records.ts'
import { fieldNaming } from './stored-files.ts'

export interface IdDependencies {
  readonly files: Pick<FileStore, 'owns'>
  readonly summaries: EncryptedTexts
  readonly ledger: Pick<LedgerReader, 'find'>
}

/**
 * Puts the provider's ids in the place of ours, and notes where the request has to go.
 * @param mayBeSigned false where the body surely holds no id of ours.
 * @returns a promise only where a request names something, or its reply may. @throws Fault 404 naming the field.
 */
export function bindIds(exchange: Accepted, mayBeSigned: boolean, dependencies: IdDependencies): Promise<void> | undefined {
  const { request } = exchange
  const { body, client, hasOtherTools, mayHoldMedia } = request
  if (client.embedding) return undefined
  const added = client.nativeTools?.(body) ?? NO_TOOLS
  const isUsual = !hasOtherTools && !mayHoldMedia && !mayBeSigned && added.length === 0
  if (isUsual && !namesSomething(body)) return undefined
  checkForeign(exchange, added, dependencies.files)
  const generations = generationsIn(body)
  const signed = mayBeSigned ? signedIdsIn(body) : []
  const shows =
    added.length > 0 || (hasOtherTools && mayShowIds(body)) || (body.container ?? null) !== null || (body.thread ?? null) !== null
  if (generations.length === 0 && signed.length === 0 && !shows) return undefined
  return bind(exchange, { generations, signed, shows }, dependencies)
}

/** Fields of a body without tools and media that may name something. */
const FIELDS = ['container', 'thread', 'diagnostics', 'prompt_cache_options', 'cached_content', 'cachedContent', 'extra_body'] as const

function namesSomething(body: JsonObject): boolean {
  for (const field of FIELDS) if ((body[field] ?? null) !== null) return true
  return false
}

const NO_TOOLS: readonly { path: string; of: Opaque }[] = []

/** Tools whose calls and results hold no id of the provider's; some of the caller's, some of providers that name nothing. */
const WITHOUT_IDS =
  /^(?:function|custom|tool_search|local_shell|apply_patch|namespace|computer\w*|image_generation|web_search(?:_preview)?|(?:bash|text_editor|memory)_\d+)$/

function mayShowIds({ tools }: JsonObject): boolean {
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && !WITHOUT_IDS.test(String(tool.type ?? 'custom')))
}

interface Named {
  readonly generations: readonly NamedGeneration[]
  readonly signed: readonly NamedId[]
  /** The reply may show ids. */
  readonly shows: boolean
}

async function bind(exchange: Accepted, { generations, signed, shows }: Named, { summaries, ledger }: IdDependencies): Promise<void> {
  const { request, run } = exchange
  const { identity } = exchange.auth.key
  const parsed = signed.flatMap(({ path, text }) => {
    const id = parseSignedId(text)
    return id ? [{ path, ...id }] : []
  })
  if (shows || parsed.length > 0) await summaries.prepareNumbers(parsed.map(({ key }) => key))
  for (const { path, id, key, account, signature } of parsed) {
    if (!summaries.isSigned(`${account} ${id}`, identity, { key, signature })) throw unknown(path)
    run.pinned = pinnedAt(run.pinned, { account, field: path })
  }
  let body = parsed.length > 0 ? withPlainIds(request.body) : request.body
  for (const named of generations) body = await withReply(exchange, body, named, ledger)
  if (body !== request.body) {
    request.payload.keepParsed()
    request.replaceBody(body)
  }
  if (!shows) return
  run.signer = (id, provider) => {
    if (isListed(id, exchange.auth.key)) return id
    const account = accountLetters(provider)
    return writeSignedId({ id, account, ...summaries.sign(`${account} ${id}`, identity) })
  }
}

/** @throws Fault 404 where ids of two accounts are named: no endpoint has both. */
function pinnedAt(before: Pin | undefined, pin: Pin): Pin {
  if (before?.account !== undefined && pin.account !== undefined && before.account !== pin.account) throw unknown(pin.field)
  return { ...before, ...pin }
}

/** @returns the body with the provider's own id of the generation; without the comparison where there is nothing to compare with. */
async function withReply(
  exchange: Accepted,
  body: JsonObject,
  named: NamedGeneration,
  ledger: IdDependencies['ledger'],
): Promise<JsonObject> {
  const { field, member, text, continues } = named
  if (isListed(text, exchange.auth.key)) return body
  const record = text.startsWith('gen-') ? await ledger.find(text) : undefined
  const facts = record?.hold.key === exchange.auth.key.identity ? parseFacts(record.settled) : {}
  const id = asString(facts.upstream_id)
  const holder = isObject(body[field]) ? body[field] : {}
  if (id !== undefined) {
    if (continues) {
      exchange.run.pinned = pinnedAt(exchange.run.pinned, { provider: asString(facts.provider), field: `${field}.${member}` })
      const { settled } = record ?? {}
      if (settled && !settled.estimated) exchange.run.threadTokens = settled.input + settled.output
    }
    return { ...body, [field]: { ...holder, [member]: id } }
  }
  if (continues)
    throw new Fault('not_found', {
      message: `${field}.${member}: no thread of this key goes on from it; replay the whole conversation with thread: {"type": "create"}`,
      metadata: { field: `${field}.${member}`, error_code: 'thread_not_found' },
    })
  return { ...body, [field]: { ...holder, [member]: null } }
}

/** @throws Fault 404 for the id of something that the key has not got from a provider and that the operator does not list for it. */
function checkForeign(exchange: Accepted, added: readonly { path: string; of: Opaque }[], files: IdDependencies['files']): void {
  const { request, auth } = exchange
  const isKnown = (text: string): boolean => text.includes(SIGNED_ID) || files.owns(text) || isListed(text, auth.key)
  for (const { path, text } of resourcesIn(request.body, added)) if (!isKnown(text)) throw unknown(path)
  if (!request.mayHoldMedia && !request.hasOtherTools) return
  for (const { part } of findMedia(request.canonical()))
    if (isStoredFile(part) && !isKnown(part.fileId)) throw unknown(fieldNaming(request.body, 'file_id', part.fileId))
  for (const id of uploadsIn(request.body)) if (!isKnown(id)) throw unknown(fieldNaming(request.body, 'file_id', id))
}

/** Files that a request puts into a container (platform.claude.com, Code execution tool, `container_upload`). */
function uploadsIn({ messages }: JsonObject): string[] {
  if (!Array.isArray(messages)) return []
  return messages.flatMap((message) => {
    const content = isObject(message) ? message.content : undefined
    if (!Array.isArray(content)) return []
    return content.flatMap((block) =>
      isObject(block) && block.type === 'container_upload' && typeof block.file_id === 'string' ? [block.file_id] : [],
    )
  })
}

/** An entry names an id, or with a star at its end all that begin so. */
export function isListed(id: string, { providerIds, issuer }: ApiKey): boolean {
  // A key that was issued through sign-in may name what its issuer may.
  const listed = issuer ? issuer.providerIds : providerIds
  return listed?.some((entry) => (entry.endsWith('*') ? id.startsWith(entry.slice(0, -1)) : id === entry)) === true
}

function unknown(field: string): Fault {
  return new Fault('not_found', {
    message: `${field}: no such id; expected one that a reply to this key has shown, or one that the operator lists for the key`,
    metadata: { field },
  })
}

/** @returns the endpoints that can make sense of the ids; the very list where the request names none. @throws Fault 404 where none can. */
export function havingIds(endpoints: readonly Endpoint[], pin: Pin | undefined): readonly Endpoint[] {
  if (!pin) return endpoints
  const { field } = pin
  const able = endpoints.filter((endpoint) => holdsIds(endpoint, pin))
  if (able.length > 0) return able
  throw new Fault('not_found', {
    message: `${field}: the provider that gave this id does not serve the requested model`,
    metadata: { field },
  })
}

/** True where the endpoint's account has what the request names. */
export function holdsIds({ provider }: Endpoint, { account, provider: name }: Pin): boolean {
  return (account === undefined || accountLetters(provider) === account) && (name === undefined || provider.name === name)
}
