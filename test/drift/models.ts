/**
 * Decision of headgate for each model that the SDKs of `sdks.ts` name and the shipped catalogue does not have. A model in a new version of an
 * SDK that stands nowhere fails `npm run drift -- --newest`; a name in `names.json` without a decision fails the tests.
 */
import type { Wire } from './sdks.ts'

export const MODEL_DECISIONS = {
  /** Older than what the catalogue has of its family: a wildcard with `price: snapshot` serves and prices it. */
  older: 'the price snapshot has it',
  /** Stands for another model, and later for a third: no list has a price that lasts. */
  moving: 'a name that moves',
  /** Given to customers whom the provider has approved: in a shipped file it would fail for all others. */
  restricted: 'access by approval',
  /** Writes images, video, speech or music, or reads speech alone: no model for chat. */
  media: 'writes no text, or not alone',
  /** No longer served. */
  retired: 'gone',
  /** Neither a page nor a public list that was found states a price of it at this provider. */
  unpriced: 'no price is known',
} as const

export type ModelDecision = keyof typeof MODEL_DECISIONS

const words = (text: string): string[] => text.trim().split(/\s+/)

const OPENAI: Readonly<Partial<Record<ModelDecision, readonly string[]>>> = {
  older: words(`
    gpt-3.5-turbo gpt-3.5-turbo-0125 gpt-3.5-turbo-0301 gpt-3.5-turbo-0613 gpt-3.5-turbo-1106 gpt-3.5-turbo-16k gpt-3.5-turbo-16k-0613 gpt-4
    gpt-4-0125-preview gpt-4-0314 gpt-4-0613 gpt-4-1106-preview gpt-4-32k gpt-4-32k-0314 gpt-4-32k-0613 gpt-4-turbo gpt-4-turbo-2024-04-09
    gpt-4-turbo-preview gpt-4-vision-preview gpt-4.1-nano gpt-4.1-nano-2025-04-14 gpt-4o gpt-4o-2024-05-13 gpt-4o-2024-08-06
    gpt-4o-2024-11-20 gpt-4o-audio-preview gpt-4o-audio-preview-2024-10-01 gpt-4o-audio-preview-2024-12-17 gpt-4o-audio-preview-2025-06-03
    gpt-4o-mini gpt-4o-mini-2024-07-18 gpt-4o-mini-audio-preview gpt-4o-mini-audio-preview-2024-12-17 gpt-4o-mini-search-preview
    gpt-4o-mini-search-preview-2025-03-11 gpt-4o-search-preview gpt-4o-search-preview-2025-03-11 gpt-5 gpt-5-2025-08-07 gpt-5-codex
    gpt-5-nano gpt-5-nano-2025-08-07 gpt-5-pro gpt-5-pro-2025-10-06 gpt-5.1 gpt-5.1-2025-11-13 gpt-5.1-codex gpt-5.1-codex-max gpt-5.1-mini
    gpt-5.2 gpt-5.2-2025-12-11 gpt-5.2-pro gpt-5.2-pro-2025-12-11 gpt-5.4 gpt-5.4-mini gpt-5.4-mini-2026-03-17 gpt-5.4-nano
    gpt-5.4-nano-2026-03-17 gpt-5.5-pro gpt-5.5-pro-2026-04-23 gpt-5.6-luna gpt-5.6-sol gpt-5.6-terra gpt-audio-mini
    gpt-audio-mini-2025-12-15 o1 o1-2024-12-17 o1-mini o1-mini-2024-09-12 o1-preview o1-preview-2024-09-12 o1-pro o1-pro-2025-03-19 o3
    o3-2025-04-16 o3-deep-research o3-deep-research-2025-06-26 o3-mini o3-mini-2025-01-31 o3-pro o3-pro-2025-06-10 o4-mini o4-mini-2025-04-16
    o4-mini-deep-research o4-mini-deep-research-2025-06-26`),
  moving: words('chatgpt-4o-latest gpt-5-chat-latest gpt-5.1-chat-latest gpt-5.2-chat-latest gpt-5.3-chat-latest'),
  // "Red-tier models use Daybreak Red and require authorization" (openai 7.59.0, `ResponseCreateParams.AccessPrograms`). GPT-Rosalind is for
  // research in the life sciences (openai.com/index/introducing-the-rosalind-academic-plan: "eligible academic labs").
  restricted: words('gpt-5.6-cyber gpt-6-cyber gpt-6-rosalind gpt-daybreak-blue-latest gpt-daybreak-red-latest gpt-rosalind-research'),
  // developers.openai.com/api/docs/models, "Shut down" (a copy of 2026-11-04: w3cschool.cn/openai_api/openai-api-docs-models.html).
  retired: words('codex-mini-latest computer-use-preview computer-use-preview-2025-03-11'),
  unpriced: ['gpt-6.2-astra-law'],
}

export const DECIDED_MODELS: Readonly<Partial<Record<Wire, Readonly<Partial<Record<ModelDecision, readonly string[]>>>>>> = {
  'openai-chat': OPENAI,
  'openai-responses': OPENAI,
  anthropic: {
    older: words(`
      claude-fable-5 claude-opus-4-5 claude-opus-4-5-20251101 claude-opus-4-6 claude-opus-4-7 claude-opus-4-8 claude-opus-5 claude-sonnet-4-5
      claude-sonnet-4-5-20250929 claude-sonnet-4-6 claude-sonnet-5`),
    // platform.claude.com/docs/en/about-claude/pricing: "limited availability".
    restricted: words('claude-mythos-5 claude-mythos-5-1 claude-mythos-5-2 claude-mythos-preview'),
  },
  gemini: {
    older: words(`
      gemini-2.5-flash gemini-2.5-flash-image gemini-2.5-flash-lite gemini-2.5-pro gemini-3-flash-preview gemini-3-pro-image
      gemini-3.1-flash-image gemini-3.1-flash-lite-image gemini-3.5-flash-lite gemini-3.6-flash gemini-3.7-flash`),
    moving: words('gemini-flash-latest gemini-flash-lite-latest gemini-pro-latest'),
    media: words(`
      gemini-3.1-flash-tts-preview gemini-3.5-transcribe gemini-3.8-flash-lite-tts gemini-3.8-flash-tts gemini-nano-banana-2.1
      gemini-omni-1.1-flash gemini-omni-1.2-flash gemini-omni-flash-preview lyria-3-clip-preview lyria-3-pro-preview lyria-3.5
      nano-banana-pro-preview`),
    // Gemma is free of charge there, within the free tier's limits; the others are previews of robots' and of one agent's own.
    unpriced: words(`
      gemini-3.1-pro-preview-customtools gemini-robotics-er-1.6-preview gemini-robotics-er-2-preview gemma-4-26b-a4b-it gemma-4-31b-it`),
  },
}
