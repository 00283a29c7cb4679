/**
 * The operation of a request of the pass-through, by its method and its path. Rows name operations that have a model generate, and the few
 * in which no model works. Any other operation may generate too, at a cost that nothing here can read (docs/decisions/0054-pass-through-open-set.md).
 */
import type { IncomingMessage } from 'node:http'
import { asObjects, isObject, type Json, type JsonObject } from '../../core/json.ts'
import { type AnswerTerms, TERMS } from './native-terms.ts'
import { OVERRIDES } from './overrides.ts'

export interface NativeRequest {
  /** Of the dialect whose requests these are. */
  readonly wire: string
  /** Which replies its usage is read from: generations, or lists of vectors. */
  readonly replies: 'answers' | 'vectors'
  /** The provider's name of the model, where the path has it. */
  readonly model: string | undefined
  /** The requests in a body: most hold one. */
  requestsIn(body: JsonObject): readonly JsonObject[]
  /** Fields that limit the answers to one of them. */
  readonly terms: AnswerTerms
}

/** `idle`: no model works. `unknown`: what it does is not known. */
export type Operation = NativeRequest | 'idle' | 'unknown'

interface Row {
  readonly wire: string
  /** Of the whole path, or of its end where that has the name of the model, which is its group. */
  readonly path: RegExp
  readonly terms: AnswerTerms
  readonly replies?: 'vectors'
  readonly requestsIn?: (body: JsonObject) => readonly JsonObject[]
}

const one = (body: JsonObject): readonly JsonObject[] => [body]

/**
 * Of operations whose bodies name the model: any other part in front may stand for a model of its own, as that of a deployment does.
 * Vertex AI has the operations of OpenAI below `endpoints/openapi`, Amazon Bedrock below `openai`.
 */
const FRONT = String.raw`^(?:\/(?:api|openai|anthropic|v\d+(?:(?:alpha|beta)\d*)?|projects\/[^/]+\/locations\/[^/]+\/endpoints\/openapi))*\/`
const ofBody = (operation: string): RegExp => new RegExp(`${FRONT}${operation}$`, 'i')
/** Azure (learn.microsoft.com, Azure OpenAI REST API): the name of the deployment decides, whatever the body says. */
const ofDeployment = (operation: string): RegExp => new RegExp(String.raw`\/deployments\/([^/]+)\/${operation}$`, 'i')

const chat = { wire: 'openai-chat', terms: TERMS.chat }
const completions = { wire: 'openai-chat', terms: TERMS.completions }
const vectors = { wire: 'openai-chat', terms: TERMS.vectors, replies: 'vectors' } as const
const gemini = { wire: 'gemini', terms: TERMS.gemini }

/** Of the API references of each wire; types of openai 7.59.0, @anthropic-ai/sdk 1.14.0, @google/genai 3.3.0, @aws-sdk/client-bedrock-runtime 3.1164.0. */
const ROWS: readonly Row[] = [
  { ...chat, path: ofBody(String.raw`chat\/completions`) },
  { ...chat, path: ofDeployment(String.raw`chat\/completions`) },
  // `fim` is Mistral's and DeepSeek's way of the same.
  { ...completions, path: ofBody(String.raw`(?:fim\/|beta\/)?completions`) },
  { ...completions, path: ofDeployment('completions') },
  { ...vectors, path: ofBody('embeddings') },
  { ...vectors, path: ofDeployment('embeddings') },
  { wire: 'openai-responses', terms: TERMS.responses, path: ofBody(String.raw`responses(?:\/compact)?`) },
  { wire: 'anthropic', terms: TERMS.messages, path: ofBody('messages') },
  // platform.claude.com, "Create a Message Batch": `requests`, each with its `params`.
  {
    wire: 'anthropic',
    terms: TERMS.messages,
    path: ofBody(String.raw`messages\/batches`),
    requestsIn: ({ requests }) => asObjects(requests).flatMap(({ params }) => (isObject(params) ? [params] : [])),
  },
  // The Gemini API and Vertex AI, which has Claude under `rawPredict`.
  { ...gemini, path: /\/([^/]+):(?:stream)?generateContent$/i },
  { wire: 'gemini', terms: TERMS.vectors, replies: 'vectors', path: /\/([^/]+):(?:batchEmbedContents|embedContent)$/i },
  { wire: 'anthropic', terms: TERMS.messages, path: /\/([^/]+):(?:stream)?rawPredict$/i },
  // Amazon Bedrock, API reference of its runtime. The name may be an ARN, with slashes.
  { wire: 'bedrock-converse', terms: TERMS.converse, path: /\/model\/(.+)\/converse(?:-stream)?$/i },
  { wire: 'bedrock-anthropic', terms: TERMS.invoke, path: /\/model\/(.+)\/invoke(?:-with-response-stream)?$/i },
]

/** Uploads, counts of tokens, and what ends work: of the same references. */
const IDLE: readonly RegExp[] = [
  ofBody('files'),
  // Uploads of xAI in pieces, and the end of a batch (docs.x.ai, "Files", "Batch API").
  ofBody('files:(?:initialize|uploadChunks)'),
  ofBody(String.raw`batches\/[^/:]+:cancel`),
  ofBody(String.raw`uploads(?:\/[^/]+\/(?:parts|complete|cancel))?`),
  /^\/(?:resumable\/)?upload\/v\d+\w*\/files$/i,
  ofBody(String.raw`messages\/count_tokens`),
  ofBody(String.raw`responses\/input_tokens`),
  /\/[^/]+:(?:countTokens|computeTokens)$/i,
  /\/model\/.+\/count-tokens$/i,
  ofBody(String.raw`(?:responses|batches|messages\/batches|fine_tuning\/jobs|uploads)\/[^/]+\/cancel`),
]

/** At any other letter, such as `;`, a server may end the path. */
const PLAIN = /^[\w.~@:/-]*$/

/** Methods that have no server begin work (RFC 9110 section 9.2.1), and the one that removes. */
const IDLE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE'])

/** @param path below the provider's address. */
export function requestOperation({ method = 'GET', headers }: Pick<IncomingMessage, 'method' | 'headers'>, path: string): Operation {
  if (OVERRIDES.some((name) => headers[name] !== undefined)) return 'unknown'
  if (IDLE_METHODS.has(method)) return 'idle'
  const plain = plainPath(path)
  for (const { path: form, wire, terms, replies = 'answers', requestsIn = one } of ROWS) {
    const found = form.exec(plain)
    if (found) return { wire, terms, replies, model: found[1], requestsIn }
  }
  return PLAIN.test(plain) && IDLE.some((form) => form.test(plain)) ? 'idle' : 'unknown'
}

/** As a server may read it that is not strict: without dot segments, escapes, doubled slashes and a slash at the end. */
function plainPath(path: string): string {
  const { pathname } = new URL(`http://provider${path}`)
  let readable = pathname
  try {
    readable = decodeURIComponent(pathname)
  } catch {
    // It stays as it is.
  }
  return readable.replace(/\/{2,}/g, '/').replace(/\/+$/, '')
}

const nameIn = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value.replace(/^models\//, '') : undefined)

/** The provider's name of the model. */
export const requestModel = ({ model }: NativeRequest, body: JsonObject): string | undefined => nameIn(model) ?? nameIn(body.model)
