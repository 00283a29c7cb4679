/** A scripted model: it goes through steps, and finds the next one in the conversation, since agents send other requests in between. */
import type { Call, Played } from '../providers/stand-in.ts'
import { type Answer, Gate, type Seen } from '../support/upstream.ts'
import { ALL_WIRES, type Utterance, type UtteranceCall, type WireName } from '../support/wire.ts'
import type { Action, Acts, CertifiedAgent, Place, ToolCall } from './agent-run.ts'
import { readView, type View, type ViewedCall } from './conversation.ts'

export interface Step {
  readonly name: string
  readonly action: Action
  /** Content of the result of each call. */
  readonly results?: readonly RegExp[]
  /** True where the provider reports with this step that the context is nearly full. */
  readonly fills?: true
}

export interface ModelOptions {
  readonly agent: CertifiedAgent
  readonly place: Place
  readonly wire: WireName
  readonly steps: readonly Step[]
  /** The last words. */
  readonly final: string
  /** Tokens of a full context. */
  readonly context: number
  /** True where the last words stop half way. */
  readonly stalls?: boolean
  /** Endings of the first answers of each step, one after the other, before it is answered well. */
  readonly breaks?: readonly ((utterance: Utterance) => Answer)[]
}

/** Sums over the requests of a scenario; tokens are counted as four bytes each. */
export interface Traffic {
  requests: number
  sent: number
  /** Of those, tokens with which an earlier request began too, as far as the provider keeps that: what it reads from its cache. */
  repeated: number
  received: number
}

const TOKEN = 4
const tokens = (bytes: number): number => Math.ceil(bytes / TOKEN)

function commonStart(a: string, b: string): number {
  let at = 0
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++
  return at
}

/** Part of a request that a provider caches: Anthropic what stands before the last mark (its reference, prompt caching), the others all of it. */
function kept(wire: WireName, { body, cacheable }: View): string {
  if (wire !== 'anthropic' || body.cache_control !== undefined) return cacheable
  return cacheable.slice(0, Math.max(0, cacheable.lastIndexOf('"cache_control"')))
}

/** True for a call as the model made it; agents may add arguments. */
function isSame(seen: ViewedCall, { name, args }: ToolCall): boolean {
  if (seen.name !== name) return false
  if (typeof args === 'string') return seen.args.includes(args.trim())
  const known = JSON.parse(seen.args || '{}') as Record<string, unknown>
  return Object.entries(args).every(([member, value]) => JSON.stringify(known[member]) === JSON.stringify(value))
}

/** In three pieces, as providers stream arguments. */
function pieces(text: string): string[] {
  return [text.slice(0, 5), text.slice(5, 12), text.slice(12)].filter((piece) => piece !== '')
}

const mark = (step: Step): string => `(step ${step.name} is done)`

export class Model {
  readonly problems: string[] = []
  readonly traffic: Traffic = { requests: 0, sent: 0, repeated: 0, received: 0 }
  /** Results of the calls of each step, as the provider got them last. */
  readonly results = new Map<string, readonly string[]>()
  /** Number of answers of each step that ended as they should not. */
  readonly broken = new Map<string, number>()
  /** Steps with an answer that ended well. */
  readonly served = new Set<string>()
  /** Images in the largest request. */
  images = 0
  summaries = 0
  /** The last request of the conversation itself. */
  last: View | undefined
  /** The request whose reply stands still half way. */
  readonly stalled: Promise<Seen>
  readonly #options: ModelOptions
  readonly #earlier: string[] = []
  #stall: (seen: Seen) => void = () => {}

  constructor(options: ModelOptions) {
    this.#options = options
    this.stalled = new Promise((resolve) => {
      this.#stall = resolve
    })
  }

