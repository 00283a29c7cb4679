/** One server as the caller names it (docs/contract.md#tools-in-a-request). */
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { checkAddress } from '../outbound/index.ts'
import type { McpSettings } from './settings.ts'

export interface McpEntry {
  readonly label: string
  readonly url: URL
  readonly description: string
  /** Sent to this server only. */
  readonly headers: Readonly<Record<string, string>>
  /** Undefined for all. */
  readonly names: ReadonlySet<string> | undefined
  readonly readOnly: boolean
  needsApproval(name: string): boolean
}

const LABEL = /^[A-Za-z][\w-]{0,63}$/
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]{0,8192}$/
/** Headers that say how the message travels, or that the protocol sets itself. */
const OWN_HEADERS =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*|expect|accept|accept-encoding|cookie|mcp-.*)$/i

/** @param path of the parameters in the request. @throws Fault 400 naming the path. */
export function parseMcpEntry(parameters: JsonObject, path: string, { policy, allows }: McpSettings): McpEntry {
  const { server_label: label, server_url: address, connector_id: connector = null, server_description: description } = parameters
  if (typeof label !== 'string' || !LABEL.test(label))
    throw badField(`${path}.server_label`, 'expected up to 64 letters, digits, dashes and underscores that begin with a letter')
  if (connector !== null) throw badField(`${path}.connector_id`, 'connectors are not available here, expected server_url')
  if (typeof address !== 'string') throw badField(`${path}.server_url`, 'is required')
  const url = checkUrl(address, `${path}.server_url`, (text) => checkAddress(text, policy))
  if (!allows(url)) throw badField(`${path}.server_url`, 'the operator allows other servers only')
  return {
    label,
    url,
    description: typeof description === 'string' ? description : '',
    headers: parseHeaders(parameters, path),
    ...parseTools(parameters.allowed_tools ?? null, `${path}.allowed_tools`),
    needsApproval: parseApproval(parameters.require_approval ?? 'always', `${path}.require_approval`),
  }
}

function checkUrl(address: string, path: string, check: (text: string) => URL): URL {
  try {
    return check(address)
  } catch (thrown) {
    throw badField(path, thrown instanceof Error ? thrown.message : 'expected an address')
  }
}

function parseHeaders({ authorization = null, headers = null }: JsonObject, path: string): Record<string, string> {
  const all: Record<string, string> = {}
  if (headers !== null && !isObject(headers)) throw badField(`${path}.headers`, 'expected an object of texts')
  for (const [name, value] of Object.entries(headers ?? {})) {
    const at = `${path}.headers.${HEADER.test(name) ? name : '?'}`
    if (!HEADER.test(name) || OWN_HEADERS.test(name)) throw badField(at, 'this header cannot be set')
    if (typeof value !== 'string' || !HEADER_VALUE.test(value)) throw badField(at, 'expected a text that a header may hold')
    all[name.toLowerCase()] = value
  }
  if (authorization === null) return all
  if (typeof authorization !== 'string' || !HEADER_VALUE.test(authorization))
    throw badField(`${path}.authorization`, 'expected a text that a header may hold')
  all.authorization = /\s/.test(authorization.trim()) ? authorization : `Bearer ${authorization.trim()}`
  return all
}

function parseTools(given: Json, path: string): Pick<McpEntry, 'names' | 'readOnly'> {
  if (given === null) return { names: undefined, readOnly: false }
  if (Array.isArray(given)) return { names: parseNames(given, path), readOnly: false }
  if (!isObject(given)) throw badField(path, 'expected a list of names, or an object')
  const { tool_names: names = null, read_only: readOnly = null } = given
  if (readOnly !== null && typeof readOnly !== 'boolean') throw badField(`${path}.read_only`, 'expected true or false')
  return { names: names === null ? undefined : parseNames(names, `${path}.tool_names`), readOnly: readOnly === true }
}

function parseNames(given: Json | undefined, path: string): ReadonlySet<string> {
  if (!Array.isArray(given) || !given.every((name) => typeof name === 'string')) throw badField(path, 'expected a list of names')
  return new Set(given.map(String))
}

/** A tool in neither list needs approval: the caller has not marked it as harmless. */
function parseApproval(given: Json, path: string): (name: string) => boolean {
  if (given === 'always') return () => true
  if (given === 'never') return () => false
  if (!isObject(given)) throw badField(path, 'expected always, never, or an object of the two')
  const list = (word: 'always' | 'never'): ReadonlySet<string> => {
    const filter = given[word] ?? null
    if (filter === null) return new Set()
    if (!isObject(filter)) throw badField(`${path}.${word}`, 'expected an object with tool_names')
    return parseNames(filter.tool_names ?? [], `${path}.${word}.tool_names`)
  }
  const always = list('always')
  const never = list('never')
  return (name) => always.has(name) || !never.has(name)
}
