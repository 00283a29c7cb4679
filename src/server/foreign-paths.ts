/** Paths that clients of other APIs call: what the error then says, since the client names neither its API nor a cure. */

interface ForeignApi {
  readonly path: RegExp
  readonly name: string
  readonly cure?: string
}

const OTHER_CLIENT = 'use a client of OpenAI or Anthropic, with the formats Chat Completions, Responses or Messages below /v1'

/** By the paths of @google/genai 3.3.0, openai 7.59.0 (azure.mjs), cohere-ai 8, the AWS SDK's Bedrock Runtime, and docs/api.md of Ollama. */
const FOREIGN: readonly ForeignApi[] = [
  {
    path: /^\/v1(?:alpha|beta\d*)\/|\/models\/[^:]+:(?:[a-z]+GenerateContent|generateContent|countTokens|[a-zA-Z]*[eE]mbedContents?|predict)$/,
    name: 'the Gemini API',
  },
  {
    path: /^\/openai\/(?:deployments\/|v1\/)/,
    name: 'Azure OpenAI',
    cure: "use OpenAI's own client (OpenAI, not AzureOpenAI) with a base URL that ends with /v1, and the key in Authorization",
  },
  { path: /^\/model\/[^/]+\/(?:converse|converse-stream|invoke|invoke-with-response-stream)$/, name: 'Bedrock Runtime' },
  { path: /^(?:\/v1)?\/v2\/(?:chat|embed|rerank)$/, name: "Cohere's API" },
  { path: /^(?:\/v1)?\/api\/(?:chat|generate|embed|embeddings|tags|show|version)$/, name: "Ollama's own API" },
]

/** Characters of a path that may be one. */
const LONGEST = 200

/** The sentence for a path of another API; undefined for any other path. Of GET some are models of the gateway's own list. */
export function foreignPath(method: string, path: string): string | undefined {
  if (method === 'GET' || path.length > LONGEST) return undefined
  const foreign = FOREIGN.find((each) => each.path.test(path))
  if (!foreign) return undefined
  const { name, cure = OTHER_CLIENT } = foreign
  return `No such path: ${path}. It is one of ${name}, which is no format that this gateway offers: ${cure}`
}
