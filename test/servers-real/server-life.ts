/**
 * A server behind the gateway beyond single replies, over each wire that it speaks: two turns with a tool, replies that come back as turns,
 * callers that leave, more requests than it serves at once, its end in the middle of an answer, and its return.
 */
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import { type Client, foldReply, wireClient } from '../recordings/callers.ts'
import { eventually, realTime } from '../support/eventually.ts'
import type { Gateway } from '../support/gateway.ts'
import type { Asked } from '../support/matrix/asked.ts'
import { CLIENTS } from '../support/matrix/clients.ts'
import { CONVERSATIONS, FOREVER, resultFor, WEATHER_TURN } from './conversations.ts'
import type { ModelServer } from './model-server.ts'
import { directReply, expectedReply, found, type ServedWire, written } from './same-reply.ts'

export interface Life {
  readonly server: ModelServer
  readonly gateway: Gateway
  /** Name of the model at the server. */
  readonly served: string
  /** Of the gateway, by the wire. */
  readonly models: Readonly<Partial<Record<ServedWire, string>>>
  /** Parts of a reply that the server draws anew, such as signatures without a meaning. */
  readonly drawn?: readonly string[]
  /** Beginnings of differences that are the server's: its streams are unlike its whole replies. */
  readonly streamed?: RegExp
  /** It writes whole replies to their end though their connection is closed. */
  readonly finishesWhole?: boolean
}

const lifeWires = ({ models }: Life): [ServedWire, string][] => Object.entries(models) as [ServedWire, string][]

/** A server writes with at least this share of a processor, and waits with less. */
const SHARE = 0.05
const WINDOW = 1000

/**
 * True if it writes an answer. It is not sent a request for that: llama.cpp's server looks whether the caller of a whole reply is there once
 * no result of any other request has come for a second (b11549, `server_response::recv_with_timeout`).
 */
async function isWorking({ server }: Life): Promise<boolean> {
  const before = server.processorTime()
  await realTime(WINDOW)
  return server.processorTime() - before > (SHARE * WINDOW) / 1000
}

function clientFor(wire: ServedWire): Client {
  const client = wireClient(wire)
  if (client === undefined) throw new Error(`no client speaks ${wire}`)
  return client
}

/** The second turn has the first reply, as each client sends it back, and the result of its call. */
export async function testToolTurns(t: Test, life: Life): Promise<void> {
  const { server, gateway, served, drawn, streamed } = life
  await t.test('two turns with a tool', async (t) => {
    for (const [wire, model] of lifeWires(life)) {
      const first = await directReply(server.url, wire, WEATHER_TURN, served)
      const [call] = clientFor(wire).fold(first).calls
      t.ok(call, `${wire}: the server's own reply is a call`)
      const second = { ...WEATHER_TURN, turns: [...WEATHER_TURN.turns, { replayed: first }, resultFor(call?.callId ?? '')] }
      const expected = expectedReply(wire, await directReply(server.url, wire, second, served))
      for (const client of CLIENTS) {
        const reply = await gateway.post(client.path, { model, ...client.write(WEATHER_TURN) })
        const replayed = (await reply.json()) as JsonObject
        const { callId = '' } = client.fold(replayed).calls[0] ?? {}
        const turns = { ...WEATHER_TURN, turns: [...WEATHER_TURN.turns, { replayed }, resultFor(callId)] }
        for (const stream of [false, true]) {
          const differs = await found(gateway, { client, wire, model, stream, body: client.write(turns), drawn }, expected)
          const ours = differs.filter((text) => !(stream && streamed?.test(text)))
          t.same(ours, [], `${wire}, ${client.id}, ${stream ? 'streamed' : 'whole'}`)
        }
      }
    }
  })
}

/** @param cap what each second turn may write. */
export async function testReplays(t: Test, life: Life, cap = 16): Promise<void> {
  const { gateway } = life
  await t.test('each reply is taken back as a turn', async (t) => {
    for (const [wire, model] of lifeWires(life))
      for (const client of CLIENTS) {
        const refused: string[] = []
        for (const { name, asked } of CONVERSATIONS) {
          const first = await gateway.post(client.path, { model, ...written(client, asked) })
          const replayed = (await first.json()) as JsonObject
          const { calls } = client.fold(replayed)
          const answer: Asked['turns'] =
            calls.length > 0
              ? [{ results: calls.map(({ callId }) => ({ id: callId, parts: [{ text: '7 degrees' }] })) }]
              : [{ user: [{ text: 'hello' }] }]
          const { schema: _, choice: __, ...rest } = asked
          const next = { ...rest, cap, turns: [...asked.turns, { replayed }, ...answer] }
          const second = await gateway.post(client.path, { model, ...written(client, next) })
          const text = await second.text()
          if (second.status !== 200) refused.push(`${name}: ${second.status} ${text}`)
        }
        t.same(refused, [], `${wire}, ${client.id}`)
      }
  })
}

