/** Requests that generativelanguage.googleapis.com accepts at v1beta (types of @google/genai 3.3.0). */
import type { Rules } from '../stand-in.ts'
import { geminiFields, invalid } from './google-body.ts'
import { conversationCheck, signed, streamCheck } from './google-checks.ts'

const BUDGETS = `endpoints:
  - provider: google
    model: gemini-2.5-flash
    price: { prompt: "0.30", completion: "2.50" }`

export const gemini: Rules = {
  preset: 'gemini',
  slug: 'google',
  wire: 'gemini',
  sources: [
    'npm @google/genai 3.3.0, dist/genai.d.ts and the converters to the Gemini API',
    'https://ai.google.dev/gemini-api/docs/thought-signatures',
    'recordings test_google and test_multimodal_tool_returns',
  ],
  models: [
    { slug: 'google/gemini-3.8-flash', name: 'gemini-3.8-flash', reasons: true, images: true },
    { slug: 'google/gemini-3.1-flash-lite', name: 'gemini-3.1-flash-lite', reasons: true, images: true },
    { slug: 'google/gemini-2.5-flash', name: 'gemini-2.5-flash', entry: BUDGETS, reasons: true, images: true },
  ],
  path: (model, stream) => `/models/${model.name}:${stream ? 'streamGenerateContent' : 'generateContent'}`,
  denied: (request, key) =>
    request.headers['x-goog-api-key'] === key ? undefined : invalid('API key not valid. Please pass a valid API key.'),
  check: (call) => streamCheck(call) ?? geminiFields(call.body) ?? conversationCheck(call),
  says: signed,
}
