/** Reads beside a reply whether the model calls tools as it should: what the quality order knows of an endpoint. */

import { isObject, type Json } from '../../core/json.ts'
import type { StreamEvent } from '../../dialects/canon/events.ts'
import type { Tap } from '../../plugin-api/index.ts'
import type { Accepted } from '../exchange.ts'

/** Arguments are looked at up to so many characters; longer ones are taken for sound. */
const LONGEST = 256 * 1024

interface OpenCall {
  readonly name: string
  args: string
}

export class ToolWatch implements Tap {
  readonly mode = 'observe'
  private readonly calls = new Map<number, OpenCall>()
  /** Undefined where a name may be one that only the provider knows. */
  private readonly offered: ReadonlySet<string> | undefined

  constructor(offered: ReadonlySet<string> | undefined) {
    this.offered = offered
  }

  /** Discards the output of an attempt. */
  begin(): void {
    this.calls.clear()
  }

  push(event: StreamEvent): void {
    if (event.type === 'block-start') {
      if (event.kind === 'call' && event.call) this.calls.set(event.block, { name: event.call.name, args: '' })
    } else if (event.type === 'block-delta' && this.calls.size > 0) {
      const call = this.calls.get(event.block)
      if (call && call.args.length < LONGEST) call.args += event.text
    }
  }

  /** Of the attempt that has ended; undefined where nothing was called. */
  get verdict(): 'fine' | 'broken' | undefined {
    if (this.calls.size === 0) return undefined
    for (const { name, args } of this.calls.values()) {
      if (this.offered?.has(name) === false || !isArguments(args)) return 'broken'
    }
    return 'fine'
  }
}

/** No text at all stands for no arguments. */
function isArguments(text: string): boolean {
  if (text.length >= LONGEST || text.trim() === '') return true
  try {
    return isObject(JSON.parse(text))
  } catch {
    return false
  }
}

/** A watch for a request that offers tools; undefined where there are none, or some whose calls hold no arguments. */
export function watchTools(exchange: Accepted): ToolWatch | undefined {
  if (!exchange.request.need.offersTools || takesFreeText(exchange.request.body.tools)) return undefined
  return new ToolWatch(exchange.request.edited ? offeredByCanon(exchange) : offeredByBody(exchange.request.body.tools))
}

/** A custom tool without a schema is called with text of any form. */
function takesFreeText(tools: Json | undefined): boolean {
  return Array.isArray(tools) && tools.some((tool) => isObject(tool) && tool.type === 'custom' && tool.input_schema === undefined)
}

function offeredByCanon(exchange: Accepted): ReadonlySet<string> | undefined {
  const names = new Set<string>()
  for (const tool of exchange.request.canonical().tools) {
    if (tool.kind === 'opaque') return undefined
    names.add(tool.name)
  }
  return names
}

function offeredByBody(tools: Json | undefined): ReadonlySet<string> | undefined {
  if (!Array.isArray(tools)) return undefined
  const names = new Set<string>()
  for (const tool of tools) {
    if (!isObject(tool)) return undefined
    const { name } = isObject(tool.function) ? tool.function : tool
    const plain = tool.type === undefined || tool.type === 'function' || tool.type === 'custom'
    if (!plain || typeof name !== 'string') return undefined
    names.add(name)
  }
  return names
}
