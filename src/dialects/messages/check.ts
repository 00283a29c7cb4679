/** The rules of a Messages request: its schema, then what a schema says badly (docs/contract.md#messages). */
import type { IncomingHttpHeaders } from 'node:http'
import { badField } from '../../core/faults.ts'
import { isObject, type Json, type JsonObject } from '../../core/json.ts'
import { MAX_PARTS } from '../canon/bounds.ts'
import { checkFields } from '../canon/request-fields.ts'
import { messagesShape } from './schema.ts'

/** True for a tool that the caller runs, described by a schema of its own. */
export function isCustomTool(tool: JsonObject): boolean {
  return (tool.type ?? 'custom') === 'custom'
}

/** The name behind `word:`, of a tool that the gateway runs; undefined for any other word. */
export function serverToolName(word: string): string | undefined {
  const colon = word.indexOf(':')
  return colon > 0 && colon < word.length - 1 ? word.slice(colon + 1) : undefined
}

/** @throws Fault 400 naming the field, such as `tools[0].input_schema`. */
function checkTools(tools: JsonObject[]): void {
  for (const [index, tool] of tools.entries()) {
    const at = `tools[${index}]`
    checkCacheMark(tool.cache_control, at)
    if (isCustomTool(tool)) {
      if (tool.name === undefined) throw badField(`${at}.name`, 'is required')
      if (tool.input_schema === undefined) throw badField(`${at}.input_schema`, 'is required')
      continue
    }
    const type = String(tool.type)
    if (type === 'function') throw badField(`${at}.type`, 'expected custom, a tool of the provider or one of the gateway')
    if (tool.defer_loading === true && /:tool_search$|^tool_search_tool_(regex|bm25)/.test(type))
      throw badField(`${at}.defer_loading`, 'the search for tools cannot be deferred itself')
  }
}

function checkChoice(choice: JsonObject): void {
  if (choice.type === 'tool' && choice.name === undefined) throw badField('tool_choice.name', 'is required')
}

/** With it a budget is that of a whole turn of tool calls, and may exceed the cap of one reply (platform.claude.com, Extended thinking, "Budget rules and tuning"). */
const INTERLEAVED = 'interleaved-thinking-2025-05-14'

function namesBeta(name: string, { betas }: JsonObject, headers: IncomingHttpHeaders): boolean {
  const named = [headers['anthropic-beta'], headers['x-anthropic-beta'], betas].flat().join()
  return named.split(',').some((each) => each.trim() === name)
}

function checkThinking(thinking: JsonObject, body: JsonObject, headers: IncomingHttpHeaders): void {
  if (thinking.type !== 'enabled') return
  const [budget, cap] = [thinking.budget_tokens, body.max_tokens as number]
  if (typeof budget !== 'number') throw badField('thinking.budget_tokens', 'is required')
  if (budget >= cap && !namesBeta(INTERLEAVED, body, headers))
    throw badField('thinking.budget_tokens', `must be less than max_tokens (${cap})`)
}

function checkMessages(messages: JsonObject[]): void {
  for (const [index, { role, content }] of messages.entries()) {
    if (content === undefined && role !== 'system') throw badField(`messages[${index}].content`, 'is required')
    checkBlocks(content, `messages[${index}].content`)
  }
}

const filled = (value: Json | undefined): boolean => Array.isArray(value) && value.length > 0

/** @param headers have the betas, unless the body lists them. @throws Fault 400 naming the field and what was expected. */
export function check(body: JsonObject, headers: IncomingHttpHeaders = {}): void {
  checkFields(messagesShape, body)
  if (filled(body.fallbacks) && filled(body.models)) throw badField('fallbacks', 'expected either models or fallbacks')
  checkBlocks(body.system, 'system')
  checkMessages(body.messages as JsonObject[])
  if (Array.isArray(body.tools)) checkTools(body.tools as JsonObject[])
  if (isObject(body.tool_choice)) checkChoice(body.tool_choice)
  if (isObject(body.thinking)) checkThinking(body.thinking, body, headers)
}

interface Rule {
  strings?: readonly string[]
  objects?: readonly string[]
  /** Members that may be anything but must be there. */
  present?: readonly string[]
}

