/**
 * A reply whose provider speaks the caller's format keeps every member: compared leaf by leaf, but for what docs/dialects.md
 * says that the gateway sets itself ("Changes to replies in the lane `pass`").
 */
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import type { AnyWireName } from '../support/wire.ts'
import type { Exchange } from './cassettes.ts'
import type { Difference } from './compare.ts'
import { eventsIn, object, text } from './expected.ts'

export interface Leaf {
  path: string
  value: Json
}

/** Every value that is no list or object with something in it, with its path. */
export function listLeaves(value: Json, path = ''): Leaf[] {
  if (Array.isArray(value) && value.length > 0) return value.flatMap((each, index) => listLeaves(each, `${path}[${index}]`))
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.entries(value).flatMap(([key, each]) => listLeaves(each as Json, path === '' ? key : `${path}.${key}`))
  return [{ path, value }]
}

/** Fields of a request that a Responses object repeats. */
const ECHOED =
  'background|conversation|frequency_penalty|instructions|max_output_tokens|max_tool_calls|metadata|parallel_tool_calls|' +
  'presence_penalty|previous_response_id|prompt_cache_key|prompt_cache_options|prompt_cache_retention|reasoning|safety_identifier|' +
  'service_tier|store|temperature|text|tool_choice|tools|top_logprobs|top_p|truncation|user'

/** Members of a whole reply that the gateway sets; the times of a response by the table of losses. */
const SET_WHOLE: Readonly<Record<string, RegExp>> = {
  'openai-chat': /^(id|object|model|provider|usage)\b|^choices\[0\]\.(finish_reason|message\.(reasoning(_content|_details)?\b|content\[))/,
  'openai-responses': new RegExp(`^(id|model|status|usage|error|created_at|completed_at|${ECHOED})\\b`),
  anthropic: /^(id|model|usage)\b/,
}

/** Members of events that the gateway sets, of each type of event. */
const SET_IN_EVENTS: Readonly<Record<string, RegExp>> = {
  'openai-chat':
    /^(id|object|model|provider|usage)\b|^choices\[0\]\.(finish_reason|delta\.(role|content\[\d+\]\.\w+|reasoning(_content|_details)?|tool_calls\[\d+\]\.(index|id|type|function\.name))\b)/,
  'openai-responses': /^sequence_number$/,
  anthropic: /^message\.(id|model|usage)\b|^usage\b/,
}

const leafName = ({ path, value }: Leaf): string => `${path} = ${JSON.stringify(value)}`

/** Name of a whole member in a report: `moderation` for all that is below it, but the full path within choices and items. */
const pathHead = (path: string): string =>
  /^[a-z_]+(?=[.[])/.exec(path.replace(/^(choices|content|output|candidates)\b.*/, ''))?.[0] ?? path

/** Leaves that are in `wanted` and not, or not as often, in `found`; one difference for each member. */
function missingFrom(wanted: readonly Leaf[], found: readonly Leaf[]): Difference[] {
  const there = new Map<string, number>()
  for (const leaf of found) there.set(leafName(leaf), (there.get(leafName(leaf)) ?? 0) + 1)
  const differences = new Map<string, Difference>()
  for (const leaf of wanted) {
    const left = there.get(leafName(leaf)) ?? 0
    if (left > 0) there.set(leafName(leaf), left - 1)
    else if (!differences.has(pathHead(leaf.path)))
      differences.set(pathHead(leaf.path), {
        leaf: `member ${pathHead(leaf.path)}`,
        expected: leaf.value,
        got: found.find(({ path }) => path === leaf.path)?.value,
      })
  }
  return [...differences.values()]
}

/**
 * Chunks of a chat stream repeat their members, and the gateway writes the last ones itself: each value must arrive once.
 * What stands for nothing need not, nor the padding against those who measure the length of packets.
 */
function once(leaves: readonly Leaf[]): Leaf[] {
  const unique = new Map<string, Leaf>()
  for (const leaf of leaves)
    if (leaf.value !== null && leaf.value !== '' && typeof leaf.value !== 'object' && leaf.path !== 'obfuscation')
      unique.set(leafName(leaf), leaf)
  return [...unique.values()]
}

/** Leaves of the events, each under the type of its event. The terminal event of a Responses stream is compared as a reply. */
function eventLeaves(wire: AnyWireName, events: readonly JsonObject[]): Leaf[] {
  const set = SET_IN_EVENTS[wire]
  return events.flatMap((event) => {
    const type = text(event.type)
    if (/^response\.(created|queued|in_progress|completed|incomplete|failed)$|^ping$/.test(type)) return []
    return listLeaves(event)
      .filter(({ path }) => !set?.test(path))
      .map(({ path, value }) => ({ path: type === '' ? path : `${type}: ${path}`, value }))
  })
}

const terminal = (events: readonly JsonObject[]): JsonObject =>
  object(events.findLast(({ type }) => /^response\.(completed|incomplete|failed)$/.test(text(type)))?.response)

function wholeLeaves(wire: AnyWireName, reply: JsonObject): Leaf[] {
  // An identifier that is empty is replaced.
  return listLeaves(reply).filter(({ path, value }) => !SET_WHOLE[wire]?.test(path) && !(path.endsWith('.id') && value === ''))
}

/** The account in front of signed and encrypted reasoning (docs/dialects.md, "Signed and encrypted reasoning"). */
const MARK = /"hg:[\w-]{8}:/g

/** @param reply what the caller got, as it came. */
export function memberDifferences({ wire, body, streamed }: Exchange, reply: string): Difference[] {
  const received = reply.replace(MARK, '"')
  if (!streamed)
    return missingFrom(wholeLeaves(wire, JSON.parse(body) as JsonObject), wholeLeaves(wire, JSON.parse(received) as JsonObject))
  const [sent, got] = [eventsIn(body), eventsIn(received)]
  const leaves = eventLeaves(wire, sent)
  const differences = missingFrom(wire === 'openai-chat' ? once(leaves) : leaves, eventLeaves(wire, got))
  if (wire !== 'openai-responses') return differences
  return [...differences, ...missingFrom(wholeLeaves(wire, terminal(sent)), wholeLeaves(wire, terminal(got)))]
}
