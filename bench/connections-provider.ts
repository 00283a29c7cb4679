/** The provider of `connections-scenario.ts`: after the message `stale` it ends every connection that stood before at its next request. */
import type { Socket } from 'node:net'
import { rawJson, startRawUpstream } from '../test/support/raw-upstream.ts'
import { chatReply } from '../test/support/wire-chat.ts'

const [scenario, idle = '40'] = process.argv.slice(2)
const REPLY = rawJson(chatReply({ text: ['fine'] }))
/** Milliseconds of a round trip, and of a reply. */
const ROUND_TRIP = 40
const WORK = 100

let stale = false
const old = new Set<number>()
const held: Socket[] = []
const upstream = await startRawUpstream(({ socket: number }, socket) => {
  if (stale && old.has(number)) setTimeout(() => (scenario === 'reset' ? socket.resetAndDestroy() : socket.destroy()), ROUND_TRIP)
  else if (stale || scenario === 'silent names') setTimeout(() => socket.write(REPLY), WORK)
  else {
    old.add(number)
    // So that as many connections stand as there are calls.
    if (held.push(socket) >= Number(idle)) for (const each of held.splice(0)) each.write(REPLY)
  }
  return undefined
})
process.on('message', () => {
  stale = true
})
process.send?.({ port: Number(new URL(upstream.url).port) })
