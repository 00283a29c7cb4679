/** What is told of an agent's run. */
import type { Json, JsonObject } from '../../../src/core/json.ts'
import type { Seen } from '../../support/upstream.ts'

/** Tools of a request in any dialect; Gemini groups the declarations of functions. */
function toolsOf({ tools = [] }: JsonObject): number {
  const list = tools as { functionDeclarations?: Json[] }[]
  return list.reduce((sum, tool) => sum + (tool.functionDeclarations?.length ?? 1), 0)
}

/** Prints the sizes of the requests that the provider has seen, and how many tools each offered. */
export function report(name: string, seen: readonly Seen[]): void {
  const requests = seen.map(({ json, body }) => `${body.length} bytes with ${toolsOf(json)} tools`)
  console.log(`ok - ${name}: ${requests.join(', ')}`)
}
