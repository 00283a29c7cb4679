/**
 * Stand-ins of real providers for the two-turn matrix: each serves one shipped preset, accepts what that provider accepts and nothing
 * else, refuses with the provider's status and body, and verifies what it has signed itself. Rules come from the provider's own
 * material or from recorded traffic, never from what this gateway sends.
 */
import { createHmac, randomBytes } from 'node:crypto'
import type { JsonObject } from '../../src/core/json.ts'
import { type Answer, jsonAnswer, type Seen, startUpstream } from '../support/upstream.ts'
import { ALL_WIRES, type AnyWireName, streamAnswer, type Utterance, type Wire } from '../support/wire.ts'

export interface Refusal {
  readonly status: number
  /** As this provider writes it. */
  readonly body: JsonObject
  readonly headers?: Record<string, string>
}

const issuedAnywhere = new Set<string>()

/** Signatures of a stand-in for its account. Another account's, and what was changed since, do not verify. */
export class Signatures {
  readonly #secret = randomBytes(16)
  /** Signed texts that came back since the last `reset()`. */
  returned = 0

  sign(text: string): string {
    return createHmac('sha256', this.#secret).update(text).digest('base64')
  }

  /** @param text what was signed; undefined where the wire sends a signature back without its text. */
  verify(signature: unknown, text?: string): boolean {
    const known = typeof signature === 'string' && (text === undefined ? this.#signed.has(signature) : this.sign(text) === signature)
    if (known) this.returned++
    return known
  }

  readonly #signed = new Set<string>()

  /** Signs, and knows the signature again without its text. */
  issue(text: string): string {
    const signature = this.sign(text)
    this.#signed.add(signature)
    issuedAnywhere.add(signature)
    return signature
  }

  /** Counts a signature of a recording as issued by an account that is not here. */
  static announce(signature: string): void {
    issuedAnywhere.add(signature)
  }

  /** True for what any stand-in has issued: a provider may leave out what another account of its own supplier holds, without a refusal. */
  static isIssued(signature: string): boolean {
    return issuedAnywhere.has(signature)
  }
}

/** A model of the provider, and what the scenarios may expect of it. */
export interface RuledModel {
  /** As callers of the gateway name it. */
  readonly slug: string
  /** The provider's own name. */
  readonly name: string
  /** YAML of the model's entry below `models`, for a model that no shipped catalogue file has. */
  readonly entry?: string
  readonly reasons?: boolean
  readonly images?: boolean
  /** False where the provider takes no tools: the conversations that go on with results of calls do not apply. */
  readonly tools?: false
  /** More fields of each request, the same in every format: what chooses this provider's endpoint of a model that several serve. */
  readonly more?: JsonObject
}

export interface Call {
  readonly request: Seen
  readonly body: JsonObject
  readonly model: RuledModel
  readonly signatures: Signatures
}

/** One provider's rules. */
export interface Rules {
  /** File of `config/providers`. */
  readonly preset: string
  /** Its name under `providers`, where the shipped catalogue knows it by another one. */
  readonly slug?: string
  readonly wire: AnyWireName
  /** YAML of more settings of the provider, in a mapping of one line. */
  readonly settings?: string
  /** Variables of the preset that are no secrets. */
  readonly variables?: Readonly<Record<string, string>>
  /** Sources of the rules: package and version, reference, names of recordings, issues. */
  readonly sources: readonly string[]
  readonly models: readonly RuledModel[]
  /** Path of the request below the preset's address, for this model, streamed or not. */
  path(model: RuledModel, stream: boolean): string
  /** Fault of the key; undefined where it is the right one. @param key the secret of the account. */
  denied(request: Seen, key: string): Refusal | undefined
  /** The first rule that the request breaks. */
  check(call: Call): Refusal | undefined
  /** Form of ids and signatures of this provider. As given where absent. */
  says?(utterance: Utterance, call: Call): Utterance
  /** Changes to a whole reply or to each event of a stream, where the provider departs from its wire. */
  rewrite?(written: JsonObject): JsonObject
}

/** Reply of the model, and what a stream waits for when half of it is sent. */
export interface Played {
  readonly utterance: Utterance
  readonly wait?: (() => Promise<undefined>) | undefined
  /** A stream that ends as it should not, in place of the one that says so. */
  readonly broken?: ((utterance: Utterance) => Answer) | undefined
}

export interface StandIn {
  readonly rules: Rules
  readonly url: string
  readonly signatures: Signatures
  /** Requests that were accepted and answered, in order. */
  readonly accepted: JsonObject[]
  /** Refused requests, in order, each with the body that was sent. */
  readonly refused: { readonly refusal: Refusal; readonly body: JsonObject }[]
  /** Next reply of the model. */
  utterance: Utterance
  /** Chooses what the model says by the request, in place of `said`. */
  play: ((call: Call) => Played) | undefined
  /** The next request that the rules accept fails, once: with this status, or the reply ends before any content. */
  failNext: number | 'cut' | undefined
  close(): Promise<void>
}

const KEY = 'sk-of-the-account'

/** The variables of a preset's key and address, set for a stand-in. */
export const SECRET = KEY

function rewritten(answer: Answer, rewrite: (written: JsonObject) => JsonObject): Answer {
  const body = (answer.body ?? []).map((step) => {
    if (typeof step !== 'string') return step
    if (!step.includes('data: ')) return JSON.stringify(rewrite(JSON.parse(step) as JsonObject))
    return step.replace(/^data: (\{.*\})$/gm, (_line, json: string) => `data: ${JSON.stringify(rewrite(JSON.parse(json) as JsonObject))}`)
  })
  return { ...answer, body }
}

/** The first part of a reply whose connection closes before any content: half of what comes first. */
function cutAnswer({ body = [], ...answer }: Answer): Answer {
  const [first] = body
  const half = typeof first === 'string' || Buffer.isBuffer(first) ? [first.slice(0, Math.floor(first.length / 2))] : []
  return { ...answer, body: half, after: 'close' }
}

/** The same with a wait in its middle. */
function withWait({ body = [], ...answer }: Answer, wait: Played['wait']): Answer {
  const half = Math.floor(body.length / 2)
  return { ...answer, body: wait ? [...body.slice(0, half), wait, ...body.slice(half)] : body }
}

/** @param root path of the preset's address, such as `/v1`. */
export async function startStandIn(rules: Rules, root: string): Promise<StandIn> {
  const wire: Wire = ALL_WIRES[rules.wire]
  const signatures = new Signatures()
  const refuse = (refusal: Refusal, body: JsonObject): Answer => {
    standIn.refused.push({ refusal, body })
    return jsonAnswer(refusal.body, refusal.status, refusal.headers)
  }
  const upstream = await startUpstream((request) => {
    // A list of models that the gateway discovers.
    if (request.method === 'GET') return jsonAnswer({ object: 'list', data: [] })
    const body = request.json
    const path = request.path.replace(/\?.*$/s, '')
    const isStream = wire.streams(request)
    const model = rules.models.find((each) => path === root + rules.path(each, isStream) && (body.model ?? each.name) === each.name)
    if (!model) return refuse({ status: 404, body: wire.error(404, `no such route or model: ${path} ${String(body.model)}`) }, body)
    const denied = rules.denied(request, KEY)
    if (denied) return refuse(denied, body)
    const call: Call = { request, body, model, signatures }
    const refusal = rules.check(call)
    if (refusal) return refuse(refusal, body)
    const failure = standIn.failNext
    standIn.failNext = undefined
    if (typeof failure === 'number') return jsonAnswer(wire.error(failure, 'overloaded'), failure)
    if (failure === undefined) standIn.accepted.push(body)
    const { utterance: next, wait, broken }: Played = standIn.play?.(call) ?? { utterance: standIn.utterance }
    const utterance = rules.says?.(next, call) ?? next
    if (isStream && broken) return broken({ ...utterance, model: model.name })
    const answer = isStream
      ? withWait(streamAnswer(wire, wire.frames({ ...utterance, model: model.name })), wait)
      : jsonAnswer(wire.reply({ ...utterance, model: model.name }))
    const own = rules.rewrite ? rewritten(answer, rules.rewrite) : answer
    return failure === 'cut' ? cutAnswer(own) : own
  })
  const standIn: StandIn = {
    rules,
    url: upstream.url,
    signatures,
    accepted: [],
    refused: [],
    utterance: { text: ['Fine.'] },
    play: undefined,
    failNext: undefined,
    close: () => upstream.close(),
  }
  return standIn
}