export async function testLeaving(t: Test, life: Life): Promise<void> {
  const { server, gateway, served, finishesWhole = false } = life
  /** Resolves once the server works for a caller that has left. */
  const leave = async (url: string, path: string, body: JsonObject): Promise<void> => {
    const leaving = new AbortController()
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${gateway.key}` }
    const reply = fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal })
    reply.catch(() => undefined)
    await eventually('the server works', () => isWorking(life))
    leaving.abort()
    await reply.then((response) => response.text()).catch(() => undefined)
  }
  const stops = () => eventually('the server stops', async () => !(await isWorking(life)))
  await t.test('the work of a caller that leaves is stopped', async (t) => {
    for (const [wire, model] of lifeWires(life))
      for (const stream of finishesWhole ? [true] : [true, false]) {
        const { path, write } = clientFor(wire)
        await leave(gateway.url, path, { model, stream, ...write(FOREVER) })
        await stops()
        t.pass(`${wire}, ${stream ? 'streamed' : 'whole'}`)
      }
  })
  if (!finishesWhole) return
  await t.test('a whole reply is written to its end, without the gateway as well', async (t) => {
    const { path, write } = clientFor('openai-chat')
    await leave(server.url, path, { model: served, stream: false, ...write(FOREVER) })
    t.ok(await isWorking(life), 'it works on')
    await eventually('its end', async () => !(await isWorking(life)), { limit: 300_000 })
  })
}

/** @param count how many come at once: more than it serves. */
export async function testSaturation(t: Test, life: Life, count: number): Promise<void> {
  const { gateway } = life
  await t.test('more requests than it serves at once are all served', async (t) => {
    const wires = lifeWires(life)
    const answers = await Promise.all(
      Array.from({ length: count }, async (_, at) => {
        const [wire, model] = wires[at % wires.length]
        const client = clientFor(wire)
        const stream = at % 2 === 0
        const response = await gateway.post(client.path, { model, stream, ...client.write({ ...FOREVER, cap: 40 }) })
        const text = await response.text()
        return response.status === 200 ? foldReply(client, text, stream) : { error: text, text: '', reasoning: '' }
      }),
    )
    t.same(
      answers.filter(({ error }) => error).map(({ error }) => error),
      [],
      `${count} at once`,
    )
    t.ok(
      answers.every(({ text, reasoning }) => `${reasoning}${text}`.includes('It goes')),
      'each has its answer',
    )
  })
}

/** The stream up to the first words of the answer, then with `rest` to its end. */
async function begun(gateway: Gateway, [wire, model]: [ServedWire, string]): Promise<{ rest: () => Promise<string> }> {
  const { path, write } = clientFor(wire)
  const reader = (await gateway.post(path, { model, stream: true, ...write(FOREVER) })).body
    ?.pipeThrough(new TextDecoderStream())
    .getReader()
  let text = ''
  // A failed stream of Chat Completions ends without its last chunk (decision 27), which fetch reports as an error.
  const next = async (): Promise<boolean> => {
    const piece = await reader?.read().catch(() => undefined)
    text += piece?.value ?? ''
    return piece !== undefined && !piece.done
  }
  while (!text.includes('It goes') && (await next()));
  const rest = async (): Promise<string> => {
    while (await next());
    return text
  }
  return { rest }
}

export async function testRestart(t: Test, life: Life): Promise<void> {
  const { server, gateway } = life
  const wires = lifeWires(life)
  await t.test('a server that is killed in an answer and comes back', async (t) => {
    const replyStatus = async ([wire, model]: [ServedWire, string]): Promise<number> => {
      const { path, write } = clientFor(wire)
      const response = await gateway.post(path, { model, ...write(WEATHER_TURN) })
      await response.text()
      return response.status
    }
    // One after the other: a server that answers one request at a time has ended the first answer before it begins the second.
    for (const wire of wires) {
      const { rest } = await begun(gateway, wire)
      await server.kill()
      t.ok(foldReply(clientFor(wire[0]), await rest(), true).error, `${wire[0]}: the caller reads that it is cut`)
      t.match(await replyStatus(wire), /^50[23]$/, `${wire[0]}: while it is away`)
      await server.start()
      await eventually(`${wire[0]}: it serves again`, async () => (await replyStatus(wire)) === 200)
    }
  })
}
