/** The chunks of an OpenAI-compatible stream as canonical events. */

import { Fault } from '../../core/faults.ts'
import { escapesLetters, isObject, type JsonObject } from '../../core/json.ts'
import type { End, StreamEvent } from '../canon/events.ts'
import type { Usage } from '../canon/usage.ts'
import type { StreamDecoder } from '../types.ts'
import { DeltaReader } from './decode-delta.ts'
import { servedTier, unify } from './end-reason.ts'
import { decodeFault } from './fault.ts'
import { decodeUsage } from './usage.ts'

/** The error that a chunk or a whole reply carries, whatever its form; undefined where there is none. */
export function faultIn(body: JsonObject): Fault | undefined {
  if (body.error !== undefined && body.error !== null && body.error !== false) return decodeFault(200, body)
  return body.object === 'error' ? decodeFault(200, body) : undefined
}

/** The fault of a choice that ended in an error. */
export function choiceFault(choice: JsonObject): Fault {
  return isObject(choice.error) ? decodeFault(200, { error: choice.error }) : decodeFault(200, { code: String(choice.finish_reason) })
}

export class ChatStreamDecoder implements StreamDecoder {
  private readonly deltas = new DeltaReader()
  private started = false
  private finished: string | undefined
  private usage: Usage | undefined
  private tier: string | undefined
  private over = false

  feed(data: string, _event: string | undefined, out: StreamEvent[]): void {
    if (this.over) {
      this.late(data, out)
      return
    }
    if (data === '[DONE]') {
      this.complete(out, true)
      return
    }
    let chunk: unknown
    try {
      chunk = JSON.parse(data)
    } catch {
      this.fail(new Fault('upstream_garbled'), out)
      return
    }
    if (isObject(chunk)) this.chunk(chunk, out)
    else this.fail(new Fault('upstream_garbled'), out)
  }

  /** One parsed chunk, or a whole reply made into one. */
  chunk(chunk: JsonObject, out: StreamEvent[]): void {
    const fault = faultIn(chunk)
    if (fault) {
      this.fail(fault, out)
      return
    }
    if (!this.started) {
      this.started = true
      out.push(typeof chunk.model === 'string' ? { type: 'start', model: chunk.model } : { type: 'start' })
    }
    this.tier = servedTier(chunk.service_tier) ?? this.tier
    const choice = Array.isArray(chunk.choices) ? chunk.choices.find((each) => isObject(each) && (each.index ?? 0) === 0) : undefined
    if (isObject(choice)) this.choice(choice, out)
    if (this.over) return
    const usage = chunk.usage ? decodeUsage(chunk.usage, this.usage) : undefined
    if (usage) {
      this.usage = usage
      out.push({ type: 'usage', usage })
    }
    // Only usage follows a finish, and it has come: the end need not wait for `[DONE]`.
    if (this.finished !== undefined && this.usage) this.complete(out, false)
  }

  /** Reads a report of usage that comes after the end: reports are cumulative, so a later one replaces the earlier. */
  private late(data: string, out: StreamEvent[]): void {
    if (this.usage === undefined || !(data.includes('"usage"') || escapesLetters(data))) return
    try {
      const chunk: unknown = JSON.parse(data)
      const usage = isObject(chunk) ? decodeUsage(chunk.usage, this.usage) : undefined
      if (usage) out.push({ type: 'usage', usage })
    } catch {
      // The answer is complete without this report.
    }
  }

  end(out: StreamEvent[]): void {
    if (!this.over) this.complete(out, false)
  }

  private choice(choice: JsonObject, out: StreamEvent[]): void {
    if (isObject(choice.delta)) this.deltas.read(choice.delta, choice.logprobs, out)
    const reason = choice.finish_reason
    if (typeof reason !== 'string' || reason === '') {
      if (isObject(choice.error)) this.fail(choiceFault(choice), out)
      return
    }
    if (unify(reason, false) === 'error' || isObject(choice.error)) this.fail(choiceFault(choice), out)
    else this.finished = reason
  }

  /** @param done true where the provider itself marked the end. */
  private complete(out: StreamEvent[], done: boolean): void {
    if (this.finished === undefined && !(done && this.started)) {
      this.fail(new Fault(this.started ? 'upstream_cut' : 'upstream_empty'), out)
      return
    }
    this.over = true
    this.deltas.close(out)
    const end: End = { reason: unify(this.finished ?? 'stop', this.deltas.hasCalls) }
    if (this.finished !== undefined) end.raw = this.finished
    if (this.tier !== undefined) end.tier = this.tier
    out.push({ type: 'end', ...end })
  }

  private fail(fault: Fault, out: StreamEvent[]): void {
    this.over = true
    out.push({ type: 'fault', fault })
  }
}
