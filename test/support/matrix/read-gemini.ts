/** Gemini's reading of a body of its wire. */
import type { Json, JsonObject } from '../../../src/core/json.ts'
import { list, object } from '../fold.ts'
import type { Seen } from '../upstream.ts'
import { type AskedChoice, mergedTurns, type SeenPart, type SeenRequest, type SeenTurn } from './asked.ts'

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const number = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined)

function unknown(what: string, value: Json | undefined): never {
  throw new Error(`the provider does not know this ${what}: ${JSON.stringify(value)}`)
}

interface Made {
  id: string
  name: string
  answered: boolean
}

/** A response answers the call of its id, or else the first unanswered call of its name. */
function answered(made: Made[], response: JsonObject): number {
  const id = text(response.id)
  const at = made.findIndex((call) => !call.answered && call.name === response.name && (id === '' || call.id === '' || call.id === id))
  if (at < 0) unknown('call', response)
  made[at].answered = true
  return at
}

/** The wire takes any object; a text is expected under a name of its own. */
function responseParts(response: JsonObject): SeenPart[] {
  const values = Object.values(object(response.response))
  const parts: SeenPart[] = values.length === 1 && typeof values[0] === 'string' ? [{ text: values[0] }] : []
  if (values.length > 0 && parts.length === 0) unknown('response', response.response)
  for (const part of list(response.parts)) parts.push(blob(part))
  return parts
}

function blob(part: JsonObject): SeenPart {
  const { mimeType, data } = object(part.inlineData)
  const url = part.inlineData ? `data:${mimeType};base64,${data}` : text(object(part.fileData).fileUri)
  const type = text(part.inlineData ? mimeType : object(part.fileData).mimeType)
  if (url === '') return unknown('part', part)
  return type.startsWith('image/') || (type === '' && !url.endsWith('.pdf')) ? { image: url } : { file: url }
}

function parts(content: JsonObject, made: Made[]): SeenPart[] {
  return list(content.parts).flatMap((part): SeenPart[] => {
    const signed: SeenPart[] = part.thoughtSignature === undefined ? [] : [{ reasoning: '', signed: text(part.thoughtSignature) }]
    if (part.functionCall) {
      const { id, name, args } = object(part.functionCall)
      made.push({ id: text(id), name: text(name), answered: false })
      return [...signed, { call: { name: text(name), args: object(args) } }]
    }
    if (part.functionResponse) {
      const response = object(part.functionResponse)
      return [{ result: answered(made, response), parts: responseParts(response) }]
    }
    if (part.thought === true) return [{ reasoning: text(part.text), signed: text(part.thoughtSignature) }]
    if (typeof part.text === 'string') return part.text === '' ? signed : [...signed, { text: part.text }]
    return [blob(part)]
  })
}

const MODES: Readonly<Record<string, AskedChoice>> = { AUTO: 'auto', NONE: 'none', ANY: 'required' }

function configChoice(config: JsonObject): AskedChoice | undefined {
  if (config.mode === undefined) return undefined
  const names = Array.isArray(config.allowedFunctionNames) ? config.allowedFunctionNames : []
  return config.mode === 'ANY' && names.length === 1 ? { name: text(names[0]) } : MODES[text(config.mode)]
}

export function readGemini({ json: body }: Seen): SeenRequest {
  const made: Made[] = []
  const config = object(body.generationConfig)
  const turns = list(body.contents).map((content): SeenTurn => {
    if (content.role !== 'user' && content.role !== 'model') return unknown('role', content.role)
    return { role: content.role === 'user' ? 'user' : 'assistant', parts: parts(content, made) }
  })
  return {
    system: list(object(body.systemInstruction).parts)
      .map((part) => text(part.text))
      .join(''),
    turns: mergedTurns(turns),
    tools: list(body.tools)
      .flatMap((tool) => list(tool.functionDeclarations))
      .map((tool) => ({
        name: text(tool.name),
        description: text(tool.description),
        schema: object(tool.parametersJsonSchema ?? tool.parameters),
      })),
    choice: configChoice(object(object(body.toolConfig).functionCallingConfig)),
    serial: false,
    schema: config.responseMimeType === 'application/json' ? object(config.responseJsonSchema ?? config.responseSchema) : undefined,
    cap: number(config.maxOutputTokens),
    stop: Array.isArray(config.stopSequences) ? config.stopSequences.map(String) : [],
    temperature: number(config.temperature),
    reasoning: object(config.thinkingConfig),
  }
}
