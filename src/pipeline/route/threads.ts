/**
 * Conversations that a provider keeps, of which a request brings only what is new: `thread` of the Messages format. To a provider that
 * keeps none it would look whole, and be answered without the question.
 */
import { Fault } from '../../core/faults.ts'
import { isObject } from '../../core/json.ts'
import { narrow, type Routed } from '../exchange.ts'

/**
 * @returns with the endpoints that keep threads, where the request goes over one.
 * @throws Fault 400 where none does, in the words by which the tool runner of npm @anthropic-ai/sdk 1.12.0 sends the whole conversation from
 * then on (lib/internal/threads/ThreadState.js; findings/anthropic-tool-runner-sends-threads.sh).
 */
export function withThread(routed: Routed): Routed {
  const { client, body } = routed.request
  if (client.id !== 'messages' || !isObject(body.thread)) return routed
  const { endpoints } = routed.route
  const keeping = endpoints.filter(({ provider, quirks = provider.quirks }) => quirks.threads === true)
  if (keeping.length > 0 || endpoints.length === 0) return narrow(routed, keeping)
  throw new Fault('bad_request', {
    message: 'thread: no endpoint of the requested model keeps threads; send the whole conversation without `thread`',
    metadata: { field: 'thread', error_code: 'thread_unsupported_request' },
  })
}
