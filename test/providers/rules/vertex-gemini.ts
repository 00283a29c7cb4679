/** Requests that Gemini on Vertex AI accepts at a project's address (discovery document aiplatform v1beta1, revision 20261106). */
import type { Seen } from '../../support/upstream.ts'
import type { Refusal, Rules } from '../stand-in.ts'
import { vertexFields } from './google-body.ts'
import { conversationCheck, signed, streamCheck } from './google-checks.ts'

const entry = (model: string, quirks: string): string => `endpoints:
  - provider: vertex-gemini
    model: ${model}
    price: { prompt: "0.50", completion: "3.00" }
    quirks: ${quirks}`

/** Of every address of Vertex AI, for a token that does not hold. */
export const vertexDenied = ({ headers }: Seen, token: string): Refusal | undefined =>
  headers.authorization === `Bearer ${token}` && headers['x-goog-api-key'] === undefined && headers['x-api-key'] === undefined
    ? undefined
    : { status: 401, body: { error: UNAUTHENTICATED } }

const UNAUTHENTICATED = {
  code: 401,
  message:
    'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  status: 'UNAUTHENTICATED',
}

export const vertexGemini: Rules = {
  preset: 'vertex-gemini',
  wire: 'gemini',
  sources: [
    'pip google-api-python-client 2.202.0, discovery document aiplatform.v1beta1, revision 20261106',
    'https://docs.cloud.google.com/vertex-ai/generative-ai/docs/thought-signatures',
    'https://github.com/vercel/ai/issues/15891',
  ],
  models: [
    {
      slug: 'vertex/gemini-3.5-flash',
      name: 'gemini-3.5-flash',
      entry: entry('gemini-3.5-flash', '{ thinking: level }'),
      reasons: true,
      images: true,
    },
    { slug: 'vertex/gemini-2.5-flash', name: 'gemini-2.5-flash', entry: entry('gemini-2.5-flash', '{}'), reasons: true, images: true },
  ],
  path: (model, stream) => `/models/${model.name}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
  denied: vertexDenied,
  check: (call) => streamCheck(call) ?? vertexFields(call.body) ?? conversationCheck(call),
  says: signed,
}
