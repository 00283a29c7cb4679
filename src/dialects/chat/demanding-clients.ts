/**
 * Clients that refuse a stream of tool calls as OpenAI writes it, by how their `User-Agent` begins. Mistral's two demand the name of the
 * function in every piece of a call (`FunctionCall.name` of @mistralai/mistralai 2.7.0 and mistralai 3.7.0 has no default), and raise
 * when the second one comes. An empty name satisfies them; other clients join or ignore it.
 */
import type { IncomingHttpHeaders } from 'node:http'

const NAME_IN_EVERY_PIECE = /^mistral-client-/

/** True for callers whose pieces of calls all have a name. */
export function demandsNames({ 'user-agent': agent }: IncomingHttpHeaders): boolean {
  return agent !== undefined && NAME_IN_EVERY_PIECE.test(agent)
}