const ANSWER: Rule = { strings: ['tool_use_id'], present: ['content'] }

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['text', { strings: ['text'] }],
  ['image', { objects: ['source'] }],
  ['document', { objects: ['source'] }],
  ['search_result', { strings: ['source', 'title'], present: ['content'] }],
  // Servers other than Anthropic's sign nothing, and not all of them write the member (Ollama 0.17.4).
  ['thinking', { strings: ['thinking'] }],
  ['redacted_thinking', { strings: ['data'] }],
  ['tool_use', { strings: ['id', 'name'], objects: ['input'] }],
  ['server_tool_use', { strings: ['id', 'name'], objects: ['input'] }],
  ['mcp_tool_use', { strings: ['id', 'name', 'server_name'], objects: ['input'] }],
  ['tool_result', { strings: ['tool_use_id'] }],
  ['mcp_tool_result', { strings: ['tool_use_id'] }],
  ['tool_reference', { strings: ['tool_name'] }],
  ['tool_addition', { objects: ['tool'] }],
  ['tool_removal', { objects: ['tool'] }],
  ['container_upload', { strings: ['file_id'] }],
])

/** Members that each form of a source must have, by the kind of its block. */
const SOURCES: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>> = new Map([
  [
    'image',
    new Map([
      ['base64', ['media_type', 'data']],
      ['url', ['url']],
      ['file', ['file_id']],
    ]),
  ],
  [
    'document',
    new Map([
      ['base64', ['media_type', 'data']],
      ['url', ['url']],
      ['text', ['data']],
      ['content', []],
      ['file', ['file_id']],
    ]),
  ],
])

function toolRule(type: string): Rule | undefined {
  // Each tool of the provider, and each of the gateway, has an answer of its own kind.
  return RULES.get(type) ?? (type.endsWith('_tool_result') ? ANSWER : undefined)
}

/** `a, b or c` */
function listed(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
}

function checkSource(block: JsonObject, forms: ReadonlyMap<string, readonly string[]>, at: string): void {
  const source = block.source as JsonObject
  const needed = forms.get(String(source.type))
  if (needed === undefined) throw badField(`${at}.source.type`, `expected ${listed([...forms.keys()])}`)
  for (const name of needed) if (typeof source[name] !== 'string') throw badField(`${at}.source.${name}`, 'expected a string')
  if (source.type !== 'content' || typeof source.content === 'string') return
  if (!Array.isArray(source.content)) throw badField(`${at}.source.content`, 'expected a string or an array')
  checkBlocks(source.content, `${at}.source.content`)
}

/**
 * Rules of content blocks: which members each kind must have (docs/contract.md#messages). Kinds that are not known are tolerated.
 * @throws Fault 400 where a cache mark is neither absent nor of the one kind that there is.
 */
function checkCacheMark(mark: Json | undefined, at: string): void {
  if (mark === undefined || mark === null) return
  if (!isObject(mark)) throw badField(`${at}.cache_control`, 'expected an object')
  if (mark.type !== 'ephemeral') throw badField(`${at}.cache_control.type`, 'expected ephemeral')
  const { ttl } = mark
  if (ttl !== undefined && ttl !== null && ttl !== '5m' && ttl !== '1h') throw badField(`${at}.cache_control.ttl`, 'expected 5m or 1h')
}

function checkBlock(block: JsonObject, at: string): void {
  const type = String(block.type)
  const rule = toolRule(type)
  if (rule === undefined) return
  for (const name of rule.strings ?? []) if (typeof block[name] !== 'string') throw badField(`${at}.${name}`, 'expected a string')
  for (const name of rule.objects ?? []) if (!isObject(block[name])) throw badField(`${at}.${name}`, 'expected an object')
  for (const name of rule.present ?? []) if (block[name] === undefined) throw badField(`${at}.${name}`, 'is required')
  checkCacheMark(block.cache_control, at)
  const forms = SOURCES.get(type)
  if (forms) checkSource(block, forms, at)
  else if (type === 'tool_result') checkContent(block.content, `${at}.content`)
}

/** Result of a tool of the caller's: absent, a string or blocks. */
function checkContent(content: Json | undefined, at: string): void {
  if (content === undefined || content === null || typeof content === 'string') return
  if (!Array.isArray(content)) throw badField(at, 'expected a string or an array')
  checkBlocks(content, at)
}

/**
 * @param content blocks; anything else is left to the caller of this function.
 * @throws Fault 400 naming the field, such as `messages[2].content[0].source.type`.
 */
function checkBlocks(content: Json | undefined, at: string): void {
  if (!Array.isArray(content)) return
  if (content.length > MAX_PARTS) throw badField(at, `must have at most ${MAX_PARTS} items`)
  for (let i = 0; i < content.length; i++) {
    const block = content[i]
    if (!isObject(block)) throw badField(`${at}[${i}]`, 'expected an object')
    if (typeof block.type !== 'string') throw badField(`${at}[${i}].type`, 'expected a string')
    checkBlock(block, `${at}[${i}]`)
  }
}
