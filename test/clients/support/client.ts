/** What every client is asked in the same words, and tells in the same words, whatever its own interface looks like. */

export type Ability = 'stream' | 'tools' | 'parallel' | 'schema' | 'image' | 'reasoning' | 'replay' | 'cached' | 'thought' | 'abort'

export interface Ask {
  model: string
  prompt: string
  stream: boolean
  /** Data URL of an image that goes with the prompt. */
  image?: string
  /** Offers `WEATHER`, runs it, and goes on until the model answers. */
  tool?: boolean
  /** Asks for `CAPITAL` and parses it. */
  schema?: boolean
  /** Asks for visible reasoning. */
  reasoning?: boolean
  signal?: AbortSignal
  /** Hears every delta of text; only while streaming. */
  onText?: (delta: string) => void
}

export interface Told {
  text: string
  reasoning?: string
  /** The structured answer, parsed by the client itself. */
  value?: unknown
  /** Of the last answer; `input` includes `cached`, `output` includes `reasoning`. */
  usage: { input: number; output: number; cached?: number; reasoning?: number }
}

export interface Failure {
  /** Name of the client's own class. */
  name: string
  status?: number
}

export interface Client {
  readonly name: string
  /** What this client does not offer, each with its reason. */
  readonly lacks?: Partial<Record<Ability, string>>
  ask(ask: Ask): Promise<Told>
  /** The same client with a key that nobody gave out. */
  withWrongKey(): Client
  /** Makes a request that the gateway refuses with 400. */
  misuse(model: string): Promise<unknown>
  failure(error: unknown): Failure
  /** Names of the classes that this client throws. */
  readonly classes: Record<400 | 401 | 404 | 429, string>
}

/** A picture of one pixel. */
export const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

export const WEATHER = {
  name: 'weather',
  description: 'The weather of a place',
  parameters: {
    type: 'object',
    properties: { place: { type: 'string', description: 'Name of the place' } },
    required: ['place'],
    additionalProperties: false,
  },
} as const

/** What the tool says, which the provider must be told. */
export const weatherOf = ({ place }: { place: string }): string => `It rains frogs in ${place}.`

export const CAPITAL = {
  name: 'capital',
  schema: {
    type: 'object',
    properties: { capital: { type: 'string' }, inhabitants: { type: 'integer' } },
    required: ['capital', 'inhabitants'],
    additionalProperties: false,
  },
} as const
