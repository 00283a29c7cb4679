/** Whatever comes from a server through the gateway is taken back: each reply of each conversation is sent as the next turn, and served. */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import type { Gateway } from '../support/gateway.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { nextTurn } from '../support/next-turn.ts'
import { CONVERSATIONS } from './conversations.ts'
import { type ServedWire, written } from './same-reply.ts'

/** @param models of the gateway, by the wire of their provider. */
export async function testNextTurns(t: Test, gateway: Gateway, models: Readonly<Partial<Record<ServedWire, string>>>): Promise<void> {
  for (const [wire, model] of Object.entries(models))
    await t.test(`each reply over ${wire} is taken back`, async (t) => {
      const refused: string[] = []
      let served = 0
      for (const { name, asked } of CONVERSATIONS)
        for (const client of CLIENTS)
          for (const stream of [false, true]) {
            const body: JsonObject = { model, ...written(client, asked) }
            const reply = await gateway.post(client.path, { ...body, stream })
            const text = await reply.text()
            const next = reply.status === 200 ? nextTurn(client, text, stream) : undefined
            if (!next) continue
            // A forced call would be forced again.
            const { tool_choice: _, ...free } = body
            const second = await gateway.post(client.path, { ...free, ...next })
            const answered = await second.text()
            if (second.status === 200) served++
            else refused.push(`${name}, ${client.id}, ${stream ? 'streamed' : 'whole'}: ${second.status} ${answered.slice(0, 300)}`)
          }
      t.ok(served > 100, `${served} turns`)
      t.same(refused, [])
    })
}
