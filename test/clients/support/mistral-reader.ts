/** Mistral's client in JavaScript, and how it takes the end of an answer. */
import { Mistral } from '@mistralai/mistralai'
import type { Account, Read, Reading } from './task-program.ts'

const ENDS: ReadonlySet<unknown> = new Set(['stop', 'tool_calls'])

const argumentsText = (args: unknown): string => (typeof args === 'string' ? args : JSON.stringify(args))

export function mistralReaders({ url, key }: Account): Record<string, Read> {
  const client = new Mistral({ apiKey: key, serverURL: url, retryConfig: { strategy: 'none' } })

  async function read(model: string, prompt: string, stream: boolean): Promise<Reading> {
    const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object', properties: {} } } }]
    const body = { model, messages: [{ role: 'user' as const, content: prompt }], tools }
    const calls: string[] = []
    let reason: string | null | undefined
    if (stream) {
      for await (const { data } of await client.chat.stream(body))
        for (const choice of data.choices) {
          reason = choice.finishReason ?? reason
          for (const call of choice.delta.toolCalls ?? [])
            calls[call.index ?? 0] = (calls[call.index ?? 0] ?? '') + argumentsText(call.function.arguments)
        }
    } else {
      const [choice] = (await client.chat.complete(body)).choices
      reason = choice.finishReason
      for (const call of choice.message?.toolCalls ?? []) calls.push(argumentsText(call.function.arguments))
    }
    return { kind: reason ? (ENDS.has(reason) ? 'finished' : 'shown') : 'silent', calls }
  }
  return { 'mistral in JavaScript': read }
}
