/** Items of shell calls, and what they were to the model when a caller sends them back. */
import type { JsonObject, Opaque, Recalled } from '../../plugin-api/index.ts'

export function idFor(prefix: string, callId: string): string {
  return `${prefix}_${callId.replace(/[^A-Za-z0-9]/g, '')}`
}

/** @param own type of the gateway's own items: `router:shell`. */
export function recallsShell(own: string): (item: Opaque) => readonly Recalled[] | undefined {
  return ({ dialect, type, data }) => {
    if (dialect !== 'responses') return undefined
    const callId = String(data.call_id)
    const call = (): Recalled => ({ kind: 'call', callId, function: 'shell', args: argumentsOf(data) })
    const result = (): Recalled => ({ kind: 'result', callId, text: JSON.stringify(data.output ?? []) })
    if (type === 'shell_call') return [call()]
    if (type === 'shell_call_output') return [result()]
    return type === own && typeof data.call_id === 'string' ? [call(), result()] : undefined
  }
}

/** As the model wrote them, where the caller has kept that. */
function argumentsOf({ arguments: written, action }: JsonObject): string {
  return typeof written === 'string' ? written : JSON.stringify(action ?? {})
}