  /** For `StandIn.play`. */
  readonly play = (call: Call): Played => {
    const view = readView(this.#options.wire, call.body)
    const { utterance, step } = this.#choose(view)
    const output = JSON.stringify(utterance).length
    const usage = this.#count(view, output)
    // Agents may fall back on replies that are not streamed.
    const broken = step && ALL_WIRES[this.#options.wire].streams(call.request) ? this.#nextBreak(step) : undefined
    if (step && !broken) this.served.add(step.name)
    const { agent, context } = this.#options
    const isFull = step?.fills ?? (agent.countsSummary && agent.asksForSummary?.(view))
    const full = isFull ? { ...usage, input: context, cached: 0 } : usage
    const wait = this.#options.stalls && utterance.text?.join('') === this.#options.final ? this.#waitFor(call.request) : undefined
    return { utterance: { ...utterance, usage: full }, wait, broken }
  }

  #nextBreak(step: Step): ((utterance: Utterance) => Answer) | undefined {
    const at = this.broken.get(step.name) ?? 0
    const found = this.#options.breaks?.[at]
    if (found) this.broken.set(step.name, at + 1)
    return found
  }

  /** Steps that did not come to pass. */
  missing(): string[] {
    return this.#options.steps.flatMap(({ name, results = [] }) => {
      const got = this.results.get(name)
      if (!got) return [`step ${name} was not done`]
      return results.flatMap((wanted, at) =>
        wanted.test(got[at] ?? '') ? [] : [`result ${at + 1} of step ${name}: ${got[at]?.slice(0, 2000)}`],
      )
    })
  }

  #choose(view: View): { utterance: Utterance; step?: Step } {
    const { agent, final, steps } = this.#options
    try {
      this.images = Math.max(this.images, view.images)
      if (agent.asksForSummary?.(view)) return { utterance: this.#summary(view) }
      if (!(agent.isMain?.(view) ?? view.tools.length > 0)) return { utterance: agent.aside?.(view) ?? { text: ['Reading ', 'notes'] } }
      this.last = view
      for (const step of steps) {
        const acts = this.#chooseActs(step, view)
        if (!this.#isDone(step, acts, view))
          return { utterance: typeof acts === 'string' ? { text: [acts] } : this.#calls(step, acts), step }
      }
      return { utterance: { reasoning: ['All steps ', 'are done'], text: [final.slice(0, 5), final.slice(5)] } }
    } catch (error) {
      this.problems.push(`the model: ${error instanceof Error ? error.message : String(error)}`)
      return { utterance: { text: ['I cannot go on.'] } }
    }
  }

  #chooseActs(step: Step, view: View): Acts {
    const acts = this.#options.agent.acts(step.action, view, this.#options.place)
    if (acts === undefined) throw new Error(`the agent cannot ${step.action.do}`)
    return acts
  }

  #isDone(step: Step, acts: Acts, view: View): boolean {
    if ([view.utterance, view.system, ...view.heard].some((text) => text.includes(mark(step)))) return true
    if (typeof acts === 'string') {
      // What was said stands in a user's message where the conversation is to be summarised.
      if (![view.utterance, ...view.heard].some((text) => text.includes(acts.trim()))) return false
      const text = [...view.heard, view.system].join('\n')
      this.results.set(step.name, Array<string>(Math.max(1, step.results?.length ?? 0)).fill(text))
      return true
    }
    const seen = acts.map((call) => view.calls.find((each) => each.result !== undefined && isSame(each, call)))
    if (seen.includes(undefined)) return false
    this.results.set(
      step.name,
      seen.map((call) => call?.result ?? ''),
    )
    return true
  }

  #calls(step: Step, acts: readonly ToolCall[]): Utterance {
    const calls = acts.map(({ name, namespace, args }, at): UtteranceCall => {
      const text = typeof args === 'string' ? args : JSON.stringify(args)
      return { id: `call_${this.traffic.requests}_${at}`, name, namespace, custom: typeof args === 'string', args: pieces(text) }
    })
    return { reasoning: ['I take the step ', step.name], calls }
  }

  #summary(view: View): Utterance {
    this.summaries++
    const { agent, steps } = this.#options
    const done = steps.filter((step) => {
      return (
        this.results.has(step.name) || this.#isDone(step, this.#chooseActs(step, this.last ?? view), view) || this.#isRetold(step, view)
      )
    })
    const text = `What was done so far: ${done.map(mark).join(' ')}`
    return { text: [agent.summary?.(text) ?? text] }
  }

  /** True where the conversation that is to be summarised comes as text, with the results in it, as OpenCode's does. */
  #isRetold({ name, results = [] }: Step, view: View): boolean {
    const text = view.heard.join('\n')
    if (results.length === 0 || !results.every((result) => result.test(text))) return false
    this.results.set(name, Array<string>(results.length).fill(text))
    return true
  }

  #count(view: View, output: number): { input: number; output: number; cached: number } {
    const { cacheable } = view
    const repeated = Math.max(0, ...this.#earlier.map((each) => commonStart(each, cacheable)))
    this.#earlier.push(kept(this.#options.wire, view))
    const usage = { input: tokens(cacheable.length), output: tokens(output), cached: tokens(repeated) }
    this.traffic.requests++
    this.traffic.sent += usage.input
    this.traffic.repeated += usage.cached
    this.traffic.received += usage.output
    return usage
  }

  #waitFor(request: Seen): () => Promise<undefined> {
    return () => {
      this.#stall(request)
      return new Gate().step()
    }
  }
}
