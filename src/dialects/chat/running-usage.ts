/**
 * Counts that a server states with each chunk of a stream, where the quirk `running_usage` requests them: vLLM and SGLang write `usage`
 * behind the choices (vLLM 0.32.0, chat_completion/serving.py, `include_continuous_usage`), llama.cpp `timings` (tools/server, release
 * b11549). Nearly all of them are followed by another, so the last one is kept as text and read where the answer does not come to its end.
 */
import { isObject, type JsonObject, parseJson } from '../../core/json.ts'
import { count } from '../canon/counts.ts'
import type { RunningReport, Usage } from '../canon/usage.ts'
import type { Quirks } from '../quirks.ts'
import { decodeUsage } from './usage.ts'

type Member = 'usage' | 'timings'

/** A report at the end of a chunk, behind what stands in front of it there; quotes within texts are escaped, so no text has it. */
const FORMS: Readonly<Record<Member, { mark: string; kept: number; report: RegExp }>> = {
  // Behind a list of choices that has one: the chunk without any has the final report.
  usage: { mark: '}],"usage":{', kept: 2, report: /\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}(?=\}(?:\n|$))/y },
  timings: { mark: ',"timings":{', kept: 0, report: /\{[^{}]*\}(?=\}(?:\n|$))/y },
}

/** A chunk that ends the answer is read as it is. */
const ENDS = '"finish_reason":"'

export class RunningUsage implements RunningReport {
  taken = 0
  private last: string | JsonObject = ''
  private readonly member: Member

  /** @param way in which the provider is requested to report: the quirk `running_usage`. */
  constructor(way: string) {
    this.member = way === 'timings_per_token' ? 'timings' : 'usage'
  }

  get usage(): Usage | undefined {
    const report = typeof this.last === 'string' ? parseJson(this.last) : this.last
    if (!isObject(report)) return undefined
    return this.member === 'usage' ? decodeUsage(report) : decodeTimings(report)
  }

  /** @param frames one or more chunks, as text. @returns them without their reports. */
  strip(frames: string): string {
    const { mark, kept, report } = FORMS[this.member]
    let at = frames.indexOf(mark)
    if (at === -1 || frames.includes(ENDS)) return frames
    let out = ''
    let from = 0
    for (; at !== -1; at = frames.indexOf(mark, from)) {
      report.lastIndex = at + mark.length - 1
      const [found] = report.exec(frames) ?? []
      if (found === undefined) return frames
      out += frames.slice(from, at + kept)
      from = report.lastIndex
      this.last = found
      this.taken++
    }
    return out + frames.slice(from)
  }

  /** Takes the report out of a chunk that has been parsed; one of `usage` is read like any other. */
  take(chunk: JsonObject): void {
    const { timings, choices } = chunk
    if (this.member !== 'timings' || !isObject(timings) || !Array.isArray(choices) || choices.length === 0) return
    this.last = timings
    this.taken++
    delete chunk.timings
  }
}

/** llama.cpp counts the tokens that it has read of the prompt, those that it still knew, and those that it has written. */
function decodeTimings(report: JsonObject): Usage | undefined {
  if (typeof report.predicted_n !== 'number' || typeof report.prompt_n !== 'number') return undefined
  const cached = count(report.cache_n)
  return decodeUsage({
    prompt_tokens: count(report.prompt_n) + cached,
    completion_tokens: report.predicted_n,
    prompt_tokens_details: { cached_tokens: cached },
  })
}

/** Requests the reports. @param body of a request whose answer is streamed. */
export function requestRunningUsage(body: JsonObject, { running_usage: way }: Quirks): void {
  if (way === 'timings_per_token') body.timings_per_token = true
  else if (way !== undefined && isObject(body.stream_options)) body.stream_options = { ...body.stream_options, [way]: true }
}
