/** Facts that self-hosted servers report of their models beside the plain list, brought into one form. */
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'

/** Calls the server: `path` is relative to its root, with a body it is a POST. Rejects where the path does not exist. */
export type AskServer = (path: string, body?: JsonObject) => Promise<JsonObject>

/** Facts of one model; what the server does not report is absent. */
export interface ModelFacts {
  /** Tokens of one request that the server accepts, where it reports that, else what the model was made for. */
  context_length?: number
  /** `text`, `image`, `audio`. */
  input_modalities?: string[]
  /** Absent where it is not known: then the model is offered for both texts and embeddings. */
  kind?: 'generate' | 'embedding' | 'rerank'
  /** As prices and routing name it, such as `int4`. */
  quantization?: string
}

type Described = Map<string, ModelFacts>

/** Calls about single models that run at once: one at a time would be slow, all at once would load the server. */
const AT_ONCE = 4
/** Models about which the server is called one by one. */
const MAX_DESCRIBED = 200

/**
 * An OpenAI list with the facts of `ModelFacts` in each entry, as far as list and server report them; the list goes first.
 * Servers are recognised by their replies, never by name: a reply in the form of one of the three calls is used.
 * @param list `{ data: [{ id, … }] }`.
 */
export async function describedList(list: JsonObject, ask: AskServer): Promise<JsonObject> {
  const entries = asObjects(list.data)
  const ids = entries.flatMap(({ id }) => (typeof id === 'string' ? [id] : []))
  const answers = await Promise.all(
    [byKindOfModel, byProperties, byTags].map((describe) => describe(ask, ids).catch((): Described => new Map())),
  )
  const reported = (id: Json | undefined): ModelFacts => Object.assign({}, ...answers.map((answer) => answer.get(String(id))))
  return { ...list, data: entries.map((entry) => ({ ...entry, ...trainedFor(entry), ...reported(entry.id), ...ownFacts(entry) })) }
}

/** `/api/v0/models`, as LM Studio has it: the context that a loaded model got goes before the most it could get. */
async function byKindOfModel(ask: AskServer): Promise<Described> {
  const found: Described = new Map()
  for (const { id, type, ...entry } of asObjects((await ask('/api/v0/models')).data)) {
    if (typeof id !== 'string' || typeof type !== 'string' || !Object.hasOwn(KINDS, type)) continue
    const context = positive(entry.loaded_context_length) ?? positive(entry.max_context_length)
    found.set(id, withoutGaps({ ...KINDS[type], context_length: context, quantization: parseQuantization(entry.quantization) }))
  }
  return found
}

const KINDS: Readonly<Record<string, ModelFacts>> = {
  llm: { kind: 'generate', input_modalities: ['text'] },
  vlm: { kind: 'generate', input_modalities: ['text', 'image'] },
  embeddings: { kind: 'embedding', input_modalities: ['text'] },
}

/** `/props`, as llama.cpp has it: of the one model that is loaded. */
async function byProperties(ask: AskServer, ids: readonly string[]): Promise<Described> {
  const [id] = ids
  if (id === undefined || ids.length > 1) return new Map()
  const { default_generation_settings: settings, modalities } = await ask('/props')
  if (!isObject(settings)) return new Map()
  const senses = isObject(modalities) ? modalities : undefined
  const input = senses && ['text', ...(senses.vision === true ? ['image'] : []), ...(senses.audio === true ? ['audio'] : [])]
  return new Map([[id, withoutGaps({ context_length: positive(settings.n_ctx), input_modalities: input })]])
}

/** `/api/tags` and `/api/show` of each model, as Ollama has it. The first model that cannot be shown ends the calls. */
async function byTags(ask: AskServer, ids: readonly string[]): Promise<Described> {
  const tags = new Set(asObjects((await ask('/api/tags')).models).map(({ name }) => name))
  const waiting = ids.filter((id) => tags.has(id)).slice(0, MAX_DESCRIBED)
  const found: Described = new Map()
  const worker = async (): Promise<void> => {
    for (let model = waiting.shift(); model !== undefined; model = waiting.shift())
      found.set(model, shown(await ask('/api/show', { model })))
  }
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  } catch {
    waiting.length = 0
  }
  return found
}

