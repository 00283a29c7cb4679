/** The one list of dialects: a new one is its folder and a line here. */
import { chatClient, openaiChat } from './chat/index.ts'
import { geminiUpstream } from './gemini/index.ts'
import { anthropicUpstream, messagesClient, messagesCounting } from './messages/index.ts'
import { openaiResponses, responsesClient } from './responses/index.ts'
import { simUpstream } from './sim/index.ts'
import type { ClientDialect, UpstreamDialect } from './types.ts'

/** Client dialects by the path that they answer. */
export const clientDialects: ReadonlyMap<string, ClientDialect> = new Map([
  ['/v1/responses', responsesClient],
  ['/v1/chat/completions', chatClient],
  ['/v1/messages', messagesClient],
  ['/v1/messages/count_tokens', messagesCounting],
])

export const upstreamDialects: ReadonlyMap<string, UpstreamDialect> = new Map(
  [openaiChat, openaiResponses, anthropicUpstream, geminiUpstream, simUpstream].map((dialect) => [dialect.id, dialect]),
)
