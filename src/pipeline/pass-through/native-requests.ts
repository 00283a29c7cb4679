/** Requests of the pass-through that have a model generate, as far as their path shows it: of which wire, and of which model. */
import { isObject, type JsonObject, objectsOf, stringOf } from '../../core/json.ts'

export interface NativeRequest {
  /** Of the upstream dialect whose requests these are. */
  readonly wire: string
  /** The provider's name of the model, where the path has it. */
  readonly model: string | undefined
  /** The requests in a body: most hold one. */
  requestsIn(body: JsonObject): readonly JsonObject[]
}

interface Row {
  readonly wire: string
  /** Of the end of a path; its group is the model. */
  readonly path: RegExp
  readonly requestsIn?: (body: JsonObject) => readonly JsonObject[]
}

const one = (body: JsonObject): readonly JsonObject[] => [body]

const ROWS: readonly Row[] = [
  { wire: 'openai-chat', path: /\/chat\/completions$/i },
  { wire: 'openai-responses', path: /\/responses$/i },
  { wire: 'anthropic', path: /\/messages$/i },
  // platform.claude.com, "Create a Message Batch": `requests`, each with its `params`.
  {
    wire: 'anthropic',
    path: /\/messages\/batches$/i,
    requestsIn: ({ requests }) => objectsOf(requests).flatMap(({ params }) => (isObject(params) ? [params] : [])),
  },
  // The Gemini API and Vertex AI, which has Claude under `rawPredict`.
  { wire: 'gemini', path: /\/([^/]+):(?:stream)?generateContent$/i },
  { wire: 'anthropic', path: /\/([^/]+):(?:stream)?rawPredict$/i },
  // Amazon Bedrock, API reference of its runtime.
  { wire: 'bedrock-converse', path: /\/model\/([^/]+)\/converse(?:-stream)?$/i },
  { wire: 'anthropic', path: /\/model\/([^/]+)\/invoke(?:-with-response-stream)?$/i },
]

/** @param path below the provider's address. @returns undefined for any other operation. */
export function nativeRequest(path: string): NativeRequest | undefined {
  const plain = plainPath(path)
  for (const { wire, path: form, requestsIn = one } of ROWS) {
    const found = form.exec(plain)
    if (found) return { wire, model: found[1], requestsIn }
  }
  return undefined
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

/** The provider's name of the model. */
export const modelOf = ({ model }: NativeRequest, body: JsonObject | undefined): string | undefined => model ?? stringOf(body?.model)
