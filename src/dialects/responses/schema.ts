/** Shapes of the Responses request (docs/contract.md#responses-request, docs/contract.md#input-items, docs/contract.md#tools-in-a-request). Unknown fields pass: they are kept for the same wire. */
import { Type } from 'typebox'
import { checker } from '../../core/check.ts'
import { MAX_ENTRIES, MAX_MESSAGES, MAX_PARTS, MAX_TOOLS, tokenCount } from '../canon/bounds.ts'
import { gatewayProperties } from '../canon/gateway-schema.ts'
import { numberFields } from '../canon/parameters.ts'
import { responsesParameters } from './parameters.ts'

const maybe = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Optional(Type.Union([schema, Type.Null()]))
const word = () => Type.String({ minLength: 1 })

const textFormat = Type.Union([
  Type.Object({ type: Type.Literal('text') }),
  Type.Object({ type: Type.Literal('json_object') }),
  Type.Object({
    type: Type.Literal('json_schema'),
    name: word(),
    schema: Type.Object({}),
    description: maybe(Type.String()),
    strict: maybe(Type.Boolean()),
  }),
])

// Words that providers define pass to those of this wire, whatever they are; other wires get the nearest that they know.
const reasoning = Type.Object({
  effort: maybe(word()),
  summary: maybe(word()),
  enabled: maybe(Type.Boolean()),
  max_tokens: maybe(tokenCount(0)),
  context: maybe(word()),
  mode: maybe(word()),
})

export const responsesRequest = Type.Object({
  ...gatewayProperties,
  input: Type.Union([Type.String(), Type.Array(Type.Object({}), { maxItems: MAX_MESSAGES })]),
  instructions: maybe(Type.String()),
  stream: maybe(Type.Boolean()),
  store: maybe(Type.Boolean()),
  background: maybe(Type.Boolean()),
  ...numberFields(responsesParameters),
  parallel_tool_calls: maybe(Type.Boolean()),
  prompt: maybe(Type.Object({ id: word(), variables: maybe(Type.Object({})) })),
  include: maybe(Type.Array(Type.String(), { maxItems: MAX_ENTRIES })),
  reasoning: maybe(reasoning),
  text: maybe(Type.Object({ format: maybe(textFormat), verbosity: maybe(word()) })),
  tool_choice: maybe(Type.Union([Type.Enum(['auto', 'none', 'required', 'any']), Type.Object({ type: word() })])),
  tools: maybe(Type.Array(Type.Object({ type: word() }), { maxItems: MAX_TOOLS })),
  truncation: maybe(Type.Enum(['auto', 'disabled'])),
})

export const responsesShape = checker(responsesRequest)

export const checkFunctionTool = checker(
  Type.Object({
    name: word(),
    description: maybe(Type.String()),
    parameters: maybe(Type.Object({})),
    strict: maybe(Type.Boolean()),
  }),
)
export const checkServerTool = checker(Type.Object({ parameters: maybe(Type.Object({})) }))

/** Tools that run at a provider: only what distinguishes them is checked, the provider checks the rest. */
export const TOOL_CHECKS: ReadonlyMap<string, ReturnType<typeof checker>> = new Map([
  ['custom', checker(Type.Object({ name: word() }))],
  ['namespace', checker(Type.Object({ name: word() }))],
  ['mcp', checker(Type.Object({ server_label: word() }))],
])

export const checkNamedChoice = checker(Type.Object({ name: word() }))

const parts = <T extends Parameters<typeof Type.Optional>[0]>(schema: T) => Type.Array(schema, { maxItems: MAX_PARTS })
const content = () => Type.Union([Type.String(), Type.Null(), parts(Type.Object({ type: word() }))])
const output = () => Type.Union([Type.String(), parts(Type.Object({ type: word() }))])

type Check = ReturnType<typeof checker>

/** Input items whose fields we read; other types travel as they are. */
export const ITEM_CHECKS: ReadonlyMap<string, Check> = new Map([
  ['message', checker(Type.Object({ role: Type.Enum(['user', 'system', 'developer', 'assistant']), content: Type.Optional(content()) }))],
  ['function_call', checker(Type.Object({ call_id: word(), name: word(), arguments: Type.String() }))],
  // What a tool put out by itself, without a call: types of openai 7.57.0, `ResponseInputItem.FunctionCallOutput`.
  ['function_call_output', checker(Type.Object({ call_id: maybe(word()), output: output() }))],
  ['custom_tool_call', checker(Type.Object({ call_id: word(), name: word(), input: Type.String() }))],
  ['custom_tool_call_output', checker(Type.Object({ call_id: word(), output: output() }))],
  [
    'reasoning',
    checker(
      Type.Object({
        summary: maybe(parts(Type.Object({ type: word(), text: Type.String() }))),
        content: maybe(parts(Type.Object({ type: word(), text: Type.String() }))),
        encrypted_content: maybe(Type.String()),
        signature: maybe(Type.String()),
      }),
    ),
  ],
  ['compaction', checker(Type.Object({ encrypted_content: word() }))],
  ['item_reference', checker(Type.Object({ id: word() }))],
])

/** Content parts whose fields we read. */
export const PART_CHECKS: ReadonlyMap<string, Check> = new Map([
  ['input_text', checker(Type.Object({ text: Type.String() }))],
  ['output_text', checker(Type.Object({ text: Type.String() }))],
  ['refusal', checker(Type.Object({ refusal: Type.String() }))],
  [
    'input_image',
    checker(
      Type.Object({
        image_url: maybe(Type.String()),
        file_id: maybe(Type.String()),
        detail: maybe(Type.Enum(['auto', 'low', 'high', 'original'])),
      }),
    ),
  ],
  [
    'input_file',
    checker(
      Type.Object({
        file_id: maybe(Type.String()),
        file_data: maybe(Type.String()),
        file_url: maybe(Type.String()),
        filename: maybe(Type.String()),
      }),
    ),
  ],
  // OpenAI's types name mp3 and wav alone; what else a model hears is its provider's word.
  ['input_audio', checker(Type.Object({ input_audio: Type.Object({ data: Type.String(), format: word() }) }))],
  ['input_video', checker(Type.Object({ video_url: Type.String() }))],
])
