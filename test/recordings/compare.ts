/** Compares what a caller received with what the recorded reply holds. */
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json } from '../../src/core/json.ts'
import type { FoldedReply } from '../support/fold.ts'
import { holds } from '../support/matrix/markers.ts'
import type { AnyWireName } from '../support/wire.ts'
import { type Client, sameWire } from './callers.ts'
import { type Expected, object, parseArgs, text } from './expected.ts'

/** One place at which two sides differ. */
export interface Difference {
  leaf: string
  expected: Json | undefined
  got: Json | undefined
}

/** Wrapping of a foreign provider's reasoning: base64url of JSON (docs/dialects.md, "Reasoning across turns"). */
function unwrapped(secret: string): Json {
  if (!secret.startsWith('hg.')) return secret
  return JSON.parse(Buffer.from(secret.slice(3), 'base64url').toString('utf8')) as Json
}

/** Form in which each format shows that the provider ended the turn with an error; a Messages caller gets a `stop_reason` of null. */
const WENT_WRONG: Readonly<Record<Client['id'], string>> = { chat: 'error', responses: 'failed', messages: '' }

/** The caller's word for the end; a provider of the same wire chooses it itself. */
function endWord(client: Client, wire: AnyWireName, { end, word }: Expected): string {
  if (end === 'error') return WENT_WRONG[client.id]
  if (!sameWire(client, wire) || client.id === 'responses') return client.ends[end]
  return word
}

function callDifferences(expected: Expected, got: FoldedReply): Difference[] {
  const wanted = expected.calls.map(({ name, args }) => ({ name, args }))
  const found = got.calls.map(({ name, args }) => ({ name, args: parseArgs(args) }))
  const differences: Difference[] = []
  if (!isDeepStrictEqual(wanted, found)) differences.push({ leaf: 'calls', expected: wanted, got: found })
  for (const [index, { id }] of expected.calls.entries()) {
    const callId = got.calls[index]?.callId
    if (id !== '' && callId !== id) differences.push({ leaf: `calls[${index}].id`, expected: id, got: callId })
    else if (callId === '') differences.push({ leaf: `calls[${index}].id`, expected: 'an id', got: '' })
  }
  return differences
}

function citationDifferences(expected: Expected, got: FoldedReply): Difference[] {
  const missing = expected.citations.filter(({ url, title }) =>
    [url, title].some((needle) => needle !== '' && !holds(got.annotations as Json, needle)),
  )
  if (missing.length > 0) return [{ leaf: 'citations', expected: missing as unknown as Json, got: got.annotations }]
  return got.annotations.length === expected.citations.length
    ? []
    : [{ leaf: 'citations.length', expected: expected.citations.length, got: got.annotations.length }]
}

/** Messages callers get none behind the last text (`withoutTrailing` of `src/dialects/messages/reply-blocks.ts`). */
function secretDifferences(client: Client, expected: Expected, got: FoldedReply): Difference[] {
  const found = got.encrypted.map(unwrapped)
  const wanted =
    client.id === 'messages' ? expected.secrets.filter((forms) => !forms.some((form) => expected.ofText.has(form))) : expected.secrets
  const missing = wanted.filter((forms) => !forms.some((secret) => holds(found, secret)))
  return missing.length > 0 ? [{ leaf: 'secrets', expected: missing, got: found }] : []
}

function usageDifferences(expected: Expected, got: FoldedReply): Difference[] {
  if (!expected.usage) return []
  const { input, output, cached, written = 0, reasoning } = got.usage ?? {}
  const found: Record<string, number | undefined> = { input, output, cached, written, reasoning }
  return Object.entries(expected.usage)
    .filter(([name, count]) => found[name] !== count)
    .map(([name, count]) => ({ leaf: `usage.${name}`, expected: count, got: found[name] }))
}

/** All places at which the caller's reply differs from the recorded one. */
export function differences(client: Client, wire: AnyWireName, expected: Expected, got: FoldedReply): Difference[] {
  const found: Difference[] = []
  for (const leaf of ['text', 'reasoning', 'refusal'] as const)
    if (got[leaf] !== expected[leaf]) found.push({ leaf, expected: expected[leaf], got: got[leaf] })
  const word = endWord(client, wire, expected)
  if (got.end !== word) found.push({ leaf: 'end', expected: word, got: got.end })
  if (got.error && expected.end !== 'error') found.push({ leaf: 'error', expected: undefined, got: got.error as unknown as Json })
  return [
    ...found,
    ...callDifferences(expected, got),
    ...citationDifferences(expected, got),
    ...secretDifferences(client, expected, got),
    ...usageDifferences(expected, got),
  ]
}

const short = (value: Json | undefined): string => {
  const written = value === undefined ? 'nothing' : JSON.stringify(value)
  return written.length > 160 ? `${written.slice(0, 160)}…` : written
}

export const describe = ({ leaf, expected, got }: Difference): string => `${leaf}: expected ${short(expected)}, got ${short(got)}`

/** True where a reply is an error object of a client format. */
export const isError = (reply: Json): boolean =>
  isObject(reply) && (reply.error ?? null) !== null && text(object(reply.error).message) !== ''
