/**
 * Each conversation in each client format, whole and streamed, over each wire that a server speaks, equal to the server's own reply to the
 * token. What differs is counted by the wire, and the counts stand in docs/behaviour/model-servers.md: `HEADGATE_WRITE=1` writes them anew.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import { eventually } from '../support/eventually.ts'
import type { Gateway } from '../support/gateway.ts'
import { CLIENTS, type Client } from '../support/matrix/clients.ts'
import { CONVERSATIONS } from './conversations.ts'
import { directReply, expectedReply, found, type ServedWire, written } from './same-reply.ts'

const FIGURES = new URL('../fixtures/model-servers.json', import.meta.url)

export interface Figures {
  readonly version: string
  readonly wires: Readonly<Record<string, { equal: number; ours: number; known: number }>>
}
export type AllFigures = Readonly<Record<string, Figures>>

export const readFigures = (): AllFigures => JSON.parse(readFileSync(FIGURES, 'utf8')) as AllFigures

/** A difference that is the server's, or the format's. */
export interface Known {
  readonly wires: readonly ServedWire[]
  readonly conversations: RegExp
  readonly clients?: readonly Client['id'][]
  /** Beginning of each difference. */
  readonly differs: RegExp
}

export interface Suite {
  readonly name: string
  readonly version: string
  readonly url: string
  readonly gateway: Gateway
  /** Name of the model at the server. */
  readonly served: string
  /** Of the gateway, by the wire. */
  readonly models: Readonly<Partial<Record<ServedWire, string>>>
  readonly known?: readonly Known[]
  /** Parts of a reply that the server draws anew, such as signatures without a meaning. */
  readonly drawn?: readonly string[]
  /** The largest output cap that the server takes; callers of the gateway may send more. */
  readonly largestCap?: number
}

/** The format of Responses has no stop texts: the gateway ends such a reply itself. */
const takesStops = ({ id }: Client, wire: ServedWire): boolean => id !== 'responses' && wire !== 'openai-responses'

export async function testConversations(
  t: Test,
  { name, version, url, gateway, served, models, known = [], drawn, largestCap = Number.POSITIVE_INFINITY }: Suite,
): Promise<void> {
  const figures: Record<string, { equal: number; ours: number; known: number }> = {}
  for (const [wire, model] of Object.entries(models) as [ServedWire, string][])
    await t.test(`conversations over ${wire}`, async (t) => {
      await eventually(model, async () => (await gateway.get(`/v1/models/${model}`)).status === 200)
      const counts = { equal: 0, ours: 0, known: 0 }
      for (const { name: conversation, asked } of CONVERSATIONS) {
        const expected = expectedReply(wire, await directReply(url, wire, { ...asked, cap: Math.min(asked.cap, largestCap) }, served))
        for (const client of asked.stop ? CLIENTS.filter((one) => takesStops(one, wire)) : CLIENTS) {
          const accepted = known.filter(
            ({ wires, conversations, clients }) =>
              wires.includes(wire) && conversations.test(conversation) && (clients === undefined || clients.includes(client.id)),
          )
          for (const stream of [false, true]) {
            const all = await found(gateway, { client, wire, model, stream, body: written(client, asked), drawn }, expected)
            const ours = all.filter((text) => !accepted.some(({ differs }) => differs.test(text)))
            t.same(ours, [], `${conversation}, ${client.id}, ${stream ? 'streamed' : 'whole'}`)
            if (ours.length > 0) counts.ours++
            else if (all.length > 0) counts.known++
            else counts.equal++
          }
        }
      }
      figures[wire] = counts
    })
  const now: AllFigures = { ...readFigures(), [name]: { version, wires: figures } }
  if (process.env.HEADGATE_WRITE === '1') writeFileSync(FIGURES, `${JSON.stringify(now, null, 2)}\n`)
  const shown = (figures: Figures | undefined) =>
    Object.entries(figures?.wires ?? {}).map(([wire, { equal, ours, known }]) => ({ wire, replies: equal + ours + known, ours }))
  // How many differ by the server's doing may depend on how its stream is cut.
  t.same(shown(readFigures()[name]), shown(now[name]), 'the counts in the documents')
}
