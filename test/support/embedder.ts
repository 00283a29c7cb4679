/** Providers of vectors: each answers its own format with numbers that tell which input they belong to. */
import { isObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { type Answer, jsonAnswer, type Script } from './upstream.ts'

/** Numbers of an input: the first tells the number in its text, the rest depends on that one. */
export function inputNumbers(input: Json, dimensions: number): number[] {
  const text = JSON.stringify(input)
  const mark = Number(/\d+/.exec(text)?.[0] ?? text.length)
  return Array.from({ length: dimensions }, (_, i) => (i === 0 ? mark : Math.fround(Math.sin(mark * 31 + i))))
}

export function base64Floats(numbers: readonly number[]): string {
  return Buffer.from(new Float32Array(numbers).buffer).toString('base64')
}

export function numbersIn(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64')
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4))
}

export interface Speaks {
  dimensions?: number
  /** Form of the vectors whatever is requested; by default the requested one. */
  form?: 'float' | 'base64' | undefined
  /** null: it reports none. */
  usage?: number | null
  /** Parts of its tokens, under the names of the reply's `prompt_tokens_details` without `_tokens`. */
  split?: Readonly<Record<string, number>>
  /** Changes the reply before it goes out. */
  spoil?: (reply: JsonObject) => Json
}

/** Answers as OpenAI does. */
export function openaiVectors({ dimensions = 4, form, usage = 7, split, spoil = (reply) => reply }: Speaks = {}): Script {
  return ({ json }): Answer => {
    const inputs = Array.isArray(json.input) ? json.input : [json.input ?? '']
    const length = typeof json.dimensions === 'number' ? json.dimensions : dimensions
    const base64 = (form ?? json.encoding_format) === 'base64'
    const data = inputs.map((input, index) => {
      const numbers = inputNumbers(input, length)
      return { object: 'embedding', index, embedding: base64 ? base64Floats(numbers) : numbers }
    })
    const details = split && {
      prompt_tokens_details: Object.fromEntries(Object.entries(split).map(([kind, tokens]) => [`${kind}_tokens`, tokens])),
    }
    const counts = usage === null ? {} : { usage: { prompt_tokens: usage, total_tokens: usage, ...details } }
    return jsonAnswer(spoil({ object: 'list', data, model: 'm', ...counts }))
  }
}

export interface Vectors {
  object: string
  id: string
  model: string
  provider: string
  data: { object: string; index: number; embedding: number[] | string }[]
  usage: { prompt_tokens: number; total_tokens: number; cost: number; prompt_tokens_details?: JsonObject }
  router_metadata?: JsonObject
}

export async function readVectors(response: Response): Promise<Vectors> {
  return (await response.json()) as Vectors
}

/** The first number of each vector: which input it belongs to. */
export function marks({ data }: Vectors): number[] {
  return data.map(({ embedding }) => (typeof embedding === 'string' ? numbersIn(embedding)[0] : embedding[0]))
}

/** An error body's error. */
export async function readError(response: Response): Promise<JsonObject> {
  const body = (await response.json()) as JsonObject
  return isObject(body.error) ? body.error : {}
}

const asList = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const encodedForm = (numbers: readonly number[], base64: boolean): Json => (base64 ? base64Floats(numbers) : [...numbers])

const MODALITIES: Readonly<Record<string, string>> = { file: 'DOCUMENT' }

/** Answers as Gemini does. */
export function geminiVectors({ dimensions = 4, usage = 7, split, spoil = (reply) => reply }: Speaks = {}): Script {
  return ({ json }): Answer => {
    const embeddings = asList(json.requests).map((each) => {
      const { content, outputDimensionality: length } = each as JsonObject
      return { values: inputNumbers(content ?? '', typeof length === 'number' ? length : dimensions) }
    })
    const details = split && {
      promptTokenDetails: Object.entries(split).map(([kind, tokenCount]) => ({
        modality: MODALITIES[kind] ?? kind.toUpperCase(),
        tokenCount,
      })),
    }
    return jsonAnswer(spoil({ embeddings, ...(usage === null ? {} : { usageMetadata: { promptTokenCount: usage, ...details } }) }))
  }
}

/** Answers as Cohere does. */
export function cohereVectors({ dimensions = 4, form, usage = 7, split, spoil = (reply) => reply }: Speaks = {}): Script {
  return ({ json }): Answer => {
    const length = typeof json.output_dimension === 'number' ? json.output_dimension : dimensions
    const base64 = (form ?? asList(json.embedding_types)[0]) === 'base64'
    const vectors = asList(json.texts ?? json.inputs).map((input) => encodedForm(inputNumbers(input, length), base64))
    const billed = split ? { input_tokens: split.text, image_tokens: split.image, images: 1 } : { input_tokens: usage }
    const meta = { api_version: { version: '2' }, ...(usage === null ? {} : { billed_units: billed as JsonObject }) }
    const embeddings = base64 ? { base64: vectors } : { float: vectors }
    return jsonAnswer(spoil({ id: 'c-1', embeddings, texts: json.texts ?? [], images: null, meta, response_type: 'embeddings_by_type' }))
  }
}

/** Answers as Voyage does. */
export function voyageVectors({ dimensions = 4, form, usage = 7, spoil = (reply) => reply }: Speaks = {}): Script {
  return ({ json }): Answer => {
    const length = typeof json.output_dimension === 'number' ? json.output_dimension : dimensions
    const base64 = (form ?? json.encoding_format ?? json.output_encoding) === 'base64'
    const data = asList(json.input ?? json.inputs).map((input, index) => {
      return { object: 'embedding', embedding: encodedForm(inputNumbers(input, length), base64), index }
    })
    const joint = json.inputs === undefined ? {} : { text_tokens: usage, image_pixels: 2_000_000 }
    const counts = usage === null ? {} : { usage: { ...joint, total_tokens: usage + (json.inputs === undefined ? 0 : 3571) } }
    return jsonAnswer(spoil({ object: 'list', data, model: 'm', ...counts }))
  }
}
