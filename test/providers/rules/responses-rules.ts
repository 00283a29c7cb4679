/** Rules of OpenAI's Responses API that its types do not state, each by recorded traffic or by the issue that quotes its refusal. */
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import type { Call, Refusal, RuledModel } from '../stand-in.ts'
import { responsesDeparture } from './responses-items.ts'

export interface ResponsesModel extends RuledModel {
  /** Marks for the cache: gpt-5.6 and later (github.com/anomalyco/opencode/issues/36315). */
  readonly marks?: boolean
  /** Efforts that the model takes; undefined for one that does not reason. */
  readonly efforts?: readonly string[]
}

interface Words {
  message: string
  param?: string
  code?: string | null
  status?: number
}

export function refusal({ message, param, code = null, status = 400 }: Words): Refusal {
  return { status, body: { error: { message, type: 'invalid_request_error', param: param ?? null, code } } }
}

function typeRefusal(request: JsonObject): Refusal | undefined {
  const departure = responsesDeparture(request)
  if (!departure) return undefined
  const { path: param, message } = departure
  // github.com/teabranch/open-responses-server/issues/41
  if (message === 'unknown field') return refusal({ message: `Unknown parameter: '${param}'.`, param, code: 'unknown_parameter' })
  if (message === 'is required')
    return refusal({ message: `Missing required parameter: '${param}'.`, param, code: 'missing_required_parameter' })
  return refusal({ message: `Invalid value for '${param}': ${message}.`, param, code: 'invalid_value' })
}

const quoted = (values: readonly string[]): string => {
  const all = values.map((value) => `'${value}'`)
  return `${all.slice(0, -1).join(', ')}, and ${all.at(-1)}`
}

/** Parameters that the model does not take. */
function modelRefusal(request: JsonObject, { name, efforts, marks }: ResponsesModel): Refusal | undefined {
  const { effort } = object(request.reasoning)
  // github.com/openai/codex/issues/6647
  if (typeof effort === 'string' && efforts && !efforts.includes(effort))
    return refusal({
      message: `Unsupported value: '${effort}' is not supported with the '${name}' model. Supported values are: ${quoted(efforts)}.`,
      param: 'reasoning.effort',
      code: 'unsupported_value',
    })
  const unsupported = (param: string): Refusal =>
    refusal({ message: `Unsupported parameter: '${param}' is not supported with this model.`, param, code: 'unsupported_parameter' })
  if (typeof effort === 'string' && !efforts) return unsupported('reasoning.effort')
  if (!marks && JSON.stringify(request).includes('"prompt_cache_breakpoint"')) return unsupported('prompt_cache_breakpoint')
  if (!marks && request.prompt_cache_options !== undefined) return unsupported('prompt_cache_options')
  // github.com/OpenHands/software-agent-sdk/issues/1837
  if (efforts) for (const param of ['temperature', 'top_p']) if ((request[param] ?? 1) !== 1) return unsupported(param)
  // github.com/pydantic/pydantic-ai/issues/2865
  if (!efforts && list0(request.include).includes('reasoning.encrypted_content'))
    return refusal({ message: 'Encrypted content is not supported with this model.', param: 'include' })
  // github.com/earendil-works/pi/issues/6265
  const { max_output_tokens: cap } = request
  if (typeof cap === 'number' && cap < 16)
    return refusal({
      message: `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${cap} instead.`,
      param: 'max_output_tokens',
      code: 'integer_below_min_value',
    })
  return undefined
}

const list0 = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])

const ID_PREFIX: Readonly<Record<string, string>> = { reasoning: 'rs', message: 'msg', function_call: 'fc', function_call_output: 'fc' }

function idRefusal(item: JsonObject, index: number): Refusal | undefined {
  const { id, call_id: callId } = item
  const prefix = ID_PREFIX[String(item.type ?? 'message')]
  const param = `input[${index}].id`
  if (typeof id === 'string' && !/^[\w-]+$/.test(id))
    return refusal({
      message: `Invalid '${param}': '${id}'. Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained additional characters.`,
      param,
      code: 'invalid_value',
    })
  // github.com/nodetool-ai/nodetool/pull/4252
  if (typeof id === 'string' && prefix !== undefined && !id.startsWith(prefix))
    return refusal({ message: `Invalid '${param}': '${id}'. Expected an ID that begins with '${prefix}'.`, param, code: 'invalid_value' })
  // github.com/earendil-works/pi/issues/1022
  if (typeof callId === 'string' && callId.length > 64)
    return refusal({
      message: `Invalid 'input[${index}].call_id': string too long. Expected a string with maximum length 64, but got a string with length ${callId.length} instead.`,
      param: `input[${index}].call_id`,
      code: 'string_above_max_length',
    })
  return undefined
}

