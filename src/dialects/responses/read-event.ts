/** Reads the data of an upstream's events: of a large one without what it shows of the request. */
import type { Json, JsonObject } from '../../core/json.ts'
import { type Member, scanMembers } from '../../machines/json-bytes/json-members.ts'
import { jsonObject } from '../../machines/sse/frames.ts'

/** Characters from which on an event is large: it takes longer to parse than to look for its members. */
const LARGE = 16_384

/** Beginning of an event with a Response object: the types of all others have a second dot. */
const LIFECYCLE = /^\s*\{\s*"type"\s*:\s*"response\.\w+"/

/**
 * Members of a Response object that only repeat the request (types of openai 7.57.0, `Response`): those of an agent are 50 KB and come
 * three times. Nothing reads them, since what a reply shows of its request is what the caller sent (`reply.ts`).
 */
const REPEATED: ReadonlySet<string> = new Set(['instructions', 'tools'])

/** @returns the members by their names, undefined where one could not be an object's own. */
function read(bytes: Buffer, members: readonly Member[], without: ReadonlySet<string>): JsonObject | undefined {
  const found: JsonObject = {}
  for (const { name, from, to } of members) {
    if (name === '__proto__') return undefined
    if (!without.has(name)) found[name] = JSON.parse(bytes.toString('utf8', from, to)) as Json
  }
  return found
}

const RESPONSE: ReadonlySet<string> = new Set(['response'])

function readLarge(bytes: Buffer): JsonObject | undefined {
  const members = scanMembers(bytes)
  // A name may stand twice: a parser takes the last.
  const response = members?.findLast(({ name }) => name === 'response')
  const within = response && scanMembers(bytes, response.from, response.to)
  const shown = within && read(bytes, within, REPEATED)
  const message = members && read(bytes, members, RESPONSE)
  if (!message || !shown) return undefined
  message.response = shown
  return message
}

/** @param data JSON, one character per byte: its bytes are at hand. As text it is as soon parsed. @returns undefined for what is no JSON object. */
export function readEvent(data: string): JsonObject | undefined {
  if (data.length < LARGE || !LIFECYCLE.test(data)) return jsonObject(data)
  try {
    return readLarge(Buffer.from(data, 'latin1')) ?? jsonObject(data)
  } catch {
    return undefined
  }
}
