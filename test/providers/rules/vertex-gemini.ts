/** What Gemini on Vertex AI accepts with an API key (discovery document aiplatform v1beta1, revision 20261106). */
import type { Rules } from '../stand-in.ts'
import { vertexFields } from './google-body.ts'
import { conversationCheck, signed, streamCheck } from './google-checks.ts'

const entry = (model: string, quirks: string): string => `endpoints:
  - provider: vertex-gemini
    model: ${model}
    price: { prompt: "0.50", completion: "3.00" }
    quirks: ${quirks}`

const UNAUTHENTICATED = {
  code: 401,
  message:
    'API keys are not supported by this API. Expected OAuth2 access token or other authentication credentials that assert a principal.',
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
  denied: (request, key) => (request.headers['x-goog-api-key'] === key ? undefined : { status: 401, body: { error: UNAUTHENTICATED } }),
  check: (call) => streamCheck(call) ?? vertexFields(call.body) ?? conversationCheck(call),
  says: signed,
}
