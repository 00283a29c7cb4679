/** Tools and the choice among them as `toolConfig`. */
import { asObjects, asString, isObject, type JsonObject } from '../../core/json.ts'
import { offeredTools } from '../canon/allowed-tools.ts'
import { fitSchema } from '../canon/claude-schema.ts'
import type { CanonicalRequest, ToolChoice, ToolSpec } from '../canon/request.ts'
import type { Target } from '../types.ts'
import { signsReasoning } from './wire.ts'

type FunctionTool = Extract<ToolSpec, { kind: 'function' }>

export interface WrittenTools {
  readonly toolConfig?: JsonObject
  /** Members of `additionalModelRequestFields`. */
  readonly fields?: JsonObject
  /** Text for the model in place of a choice that it does not take. */
  readonly instruction?: string
}

interface Rules {
  readonly target: Target
  readonly dropped: Set<string>
  /** False where no call can be forced. */
  readonly forces: boolean
}

/** The service wants an object (API reference, ToolInputSchema). */
function inputSchema(parameters: JsonObject | null | undefined): JsonObject {
  if (!parameters) return { type: 'object', properties: {} }
  return parameters.type === undefined ? { type: 'object', ...parameters } : parameters
}

function encodeFunction(tool: FunctionTool, { target: { quirks, supported }, dropped }: Rules): JsonObject[] {
  const spec: JsonObject = { name: tool.name }
  // "Member must have length greater than or equal to 1" (ToolSpecification).
  if (tool.description !== undefined && tool.description.trim() !== '') spec.description = tool.description
  let json = inputSchema(tool.parameters)
  if (tool.strict === true) {
    const isTaken = quirks.json_schema !== 'words' && (supported?.has('structured_outputs') ?? true)
    if (isTaken) {
      spec.strict = true
      json = fitSchema(json, (keyword) => dropped.add(`tools.parameters.${keyword}`))
    } else dropped.add('tools.strict')
  }
  spec.inputSchema = { json }
  if (!tool.cache) return [{ toolSpec: spec }]
  if (quirks.body?.drop?.includes('cache_control')) {
    dropped.add('cache_control')
    return [{ toolSpec: spec }]
  }
  return [{ toolSpec: spec }, { cachePoint: tool.cache.ttl === '1h' ? { type: 'default', ttl: '1h' } : { type: 'default' } }]
}

function encodeTools(tools: readonly ToolSpec[], rules: Rules): JsonObject[] {
  return tools.flatMap((tool) => {
    if (tool.kind === 'function') return encodeFunction(tool, rules)
    rules.dropped.add(`tools.${tool.kind === 'server' ? tool.name : tool.of.type}`)
    return []
  })
}

/** Names of the functions that a conversation has called. */
function calledIn(messages: readonly JsonObject[]): string[] {
  const names = new Set<string>()
  let hasBlocks = false
  for (const { content } of messages)
    for (const { toolUse, toolResult } of asObjects(content)) {
      if (isObject(toolUse)) names.add(asString(toolUse.name) ?? '')
      hasBlocks ||= toolUse !== undefined || toolResult !== undefined
    }
  return names.size === 0 && hasBlocks ? ['tool'] : [...names]
}

/** "The toolConfig field must be defined when using toolUse and toolResult content blocks" (aws-samples/bedrock-access-gateway pull 239). */
function placeholders(messages: readonly JsonObject[]): JsonObject[] {
  return calledIn(messages).map((name) => ({ toolSpec: { name, inputSchema: { json: { type: 'object', properties: {} } } } }))
}

const instructionFor = (choice: ToolChoice): string =>
  choice.mode === 'named'
    ? `Call the tool "${choice.name}" now, whatever else you have to say.`
    : 'Call one of the tools now, whatever else you have to say.'

/** The wire has no word for none (boto3 issue 4687). */
const NO_CALLS = 'Do not call any tool now: reply with text.'

function encodeChoice(choice: ToolChoice | undefined, { dropped, forces }: Rules): { toolChoice?: JsonObject; instruction?: string } {
  if (choice === undefined) return {}
  if (choice.mode === 'opaque') {
    dropped.add('tool_choice')
    return {}
  }
  if (choice.mode === 'auto') return { toolChoice: { auto: {} } }
  if (choice.mode === 'none') {
    dropped.add('tool_choice')
    return { instruction: NO_CALLS }
  }
  if (forces) return { toolChoice: choice.mode === 'named' ? { tool: { name: choice.name } } : { any: {} } }
  dropped.add('tool_choice')
  return { toolChoice: { auto: {} }, instruction: instructionFor(choice) }
}

/**
 * One call at a time: only Claude has a field for it, which the service passes on. The type of its choice must not contradict `toolChoice`,
 * and must be there without one (BerriAI/litellm pull 34347, issue 36536).
 */
function serialFields(hasChoice: boolean, { target: { quirks }, dropped }: Rules): JsonObject | undefined {
  if (!signsReasoning(quirks)) {
    dropped.add('parallel_tool_calls')
    return undefined
  }
  return { tool_choice: hasChoice ? { disable_parallel_tool_use: true } : { type: 'auto', disable_parallel_tool_use: true } }
}

/** @param messages as they are sent. */
export function encodeToolConfig(request: CanonicalRequest, messages: readonly JsonObject[], rules: Rules): WrittenTools {
  const { supported, quirks } = rules.target
  const { dropped } = rules
  const offered = offeredTools(request)
  const isSent = (supported?.has('tools') ?? true) && quirks.body?.drop?.includes('tools') !== true
  if (!isSent && offered.tools.length > 0) dropped.add('tools')
  const held = placeholders(messages)
  const written = isSent ? encodeTools(offered.tools, rules) : []
  const isNone = offered.toolChoice?.mode === 'none'
  // Without calls in the conversation, no tools are none to call.
  const tools = isNone && held.length === 0 ? [] : written.length > 0 ? written : held
  if (tools.length === 0) {
    if (written.length === 0 && offered.toolChoice && !isNone && request.tools.length > 0) dropped.add('tool_choice')
    return {}
  }
  if (written.length === 0) return { toolConfig: { tools }, ...(offered.tools.length === 0 ? { instruction: NO_CALLS } : {}) }
  const takesChoice = (supported?.has('tool_choice') ?? true) && quirks.body?.drop?.includes('tool_choice') !== true
  if (!takesChoice && offered.toolChoice) dropped.add('tool_choice')
  const { toolChoice, instruction } = encodeChoice(takesChoice ? offered.toolChoice : undefined, rules)
  const isSerial = request.sampling.parallelToolCalls === false && !isNone
  const isAuto = toolChoice?.auto !== undefined
  const fields = isSerial ? serialFields(toolChoice !== undefined && !isAuto, rules) : undefined
  const choice = fields && isAuto ? undefined : toolChoice
  return {
    toolConfig: choice ? { tools, toolChoice: choice } : { tools },
    ...(fields ? { fields } : {}),
    ...(instruction === undefined ? {} : { instruction }),
  }
}
