/** A small MCP server over standard input and output, for the agents: `lookup` finds the number of a word. */
import { createInterface } from 'node:readline'
import type { JsonObject } from '../../src/core/json.ts'
import { object } from '../support/fold.ts'

const TOOL = {
  name: 'lookup',
  description: 'Finds the number under which a word stands in the ledger',
  inputSchema: { type: 'object', properties: { word: { type: 'string', description: 'The word' } }, required: ['word'] },
  annotations: { readOnlyHint: true },
}

/** Result of `lookup` finds for a word. */
export const numberSentence = (word: string): string => `The word ${word} stands under number ${word.length * 1111}.`

function methodResult(method: string, params: JsonObject): JsonObject | undefined {
  switch (method) {
    case 'initialize':
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'ledger', version: '1.0.0' } }
    case 'ping':
      return {}
    case 'tools/list':
      return { tools: [TOOL] }
    case 'tools/call':
      return { content: [{ type: 'text', text: numberSentence(String(object(params.arguments).word)) }], isError: false }
  }
  return undefined
}

function serve(): void {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method, params } = JSON.parse(line) as JsonObject
    if (id === undefined || method === undefined) return
    const result = methodResult(String(method), object(params))
    const reply = result ? { result } : { error: { code: -32601, message: `Method not found: ${String(method)}` } }
    process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...reply })}\n`)
  })
}

if (import.meta.main) serve()
