/**
 * The messages of Codex's own WebSocket, as codex 0.169.0 sent them in a session (`test/fixtures/codex-websocket.json`; texts,
 * descriptions of tools and ids are shortened). `test/agents/codex.agent.ts` runs the agent itself.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { JsonObject } from '../../../src/core/json.ts'
import { oneModel, startGateway } from '../../support/gateway.ts'
import { lastEvent, openSocket, refusedSocket, responseId } from '../../support/responses-socket.ts'
import { startScene } from '../../support/scene.ts'
import { answerFor, type Utterance } from '../../support/wire.ts'

interface Session {
  headers: Record<string, string>
  messages: (JsonObject & { input: JsonObject[] })[]
}

const path = new URL('../../fixtures/codex-websocket.json', import.meta.url)
const session = JSON.parse(readFileSync(path, 'utf8')) as Session
const UTTERANCES: readonly Utterance[] = [{ calls: [{ id: 'call_1', name: 'exec_command', args: ['{"cmd":"ls"}'] }] }, { text: ['Done.'] }]

t.test('a session of codex 0.169.0', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    answer: (seen, index) => answerFor(seen, UTTERANCES[index] ?? {}),
    config: (url) => `${oneModel(url, 'openai-responses')}aliases: { openai/gpt-5.5: acme/one }\n`,
  })
  const client = await openSocket({ url: gateway.url, key: gateway.key, headers: session.headers })
  let last = ''
  const types: unknown[][] = []
  for (const message of session.messages) {
    // The ids of responses are the gateway's.
    client.send({ ...message, ...(message.previous_response_id === undefined ? {} : { previous_response_id: last }) })
    const reply = await client.reply()
    last = responseId(reply)
    t.match(lastEvent(reply), { type: 'response.completed', response: { id: last, usage: { total_tokens: /^\d+$/ } } })
    types.push(reply.map(({ type }) => type))
  }
  t.same(types[0], ['response.created', 'response.in_progress', 'response.completed'], 'the warm-up says nothing')
  const [warm, turn, result] = session.messages.map(({ input }) => input)
  const call = { type: 'function_call', call_id: 'call_1', name: 'exec_command' }
  t.match(upstream.requests[0]?.json.input, [...(warm ?? []), ...(turn ?? [])])
  t.match(upstream.requests[1]?.json.input, [...(warm ?? []), ...(turn ?? []), call, ...(result ?? [])])
  t.equal(upstream.requests.length, 2)
  for (const { json } of upstream.requests) {
    t.match(json, {
      prompt_cache_key: session.messages[0]?.prompt_cache_key,
      include: ['reasoning.encrypted_content'],
      stream: true,
      store: false,
    })
    t.same(json.tools, session.messages[0]?.tools)
  }
})

t.test('its failures have a code that it reads: a word or null', async (t) => {
  const gateway = await startGateway(oneModel('http://127.0.0.1:9', 'openai-responses', { provider: 'timeouts: { connect: 1s }' }))
  t.teardown(() => gateway.close())
  const client = await openSocket({ url: gateway.url, key: gateway.key, headers: session.headers })
  const failures: JsonObject[] = [
    { model: 'acme/none', input: 'x' },
    { model: 'acme/one', input: 7 },
    { model: 'acme/one', input: 'x', previous_response_id: 'resp_1' },
    { model: 'acme/one', input: 'x' },
  ]
  for (const body of failures) {
    const { type, status, error } = lastEvent(await client.respond(body)) as { type: string; status: number; error: JsonObject }
    t.equal(type, 'error')
    t.ok(status >= 400, `${status}`)
    t.ok(error.code === null || typeof error.code === 'string', `${error.code}`)
  }
  const older = { ...session.headers, 'openai-beta': 'responses_websockets=2026-02-04' }
  t.match(await refusedSocket({ url: gateway.url, key: gateway.key, headers: older }), { status: 426 }, 'after which it uses HTTP')
})
