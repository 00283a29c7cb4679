/**
 * The clients of the suite: which exist, in which language and format, and what they do by themselves. The tests run what stands here, and
 * `docs/clients.md` is made of it (`page.ts`). This file imports no client, so that the page can be checked without any.
 */
import { APART, type Lack } from './client.ts'

export type Language = 'JavaScript' | 'Python' | 'Go' | 'Java' | 'Rust'
export type Format = 'Chat Completions' | 'Responses' | 'Messages'

export interface Certified {
  readonly language: Language
  /** As its test calls it; of the programs in other languages without the mode. */
  readonly name: string
  /** In the file of its language that pins it. */
  readonly package: string
  readonly format: Format
  /** Which tests run it: `exercise.ts` has all features, `task.ts` a conversation of two questions with tools. */
  readonly suite: 'exercise' | 'task'
  readonly modes: readonly ('whole' | 'streamed')[]
  /** True where it waits and comes back after a 429 by its defaults; absent: not tried. */
  readonly repeats?: boolean
  /** False where its error has nothing of what the gateway says. */
  readonly saysWhy?: false
  /** True where `features.ts` tries it beside the task. */
  readonly features?: true
  /** True where the task runs twice: as it is, and with a request to think, as `NAME with thinking`, whose reasoning `features.ts` sends back. */
  readonly thinks?: true
  readonly lacks?: readonly Lack[]
  /** Variables that have to be set. */
  readonly setting?: string
}

const TYPED: Lack = { ability: 'replay', why: 'its types have no field for signed reasoning' }
const UNTYPED: Lack = { ability: 'reasoning', why: 'its types have no field for it' }
const OTHER_NAME: Lack = { ability: 'reasoning', why: 'its types have reasoning_content alone' }
const RETURNED: Lack = { ability: 'replay', why: 'thinking goes back where returnThinking and sendThinking are set' }
/** `otherReasoningKeys` of eino-ext/libs/acl/openai 0.1.11. */
const QUOTED: Lack = { ability: 'reasoning', why: 'it shows the JSON text of each piece, with its quotation marks' }
/** genai 0.7.2: `adapter/adapters/openai/streamer.rs`, `adapter/adapters/anthropic/adapter_shared.rs` and `chat/chat_stream.rs`. */
const UNREAD: Lack = { ability: 'replay', why: 'its streams leave reasoning_details and unknown fields of calls unread' }
const PLAIN_CALLS: Lack = { ability: 'replay', from: ['gemini'], why: 'it drops unknown fields of calls, in which signatures stand' }
const CAPTURED: Lack = { ability: 'replay', why: 'signed thinking goes back where capture_reasoning_content is set' }

/** Formats whose signature covers a text of its own piece; `_add_text_reasoning_content` of agent-framework-core 1.23.0 keeps one piece. */
const SIGNED_TEXT: Lack['from'] = ['openai-chat', 'anthropic']

type Row = readonly [name: string, pinned: string, format: Format, more?: Partial<Certified>]

const WHOLE = ['whole'] as const
const STREAMED = ['streamed'] as const
const BOTH = ['whole', 'streamed'] as const

const rows = (language: Language, suite: Certified['suite'], modes: Certified['modes'], list: readonly Row[]): Certified[] =>
  list.map(([name, pinned, format, more]) => ({ language, name, package: pinned, format, suite, modes, ...more }))

const STORE = '`store: false`: it names earlier items by their ids otherwise'
const SCHEMAS = '`supportsStructuredOutputs: true`: schemas of answers are left out otherwise'
const SLASH = 'a base address that ends with a slash'
const CAP = 'a cap of output tokens, which it demands for models that it does not know'

