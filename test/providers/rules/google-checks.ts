/** Refusals of Google's models for a conversation that holds no unknown field: order, pairs, signatures, levels, combinations. */
import type { JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../../support/fold.ts'
import type { Utterance } from '../../support/wire.ts'
import type { Call, Refusal, RuledModel } from '../stand-in.ts'
import { invalid } from './google-body.ts'

/** Values that a model takes for `thinkingLevel`; those without any take a budget. */
export const LEVELS: Readonly<Record<string, readonly string[]>> = {
  // docs.cloud.google.com/gemini-enterprise-agent-platform/models/guides/gemini-3-8-flash; github.com/theJayTea/WritingTools/issues/282
  'gemini-3.8-flash': ['LOW', 'MEDIUM', 'HIGH'],
  'gemini-3.1-pro-preview': ['LOW', 'MEDIUM', 'HIGH'],
  'gemini-3.5-flash': ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'],
  // vercel.com/ai-gateway/models/gemini-3.1-flash-lite/about
  'gemini-3.1-flash-lite': ['MINIMAL', 'LOW', 'MEDIUM', 'HIGH'],
}

/** Documented for calls that another model made (ai.google.dev/gemini-api/docs/thought-signatures, FAQs). */
const STAND_INS = ['skip_thought_signature_validator', 'context_engineering_is_the_way_to_go']

const DATA = [
  ...['text', 'inlineData', 'fileData', 'functionCall', 'functionResponse', 'executableCode', 'codeExecutionResult'],
  ...['toolCall', 'toolResponse', 'audioTranscription'],
]

const contentParts = (content: JsonObject | undefined): JsonObject[] => list(content?.parts)
const count = (content: JsonObject | undefined, member: string): number =>
  contentParts(content).filter((part) => part[member] !== undefined).length

/** Each part says one thing (github.com/boldsoftware/sketch/issues/68). */
function partCheck(contents: readonly JsonObject[]): Refusal | undefined {
  if (contents.length === 0) return invalid('* GenerateContentRequest.contents: contents is not specified\n')
  for (const [at, content] of contents.entries()) {
    if (contentParts(content).length === 0)
      return invalid(`* GenerateContentRequest.contents[${at}].parts: contents.parts must not be empty.\n`)
    for (const [index, part] of contentParts(content).entries()) {
      const place = `GenerateContentRequest.contents[${at}].parts[${index}].data`
      const held = DATA.filter((member) => part[member] !== undefined).length
      if (held === 0) return invalid(`* ${place}: required oneof field 'data' must have one initialized field\n`)
      if (held > 1) return invalid(`Invalid value at 'contents[${at}].parts[${index}]' (oneof), oneof field 'data' is already set.`)
    }
  }
  return undefined
}

/**
 * Calls follow the user, results follow their calls in one content, as many as there were calls (github.com/editor-code-assistant/eca/
 * issues/247, continuedev/continue/issues/9578, microsoft/vscode/issues/299295).
 */
function orderCheck(contents: readonly JsonObject[]): Refusal | undefined {
  for (const [at, content] of contents.entries()) {
    const before = contents[at - 1]
    if (content.role === 'model' && count(content, 'functionCall') > 0 && (before === undefined || before.role === 'model'))
      return invalid('Please ensure that function call turn comes immediately after a user turn or after a function response turn.')
    const calls = before?.role === 'model' ? count(before, 'functionCall') : 0
    const results = count(content, 'functionResponse')
    if (results > 0 && (content.role === 'model' || calls === 0))
      return invalid('Please ensure that function response turn comes immediately after a function call turn.')
    if (results !== calls)
      return invalid(
        'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
      )
  }
  return undefined
}

/** Names of the results are those of the calls; ids, where there are any, pair them. */
function pairCheck(contents: readonly JsonObject[]): Refusal | undefined {
  for (const [at, content] of contents.entries()) {
    const results = contentParts(content).flatMap((part) => (part.functionResponse === undefined ? [] : [object(part.functionResponse)]))
    const calls = contentParts(contents[at - 1]).flatMap((part) => (part.functionCall === undefined ? [] : [object(part.functionCall)]))
    for (const [index, { id, name }] of results.entries()) {
      const call = id === undefined ? calls[index] : calls.find((each) => each.id === id)
      if (call?.name !== name) return invalid(`Function response ${String(name)} belongs to no function call of the turn before.`)
    }
  }
  return undefined
}

/**
 * The models of Gemini 3 require the signature of the first call of each step of the current turn; no model takes one that it did not
 * make (ai.google.dev/gemini-api/docs/thought-signatures; github.com/google-gemini/gemini-cli/issues/26682 and 13467).
 */
function signatureCheck(contents: readonly JsonObject[], { model, signatures }: Call): Refusal | undefined {
  const turn = contents.findLastIndex((content) => content.role !== 'model' && count(content, 'functionResponse') === 0)
  for (const [at, content] of contents.entries()) {
    for (const { thoughtSignature: signature } of contentParts(content))
      if (signature !== undefined && !STAND_INS.includes(String(signature)) && !signatures.verify(signature))
        return invalid('Corrupted thought signature.')
    const first = contentParts(content).find((part) => part.functionCall !== undefined)
    if (LEVELS[model.name] === undefined || at < turn || first === undefined || first.thoughtSignature !== undefined) continue
    return invalid(
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing ' +
        'thought_signature may lead to degraded model performance. Additional data, function call ' +
        `\`default_api:${String(object(first.functionCall).name)}\` , position ${at + 1}. Please refer to ` +
        'https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
    )
  }
  return undefined
}

/** github.com/RooCodeInc/Roo-Code/issues/10700, theJayTea/WritingTools/issues/282; any-llm/pull/1345 on both at once. */
function thinkingCheck({ thinkingLevel: level, thinkingBudget: budget }: JsonObject, { name }: RuledModel): Refusal | undefined {
  if (level !== undefined && budget !== undefined) return invalid('You can only set only one of thinking budget and thinking level.')
  if (level === undefined) return undefined
  const levels = LEVELS[name]
  if (levels === undefined) return invalid('Thinking level is not supported for this model.')
  if (!levels.includes(String(level)))
    return invalid(`Thinking level ${String(level)} is not supported for this model. Please retry with other thinking level.`)
  return undefined
}

/**
 * In a sub-schema only names that begin with `$` may stand beside a `$ref` (types of @google/genai 3.3.0, `responseJsonSchema`); at the
 * top `title` was recorded as accepted (test_google_recursive_schema_native_output).
 */
function referenceCheck(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(referenceCheck)
  if (typeof schema !== 'object' || schema === null) return true
  const { $ref } = schema as JsonObject
  if (typeof $ref === 'string' && !Object.keys(schema).every((name) => name.startsWith('$'))) return false
  return Object.values(schema).every(referenceCheck)
}

function configCheck(config: JsonObject, { model }: Call, hasTools: boolean): Refusal | undefined {
  const { maxOutputTokens: cap, responseSchema, responseJsonSchema, responseMimeType: type } = config
  if (cap !== undefined && (Number(cap) < 1 || Number(cap) > 65_536))
    return invalid(
      `Unable to submit request because it has a maxOutputTokens value of ${String(cap)} but the supported range is from 1 (inclusive) to 65537 (exclusive).`,
    )
  // github.com/google-gemini/cookbook/issues/1290, Ikalus1988/MisakaNet/issues/1473 (3.7 and 3.8 Flash)
  if (config.presencePenalty || config.frequencyPenalty) return invalid(`Penalty is not enabled for models/${model.name}`)
  if (responseSchema !== undefined && responseJsonSchema !== undefined)
    return invalid('response_schema and response_json_schema are mutually exclusive.')
  if ((responseSchema ?? responseJsonSchema) !== undefined && type !== 'application/json')
    return invalid('Response schema is only supported with response mime type application/json.')
  if (!Object.values(object(responseJsonSchema)).every(referenceCheck))
    return invalid('response_json_schema: no other properties may be set beside $ref.')
  // github.com/googleapis/python-genai/issues/867; models of Gemini 3 do both (googleapis/python-genai/issues/706).
  if (hasTools && type === 'application/json' && LEVELS[model.name] === undefined)
    return invalid("Function calling with a response mime type: 'application/json' is unsupported")
  return thinkingCheck(object(config.thinkingConfig), model)
}

/** Of a function (types of @google/genai 3.3.0, FunctionDeclaration). */
const NAME = /^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/

function toolCheck(body: JsonObject, { model }: Call): Refusal | undefined {
  const functions = list(body.tools).flatMap((tool) => list(tool.functionDeclarations))
  const builtIn = list(body.tools).some((tool) => Object.keys(tool).some((name) => name !== 'functionDeclarations'))
  for (const [index, { name, parameters, parametersJsonSchema }] of functions.entries()) {
    const place = `GenerateContentRequest.tools[0].function_declarations[${index}]`
    if (!NAME.test(String(name))) return invalid(`* ${place}.name: [FIELD_INVALID]\nInvalid function name.`)
    if (parameters !== undefined && parametersJsonSchema !== undefined)
      return invalid(`* ${place}: parameters and parameters_json_schema are mutually exclusive.`)
    const { type, properties } = object(parametersJsonSchema)
    if (parametersJsonSchema !== undefined && type !== 'object' && properties === undefined)
      return invalid(`* ${place}.parameters_json_schema: the schema must describe an object.`)
    if (functions.findIndex((each) => each.name === name) !== index) return invalid(`Duplicate function declaration found: ${String(name)}`)
  }
  const { functionCallingConfig, includeServerSideToolInvocations } = object(body.toolConfig)
  const { mode, allowedFunctionNames } = object(functionCallingConfig)
  if (functionCallingConfig !== undefined && functions.length === 0 && mode !== 'NONE')
    return invalid('Function calling config is set without function_declarations.')
  // ai.google.dev/api/caching, FunctionCallingConfig: names only with ANY and VALIDATED, each of a declared function.
  if (allowedFunctionNames !== undefined && mode !== 'ANY' && mode !== 'VALIDATED')
    return invalid('Allowed function names can only be set when the function calling mode is ANY or VALIDATED.')
  const unknown = (Array.isArray(allowedFunctionNames) ? allowedFunctionNames : []).find((each) =>
    functions.every(({ name }) => name !== each),
  )
  if (unknown !== undefined) return invalid(`Allowed function name ${String(unknown)} is not declared.`)
  // github.com/symfony/ai/issues/803; what Gemini 3 needs was recorded in test_google_model_file_search_grounding_gemini_3.
  if (!builtIn || functions.length === 0) return undefined
  if (LEVELS[model.name] === undefined) return invalid('Tool use with function calling is unsupported')
  if (includeServerSideToolInvocations === true) return undefined
  return invalid('Please enable tool_config.include_server_side_tool_invocations to use Built-in tools with Function calling.')
}

/** The first rule of the models that a body breaks, whose fields are all known. */
export function conversationCheck(call: Call): Refusal | undefined {
  const { body, model } = call
  const contents = list(body.contents)
  const results = contents.flatMap(contentParts).flatMap((part) => list(object(part.functionResponse).parts))
  // ai.google.dev/gemini-api/docs/function-calling, "Multimodal function responses": models of Gemini 3.
  if (results.length > 0 && LEVELS[model.name] === undefined)
    return invalid('Multimodal function responses are not supported by this model.')
  // ai.google.dev/api/caching: a cache holds instructions and tools of its own.
  if (body.cachedContent !== undefined && (body.systemInstruction ?? body.tools ?? body.toolConfig) !== undefined)
    return invalid('CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.')
  return (
    partCheck(contents) ??
    orderCheck(contents) ??
    pairCheck(contents) ??
    signatureCheck(contents, call) ??
    toolCheck(body, call) ??
    configCheck(object(body.generationConfig), call, list(body.tools).length > 0)
  )
}

/** Streams are events only where the query says so; else they are one long array. */
export function streamCheck({ request }: Call): Refusal | undefined {
  const isStream = request.path.includes(':streamGenerateContent')
  return isStream && !request.path.endsWith('?alt=sse') ? invalid('This stand-in streams server-sent events alone.') : undefined
}

/** Answers are signed: the first call, or else the end of the text. */
export function signed(utterance: Utterance, { model, signatures, body }: Call): Utterance {
  const isSigned = LEVELS[model.name] !== undefined || utterance.reasoning !== undefined
  const shown = object(object(body.generationConfig).thinkingConfig).includeThoughts === true
  const signature = isSigned ? signatures.issue(`${model.name} ${JSON.stringify(utterance)}`) : undefined
  return { ...utterance, signature, reasoning: shown ? utterance.reasoning : undefined }
}