/** Reasoning belongs to the account that encrypted it, and stands in front of what it led to. */
function reasoningRefusal(items: readonly JsonObject[], { signatures }: Call): Refusal | undefined {
  for (const [index, item] of items.entries()) {
    if (item.type !== 'reasoning') continue
    const { id, encrypted_content: encrypted } = item
    const next = items[index + 1]
    const follows = next !== undefined && (next.role === 'assistant' || /_call$|^reasoning$/.test(String(next.type)))
    // Recorded: test_openai_responses_thinking_with_modified_history.
    if (!follows)
      return refusal({ message: `Item '${id}' of type 'reasoning' was provided without its required following item.`, param: 'input' })
    // github.com/musistudio/claude-code-router/issues/1783, github.com/microsoft/agent-framework-go/issues/783 (Azure)
    if (list(item.content).length > 0)
      return refusal({
        message: `Invalid 'input[${index}].content': array too long. Expected an array with maximum length 0, but got an array with length ${list(item.content).length} instead.`,
        param: `input[${index}].content`,
        code: 'array_above_max_length',
      })
    // github.com/openai/codex/issues/8119
    if (typeof encrypted === 'string' && !signatures.verify(encrypted))
      return refusal({
        message: `The encrypted content ${encrypted.slice(0, 4)}...${encrypted.slice(-4)} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
        code: 'invalid_encrypted_content',
      })
    // github.com/vercel/ai/issues/7543
    if (typeof encrypted !== 'string' && id !== undefined)
      return refusal({
        message: `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
        param: 'input',
        status: 404,
      })
  }
  return undefined
}

/** github.com/continuedev/continue/issues/10092, github.com/bytedance/trae-agent/issues/245 */
function callRefusal(items: readonly JsonObject[]): Refusal | undefined {
  const open = new Set<Json | undefined>()
  for (const { type, call_id: callId } of items) {
    if (type === 'function_call') open.add(callId)
    if (type === 'function_call_output' && !open.delete(callId))
      return refusal({ message: `No tool call found for function call output with call_id ${callId}.`, param: 'input' })
  }
  for (const callId of open) return refusal({ message: `No tool output found for function call ${callId}.`, param: 'input' })
  return undefined
}

function inputRefusal(call: Call): Refusal | undefined {
  const items = list(call.body.input)
  for (const [index, item] of items.entries()) {
    const wrong = idRefusal(item, index)
    if (wrong) return wrong
  }
  return reasoningRefusal(items, call) ?? callRefusal(items)
}

/** Every object is closed and requires all of its properties. @returns what is wrong, with its place. */
function strictFlaw(schema: Json | undefined, place: readonly string[] = []): string | undefined {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return undefined
  const context = `In context=(${place.map((name) => `'${name}'`).join(', ')})`
  if (schema.type === 'object' || schema.properties !== undefined) {
    const properties = Object.keys(object(schema.properties))
    if (schema.additionalProperties !== false) return `${context}, 'additionalProperties' is required to be supplied and to be false.`
    const missing = properties.find((name) => !list0(schema.required).includes(name))
    if (missing !== undefined)
      return `${context}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`
  }
  const below: [Json | undefined, string[]][] = [
    ...Object.entries(object(schema.properties)).map(([name, each]): [Json, string[]] => [each as Json, ['properties', name]]),
    ...Object.entries(object(schema.$defs)).map(([name, each]): [Json, string[]] => [each as Json, ['$defs', name]]),
    ...list0(schema.anyOf).map((each, index): [Json, string[]] => [each, ['anyOf', String(index)]]),
    [schema.items, ['items']],
  ]
  for (const [each, names] of below) {
    const flaw = strictFlaw(each, [...place, ...names])
    if (flaw !== undefined) return flaw
  }
  return ['allOf', 'oneOf', 'not'].find((name) => schema[name] !== undefined)?.replace(/^/, `${context}, not permitted: `)
}

/** github.com/vercel/ai/issues/6484, github.com/dottxt-ai/outlines/issues/844 */
function schemaRefusal(request: JsonObject): Refusal | undefined {
  for (const [index, tool] of list(request.tools).entries()) {
    const flaw = tool.type === 'function' && tool.strict === true ? strictFlaw(tool.parameters) : undefined
    if (flaw !== undefined)
      return refusal({
        message: `Invalid schema for function '${tool.name}': ${flaw}`,
        param: `tools[${index}].parameters`,
        code: 'invalid_function_parameters',
      })
  }
  const format = object(object(request.text).format)
  const flaw = format.type === 'json_schema' && format.strict === true ? strictFlaw(format.schema) : undefined
  if (flaw !== undefined)
    return refusal({
      message: `Invalid schema for response_format '${format.name}': ${flaw}`,
      param: 'text.format.schema',
      code: 'invalid_json_schema',
    })
  const asks = format.type === 'json_object' && !/json/i.test(JSON.stringify([request.input, request.instructions]))
  if (asks)
    return refusal({
      message: "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.",
      param: 'input',
    })
  return undefined
}

function choiceRefusal({ tool_choice: choice, tools }: JsonObject): Refusal | undefined {
  if (choice === undefined || choice === 'auto' || choice === 'none') return undefined
  const { type, name } = object(choice)
  const found = choice === 'required' ? list(tools).length > 0 : list(tools).some((tool) => tool.type === type && tool.name === name)
  if (found || type === 'allowed_tools') return undefined
  return refusal({ message: `Tool choice '${name ?? choice}' not found in 'tools' parameter.`, param: 'tool_choice' })
}

/** The first rule that a request breaks. */
export function responsesRefusal(call: Call): Refusal | undefined {
  const { body, model } = call
  return typeRefusal(body) ?? modelRefusal(body, model) ?? inputRefusal(call) ?? schemaRefusal(body) ?? choiceRefusal(body)
}
