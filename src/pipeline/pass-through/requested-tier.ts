import type { IncomingMessage } from 'node:http'

/** Headers by which the tier of service is requested (Amazon Bedrock; Vertex AI). */
const TIER_HEADERS = ['x-amzn-bedrock-service-tier', 'x-vertex-ai-llm-shared-request-type'] as const

export function headerTier({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
  const value = TIER_HEADERS.map((name) => headers[name]).find((each) => each !== undefined)
  return value === undefined ? undefined : String(value)
}
