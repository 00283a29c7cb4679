/**
 * A fallback in mid-conversation: the second turn reaches a provider that fails and is answered by one of another wire or account, with
 * reasoning, signatures and two parallel calls of the first turn in its history. The third goes to the provider that has recovered.
 */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { CLIENTS, type Client } from '../support/matrix/clients.ts'
import { droppedAt, type Matrix, type Reply, send } from './matrix.ts'
import { THOUGHT, type Turn, toolTurns } from './scenarios.ts'
import type { StandIn } from './stand-in.ts'

/** Providers whose replies hold signed or encrypted reasoning. */
const SIGNING = ['openai', 'azure-openai', 'anthropic', 'gemini', 'vertex-gemini', 'openrouter']

/** Prefix of reasoning that is bound to an account, in replies. */
const MARK = /^hg:[\w-]{8}:/

export interface Fallback {
  /** Fails in the second turn, and answers the third. */
  readonly first: StandIn
  /** Answers the second turn. */
  readonly second: StandIn
  /** Provider that answered the first turn, and signed its reasoning. */
  readonly signer: 'first' | 'second'
  readonly client: Client
  readonly stream: boolean
  readonly failure: 'cut' | number
}

const standInModel = ({ rules }: StandIn) => rules.models[0]

/** Text behind the answer of the second turn. */
function thirdTurn(second: Turn): Turn {
  return {
    asks: (replies, folded) => {
      const asked = second.asks(replies, folded)
      return { ...asked, turns: [...asked.turns, { replayed: replies[1] }, { user: [{ text: 'And tomorrow?' }] }] }
    },
    says: { text: ['The same.'] },
    wrong: ({ text }) => (text === 'The same.' ? undefined : `text ${JSON.stringify(text)}`),
  }
}

/** Runs one conversation of three turns and asserts on `t`. */
class Conversation {
  readonly #replies: Reply[] = []
  readonly #t: Test
  readonly #matrix: Matrix
  readonly #fallback: Fallback

  constructor(t: Test, matrix: Matrix, fallback: Fallback) {
    this.#t = t
    this.#matrix = matrix
    this.#fallback = fallback
  }

  async run(): Promise<void> {
    const t = this.#t
    const { first, second, signer, failure } = this.#fallback
    const author = signer === 'first' ? first : second
    for (const standIn of [first, second]) {
      standIn.refused.length = 0
      standIn.accepted.length = 0
      standIn.failNext = undefined
    }
    const [question, results] = toolTurns(standInModel(author))
    if (!(await this.#turn(question, [author]))) return
    author.signatures.returned = 0
    first.failNext = failure
    const before = second.accepted.length
    const reply = await this.#turn(results, [first, second])
    if (!reply) return
    t.equal(first.failNext, undefined, 'the first provider was called and failed')
    if (SIGNING.includes(author.rules.preset)) t.ok(author.signatures.returned > 0, 'what its account signed came back to it')
    await this.#carried(second.accepted[before] ?? {}, reply)
    if (await this.#turn(thirdTurn(results), [first, second])) t.equal(second.accepted.length, before + 1, 'the first has recovered')
  }

  /** @param chain the models that the caller lists, of these providers; the last is to answer. */
  async #turn(turn: Turn, chain: readonly StandIn[]): Promise<Reply | undefined> {
    const t = this.#t
    const [model, ...more] = chain.map((standIn) => standInModel(standIn).slug)
    for (const standIn of chain) standIn.utterance = turn.says
    const asked = turn.asks(
      this.#replies.map(({ whole }) => whole),
      this.#replies.map(({ folded }) => folded),
    )
    const fallbacks = more.length > 0 ? { models: more } : {}
    const reply = await send(this.#matrix.gateway, this.#fallback, { model, ...fallbacks, ...this.#fallback.client.write(asked) })
    t.same(
      chain.flatMap(({ refused }) => refused.map(({ refusal, body }) => `${JSON.stringify(refusal.body)} of ${JSON.stringify(body)}`)),
      [],
      'no provider refuses',
    )
    if (typeof reply === 'string') {
      t.fail(`turn ${this.#replies.length + 1}: ${reply}`)
      return undefined
    }
    t.equal(turn.wrong(reply.folded), undefined)
    this.#replies.push(reply)
    return reply
  }

  /** Holds what the second provider got against the first turn: nothing of it may be missing without its place in `dropped`. */
  async #carried(body: JsonObject, reply: Reply): Promise<void> {
    const t = this.#t
    const { signer } = this.#fallback
    const text = JSON.stringify(body)
    for (const result of ['Rain', '12:00']) t.match(text, result)
    t.notMatch(text, new RegExp(MARK.source.slice(1)), 'no mark of the gateway reaches a provider')
    const [{ folded }] = this.#replies
    if (signer === 'second') return
    const signed = folded.encrypted.map((each) => ({ isBound: MARK.test(each), value: each.replace(MARK, '') }))
    for (const { isBound, value } of signed) if (isBound) t.notOk(text.includes(value), 'nothing that is bound to another account')
    if (folded.reasoning === '' && signed.length === 0) return
    // What Claude signs is Claude's wherever it runs, and goes along.
    const isCarried = text.includes(THOUGHT) || signed.some(({ value }) => text.includes(value))
    const dropped = await droppedAt(this.#matrix.gateway, reply.id)
    if (!isCarried) t.match(dropped.join(' '), /reasoning/, 'the record names the reasoning that was left out')
  }
}

/** Every client format, streamed and whole, with the first turn answered by either; both failures come up in turn, or both for each. */
export async function runPair(t: Test, matrix: Matrix, pair: readonly [string, string], failures: 'either' | 'both'): Promise<void> {
  const [first, second] = pair.map((preset) => matrix.standIns.find(({ rules }) => rules.preset === preset))
  if (!first || !second) throw new Error(`no stand-in of ${pair.join(' or ')}`)
  let round = 0
  for (const client of CLIENTS)
    for (const stream of [false, true])
      for (const signer of ['first', 'second'] as const) {
        round++
        const all = ['cut', 503] as const
        for (const failure of failures === 'both' ? all : [all[Math.ceil(round / 2) % 2 === 0 ? 0 : 1]])
          await t.test(`${client.id}, ${stream ? 'streamed' : 'whole'}, ${failure}, ${signer} signs`, (t) =>
            new Conversation(t as unknown as Test, matrix, { first, second, signer, client, stream, failure }).run(),
          )
      }
}