function shown({ capabilities, details, model_info: info, parameters }: JsonObject): ModelFacts {
  const able = Array.isArray(capabilities) ? capabilities : undefined
  const input = able && ['text', ...(able.includes('vision') ? ['image'] : []), ...(able.includes('audio') ? ['audio'] : [])]
  const embeds = able?.includes('embedding') === true && !able.includes('completion')
  return withoutGaps({
    context_length: contextWindow(parameters) ?? madeFor(info),
    input_modalities: input,
    kind: able && (embeds ? 'embedding' : 'generate'),
    quantization: isObject(details) ? parseQuantization(details.quantization_level) : undefined,
  })
}

/** `num_ctx` of a model's own settings, a text of one setting a line. */
function contextWindow(parameters: Json | undefined): number | undefined {
  const stated = typeof parameters === 'string' ? /^\s*num_ctx\s+(\d{1,9})\s*$/m.exec(parameters)?.[1] : undefined
  return stated === undefined ? undefined : positive(Number(stated))
}

/** `<architecture>.context_length`. */
function madeFor(info: Json | undefined): number | undefined {
  if (!isObject(info)) return undefined
  const name = Object.keys(info).find((key) => key.endsWith('.context_length'))
  return name === undefined ? undefined : positive(info[name])
}

/** Facts that an entry reports of its model, in a plain list or in one of `describedList`. */
export function factsOfEntry(entry: JsonObject): ModelFacts {
  return { ...trainedFor(entry), ...ownFacts(entry) }
}

function ownFacts(entry: JsonObject): ModelFacts {
  const { kind, quantization } = entry
  const { n_ctx: window } = isObject(entry.meta) ? entry.meta : NOTHING
  const { input_modalities: input = entry.input_modalities } = isObject(entry.architecture) ? entry.architecture : NOTHING
  const lengths = [entry.context_length, entry.max_model_len, entry.context_window, entry.max_context_length, window]
  return withoutGaps({
    context_length: lengths.map(positive).find((length) => length !== undefined),
    input_modalities: Array.isArray(input) ? modalities(input) : undefined,
    kind: kind === 'embedding' || kind === 'generate' || kind === 'rerank' ? kind : kindOfAbilities(entry.capabilities),
    quantization: parseQuantization(quantization),
  })
}

/** `capabilities` of infinity 0.0.78: `embed`, `rerank`, `classify`; what a list of names says of models that write texts is not read. */
function kindOfAbilities(named: Json | undefined): ModelFacts['kind'] {
  if (!Array.isArray(named)) return undefined
  if (named.includes('embed')) return 'embedding'
  return named.includes('rerank') ? 'rerank' : undefined
}

const NOTHING: JsonObject = {}

/** Purpose of the model, where the server does not report what it accepts. */
function trainedFor({ meta }: JsonObject): ModelFacts {
  return isObject(meta) ? withoutGaps({ context_length: positive(meta.n_ctx_train) }) : {}
}

const MODALITIES: ReadonlySet<Json> = new Set(['text', 'image', 'file', 'audio', 'video'])

function modalities(named: readonly Json[]): string[] | undefined {
  const known = named.filter((name): name is string => MODALITIES.has(name))
  return known.length > 0 ? [...new Set(known)] : undefined
}

const QUANTIZATIONS: readonly (readonly [RegExp, string])[] = [
  [/^(i?q4_|4bit$)/, 'int4'],
  [/^(q8_|8bit$)/, 'int8'],
  [/^(int4|int8|fp4|mxfp4|nvfp4|fp6|fp8|mxfp8|fp16|bf16|fp32)$/, '$1'],
  [/^f(16|32)$/, 'fp$1'],
]

/** From the names that files of weights carry. */
function parseQuantization(name: Json | undefined): string | undefined {
  if (typeof name !== 'string') return undefined
  const low = name.toLowerCase()
  const found = QUANTIZATIONS.find(([pattern]) => pattern.test(low))
  return found && (found[1].includes('$') ? low.replace(found[0], found[1]) : found[1])
}

/** Absent members rather than undefined ones, so that a later answer can fill them. */
function withoutGaps(facts: { [name in keyof ModelFacts]: ModelFacts[name] | undefined }): ModelFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as ModelFacts
}

export function positive(value: Json | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}
