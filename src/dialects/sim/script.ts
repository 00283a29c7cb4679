/** Answer of each simulated model: a list of blocks, before caps, stop sequences and pace. */
import { entryAt } from '../../core/entry-at.ts'
import type { Json } from '../../core/json.ts'
import type { CanonicalRequest } from '../canon/request.ts'
import { nextMove } from './agent.ts'
import { schemaInstance } from './instance.ts'
import { type FunctionTool, functionTools, lastUserAt, lastUserText, partsText, type Steering } from './request.ts'
import { countTokens, pieces } from './tokens.ts'

export interface ScriptBlock {
  kind: 'text' | 'reasoning' | 'summary' | 'call'
  text: string
  item?: string
  call?: { id: string; name: string }
  /** Counts as reasoning, but is not shown. */
  hidden?: boolean
}

type Script = (request: CanonicalRequest, steering: Steering) => ScriptBlock[]

const say = (text: string): ScriptBlock => ({ kind: 'text', text })

const SCRIPTS: ReadonlyMap<string, Script> = new Map([
  ['echo', (request) => [say(lastUserText(request) || 'There was no text to repeat.')]],
  ['story', (_request, steering) => [say(story(steering.words))]],
  ['tools', useTools],
  ['think', think],
  ['agent', playAgent],
  ['json', (request) => [say(JSON.stringify(structured(request)))]],
])

/** The answer's blocks; undefined where there is no such model. */
export function script(model: string, request: CanonicalRequest, steering: Steering): ScriptBlock[] | undefined {
  return SCRIPTS.get(model)?.(request, steering)
}

function structured(request: CanonicalRequest): unknown {
  if (request.format?.type === 'json_schema' && request.format.schema) return schemaInstance(request.format.schema)
  return { answer: lastUserText(request) }
}

function think(request: CanonicalRequest): ScriptBlock[] {
  const question = lastUserText(request)
  const { enabled, effort, exclude, maxTokens, summary } = request.reasoning ?? {}
  const answer = say(`You said: ${question}`)
  if (enabled === false || effort === 'none') return [answer]
  const text = firstTokens(
    `The user wrote ${countTokens(question)} tokens. I read them twice, look for the point, and answer with the same words.`,
    maxTokens,
  )
  const blocks: ScriptBlock[] = [{ kind: 'reasoning', text, item: 'thought', hidden: exclude === true }]
  if (summary !== undefined && summary !== 'none' && exclude !== true) {
    blocks.push({ kind: 'summary', text: 'I read the message and repeat it.', item: 'thought' })
  }
  return [...blocks, answer]
}

function firstTokens(text: string, most: number | undefined): string {
  return most === undefined ? text : [...pieces(text)].slice(0, Math.max(1, most)).join('')
}

/** Agents have titles made in between, as JSON: that is no turn of the task. */
function playAgent(request: CanonicalRequest): ScriptBlock[] {
  if (request.format?.type === 'json_schema') return [say(JSON.stringify(structured(request)))]
  const { text, calls } = nextMove(request)
  const before = callsIn(request)
  return [say(text), ...calls.map(({ name, args }, at) => scriptedCall(name, args, before + at + 1))]
}

function useTools(request: CanonicalRequest, steering: Steering): ScriptBlock[] {
  const tools = functionTools(request)
  const results = resultsOfTurn(request)
  const choice = request.toolChoice
  const first = choice?.mode === 'named' ? tools.findIndex((tool) => tool.name === choice.name) : 0
  const callable = choice?.mode !== 'none' && first >= 0 && tools.length > 0
  if (callingTurns(request) >= steering.calls || (results.length > 0 && !callable)) return [say(quote(results))]
  if (!callable) return [say('No tool that I may call was offered.')]
  const many = request.sampling.parallelToolCalls === false ? 1 : steering.parallel
  const before = callsIn(request)
  return Array.from({ length: many }, (_, i) => callBlock(entryAt(tools, (first + i) % tools.length), before + i + 1))
}

function callBlock(tool: FunctionTool, number: number): ScriptBlock {
  return scriptedCall(tool.name, schemaInstance(tool.parameters ?? { type: 'object' }), number)
}

function scriptedCall(name: string, args: Json, number: number): ScriptBlock {
  return { kind: 'call', text: JSON.stringify(args), call: { id: `call_sim_${number}`, name } }
}

const callsIn = ({ items }: CanonicalRequest): number => items.reduce((sum, item) => sum + (item.kind === 'call' ? 1 : 0), 0)

interface ToolResult {
  name: string
  text: string
}

/** Tool results since the last user message. */
function resultsOfTurn(request: CanonicalRequest): ToolResult[] {
  const names = new Map<string, string>()
  for (const item of request.items) if (item.kind === 'call') names.set(item.callId, item.name)
  const results: ToolResult[] = []
  for (const item of request.items.slice(lastUserAt(request) + 1)) {
    if (item.kind === 'result') results.push({ name: names.get(item.callId) ?? item.callId, text: partsText(item.parts) })
  }
  return results
}

/** Runs of results since the last user message: each answered one turn of calls. */
function callingTurns(request: CanonicalRequest): number {
  let turns = 0
  let before = ''
  for (const item of request.items.slice(lastUserAt(request) + 1)) {
    if (item.kind === 'result' && before !== 'result') turns++
    before = item.kind
  }
  return turns
}

function quote(results: readonly ToolResult[]): string {
  return results.map(({ name, text }) => `The tool ${name} answered: ${text}`).join('\n')
}

const SENTENCES = [
  'A small boat left the harbor before the sun came up.',
  'The sea was calm and the wind came from the west.',
  'An old sailor told the child how to read the stars.',
  'They saw a green island far away and set a course for it.',
  'On the beach lay a wooden box with a rusty lock.',
  'Nobody could open it until the tide brought the key.',
  'Inside was a map of a river that no one had named.',
  'So they sailed on, and the night was full of light.',
]
const WORDS = SENTENCES.join(' ').split(' ')

/**
 * A text without meaning that is the same every time, so that two runs can be compared.
 * Exactly so many words, ending with a full stop.
 */
function story(words: number): string {
  const text: string[] = []
  for (let i = 0; i < words; i++) text.push(entryAt(WORDS, i % WORDS.length))
  const joined = text.join(' ')
  return joined === '' || joined.endsWith('.') ? joined : `${joined.replace(/,$/, '')}.`
}