export const CERTIFIED: readonly Certified[] = [
  ...rows('JavaScript', 'exercise', BOTH, [
    ['openai chat', 'openai', 'Chat Completions', { repeats: true }],
    ['openai responses', 'openai', 'Responses', { repeats: true }],
    ['anthropic', '@anthropic-ai/sdk', 'Messages', { repeats: true }],
    [
      'ai-sdk openai responses',
      '@ai-sdk/openai',
      'Responses',
      {
        repeats: true,
        setting: STORE,
        lacks: [{ ability: 'replay', why: 'it refers to reasoning by its id unless store is false' }],
      },
    ],
    ['ai-sdk openai responses, store false', '@ai-sdk/openai', 'Responses', { repeats: true, setting: 'this is with `store: false`' }],
    [
      'ai-sdk openai chat',
      '@ai-sdk/openai',
      'Chat Completions',
      {
        repeats: true,
        lacks: [
          { ability: 'reasoning', why: 'its chat model does not read reasoning' },
          { ability: 'replay', why: 'nor send it back' },
        ],
      },
    ],
    [
      'ai-sdk openai-compatible',
      '@ai-sdk/openai-compatible',
      'Chat Completions',
      { repeats: true, setting: SCHEMAS, lacks: [{ ability: 'replay', from: APART, why: 'it sends back the text of reasoning only' }] },
    ],
    ['ai-sdk anthropic', '@ai-sdk/anthropic', 'Messages', { repeats: true }],
    [
      'mastra openai responses',
      '@mastra/core',
      'Responses',
      { repeats: false, setting: STORE, lacks: [{ ability: 'replay', why: 'its model refers to reasoning by its id unless store is false' }] },
    ],
    [
      'mastra openai-compatible',
      '@mastra/core',
      'Chat Completions',
      { repeats: false, setting: SCHEMAS, lacks: [{ ability: 'replay', from: APART, why: 'it sends back the text of reasoning only' }] },
    ],
    ['mastra anthropic', '@mastra/core', 'Messages', { repeats: false }],
    ['openai-agents responses', '@openai/agents', 'Responses', { repeats: true }],
    [
      'openai-agents chat',
      '@openai/agents',
      'Chat Completions',
      {
        repeats: true,
        lacks: [
          { ability: 'replay', from: APART, why: 'it sends back the text of reasoning only' },
          { ability: 'replay', from: ['gemini'], streamed: true, why: 'it puts calls together from id, name and arguments' },
        ],
      },
    ],
    [
      'langchain responses',
      '@langchain/openai',
      'Responses',
      {
        repeats: true,
        lacks: [
          {
            ability: 'reasoning',
            from: ['openai-chat', 'anthropic'],
            why: 'it asks for a summary of models only whose names it knows, and reads nothing else',
          },
        ],
      },
    ],
    [
      'langchain chat',
      '@langchain/openai',
      'Chat Completions',
      {
        repeats: true,
        lacks: [
          { ability: 'reasoning', why: 'its chat converter reads reasoning_content only' },
          { ability: 'replay', why: 'and sends nothing of it back' },
        ],
      },
    ],
    ['openrouter-sdk responses', '@openrouter/sdk', 'Responses', { repeats: false, setting: '`brand.word`' }],
    ['openrouter-sdk chat', '@openrouter/sdk', 'Chat Completions', { repeats: false, setting: '`brand.word`' }],
    [
      'ai-sdk openrouter',
      '@openrouter/ai-sdk-provider',
      'Chat Completions',
      {
        repeats: true,
        setting: '`brand.word`',
        lacks: [{ ability: 'replay', from: ['openai-chat'], why: 'it drops details whose format it does not know' }],
      },
    ],
  ]),
  ...rows('Python', 'task', STREAMED, [
    ['openai, chat', 'openai', 'Chat Completions', { repeats: true, features: true }],
    ['openai, responses', 'openai', 'Responses', { repeats: true, features: true }],
    ['anthropic', 'anthropic', 'Messages', { repeats: true, features: true, thinks: true }],
    [
      'langchain, chat',
      'langchain-openai',
      'Chat Completions',
      {
        repeats: true,
        features: true,
        lacks: [
          { ability: 'reasoning', why: 'its chat converter reads no reasoning' },
          { ability: 'replay', why: 'and sends nothing of it back' },
        ],
      },
    ],
    ['langchain, responses', 'langchain-openai', 'Responses', { repeats: true, features: true }],
    [
      'pydantic-ai, chat',
      'pydantic-ai-slim',
      'Chat Completions',
      { repeats: true, features: true, lacks: [{ ability: 'replay', from: APART, why: 'it sends back the text of reasoning only' }] },
    ],
    [
      'pydantic-ai, responses',
      'pydantic-ai-slim',
      'Responses',
      {
        repeats: true,
        features: true,
        lacks: [{ ability: 'replay', why: 'it asks for encrypted reasoning of models only whose names it knows' }],
      },
    ],
    [
      'pydantic-ai, anthropic',
      'pydantic-ai-slim',
      'Messages',
      {
        repeats: true,
        features: true,
        lacks: [
          { ability: 'schema', why: 'it has native structured output for models only whose names it knows' },
          { ability: 'replay', from: ['gemini'], why: 'it drops redacted thinking, in which signatures of calls stand' },
        ],
      },
    ],
    [
      'openai-agents, chat',
      'openai-agents',
      'Chat Completions',
      { repeats: true, features: true, lacks: [{ ability: 'replay', from: APART, why: 'it sends back the text of reasoning only' }] },
    ],
    ['openai-agents, responses', 'openai-agents', 'Responses', { repeats: true, features: true }],
    [
      'agent-framework, chat',
      'agent-framework-openai',
      'Chat Completions',
      {
        repeats: true,
        features: true,
        lacks: [
          { ability: 'reasoning', why: 'it keeps reasoning_details as protected data, without a text' },
          { ability: 'replay', from: SIGNED_TEXT, why: 'of a stream it keeps the last piece of reasoning_details, which has the signature alone' },
        ],
      },
    ],
    ['agent-framework, responses', 'agent-framework-openai', 'Responses', { repeats: true, features: true, setting: STORE }],
  ]),
  ...rows('Go', 'task', BOTH, [
    ['openai-go, chat', 'github.com/openai/openai-go/v3', 'Chat Completions', { repeats: true, features: true, lacks: [TYPED] }],
    ['openai-go, responses', 'github.com/openai/openai-go/v3', 'Responses', { repeats: true, features: true }],
    ['anthropic-sdk-go', 'github.com/anthropics/anthropic-sdk-go', 'Messages', { repeats: true, features: true, thinks: true }],
    ['go-openai', 'github.com/sashabaranov/go-openai', 'Chat Completions', { repeats: false, features: true, lacks: [OTHER_NAME, TYPED] }],
    ['langchaingo', 'github.com/tmc/langchaingo', 'Chat Completions', { repeats: false, features: true, lacks: [OTHER_NAME, TYPED] }],
    ['eino', 'github.com/cloudwego/eino-ext/components/model/openai', 'Chat Completions', { repeats: false, features: true, lacks: [QUOTED, TYPED] }],
  ]),
  ...rows('Java', 'task', BOTH, [
    [
      'openai-java, chat',
      'openai-java',
      'Chat Completions',
      { repeats: true, features: true, lacks: [{ ability: 'replay', from: APART, why: 'it sends back unknown fields of calls alone' }] },
    ],
    ['openai-java, responses', 'openai-java', 'Responses', { repeats: true, features: true }],
    ['anthropic-java', 'anthropic-java', 'Messages', { repeats: true, features: true, thinks: true }],
    ['langchain4j, chat', 'langchain4j-open-ai', 'Chat Completions', { modes: WHOLE, repeats: true, features: true, lacks: [TYPED] }],
    ['langchain4j, chat', 'langchain4j-open-ai', 'Chat Completions', { modes: STREAMED, repeats: false, features: true, lacks: [TYPED] }],
    ['langchain4j, responses', 'langchain4j-open-ai', 'Responses', { modes: STREAMED, repeats: false, features: true }],
    ['langchain4j, anthropic', 'langchain4j-anthropic', 'Messages', { modes: WHOLE, repeats: true, features: true, lacks: [RETURNED] }],
    ['langchain4j, anthropic', 'langchain4j-anthropic', 'Messages', { modes: STREAMED, repeats: false, features: true, lacks: [RETURNED] }],
    ['spring-ai', 'spring-ai-openai', 'Chat Completions', { modes: WHOLE, repeats: false, features: true, lacks: [OTHER_NAME, TYPED] }],
    // The error of its stream has the status alone.
    ['spring-ai', 'spring-ai-openai', 'Chat Completions', { modes: STREAMED, repeats: false, saysWhy: false, features: true, lacks: [OTHER_NAME, TYPED] }],
  ]),
  ...rows('Rust', 'task', BOTH, [
    ['async-openai, chat', 'async-openai', 'Chat Completions', { repeats: true, features: true, lacks: [UNTYPED, TYPED] }],
    ['rig, chat', 'rig-core', 'Chat Completions', { repeats: false, features: true }],
    ['rig, responses', 'rig-core', 'Responses', { repeats: false, features: true }],
    ['rig, anthropic', 'rig-core', 'Messages', { repeats: false, features: true, setting: CAP }],
    ['genai, chat', 'genai', 'Chat Completions', { modes: WHOLE, repeats: false, features: true, setting: SLASH }],
    ['genai, chat', 'genai', 'Chat Completions', { modes: STREAMED, repeats: false, features: true, setting: SLASH, lacks: [UNREAD] }],
    ['genai, anthropic', 'genai', 'Messages', { modes: WHOLE, repeats: false, features: true, setting: SLASH, lacks: [PLAIN_CALLS] }],
    ['genai, anthropic', 'genai', 'Messages', { modes: STREAMED, repeats: false, features: true, setting: SLASH, lacks: [CAPTURED] }],
  ]),
]

/** A client in one mode, as the program of its language calls it. */
export interface Run extends Certified {
  readonly program: string
  readonly stream: boolean
}

const withThinking = (client: Certified): Certified[] =>
  client.thinks ? [{ ...client, features: undefined }, { ...client, name: `${client.name} with thinking` }] : [client]

/** Those of a language, a run for each mode. The programs in Python have one mode, so its names have none. */
export const languageRuns = (language: Language): Run[] =>
  CERTIFIED.filter((each) => each.language === language)
    .flatMap(withThinking)
    .flatMap((each) =>
      each.modes.map((mode) => ({ ...each, program: language === 'Python' ? each.name : `${each.name}, ${mode}`, stream: mode === 'streamed' })),
    )

/** @throws Error for a client that does not stand in the list, so that none is left out of the page. */
export function certified(name: string): Certified {
  const found = CERTIFIED.find((each) => each.suite === 'exercise' && each.name === name)
  if (!found) throw new Error(`${name} does not stand in test/clients/support/certified.ts`)
  return found
}
