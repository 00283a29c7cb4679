/** A gateway before one provider whose credential comes from a cloud. */
import type { Test } from 'tap'
import type { FakeClock } from '../clock.ts'
import { type Gateway, startGateway } from '../gateway.ts'
import { jsonAnswer, type Seen, startUpstream, type Upstream } from '../upstream.ts'

export const CHAT = { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] }

/** A chat completion. */
export const ANSWER = {
  id: 'c1',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
}

export interface CloudScene {
  gateway: Gateway
  provider: Upstream
  chat(): Promise<Response>
  metrics(): Promise<string>
}

/**
 * @param credential as YAML, such as `{ google: {} }`.
 * @param takes whether the provider takes a call.
 */
export async function cloudScene(
  t: Test,
  credential: string,
  { clock, takes, more = '' }: { clock: FakeClock; takes: (seen: Seen) => boolean; more?: string },
): Promise<CloudScene> {
  const provider = await startUpstream((seen) =>
    takes(seen)
      ? jsonAnswer(ANSWER)
      : jsonAnswer({ error: { message: `bad credential ${seen.headers.authorization}`, code: 401, status: 'UNAUTHENTICATED' } }, 401),
  )
  const gateway = await startGateway(
    `providers: { first: { dialect: openai-chat, base_url: "${provider.url}/v1", credential: ${credential}${more} } }
models: { acme/one: { endpoints: [ { provider: first, model: m, price: free } ] } }
`,
    { clock, env: environments.get(t) ?? {} },
  )
  t.teardown(() => Promise.all([gateway.close(), provider.close()]))
  return {
    gateway,
    provider,
    chat: () => gateway.post('/v1/chat/completions', CHAT),
    metrics: async () => await (await fetch(`${gateway.admin}/metrics`)).text(),
  }
}

/** Secrets that the log, the metrics or a reply show. */
export async function shown(made: CloudScene, secrets: readonly string[], replies: string): Promise<string[]> {
  const texts = made.gateway.logs.join('') + (await made.metrics()) + replies
  return secrets.filter((secret) => secret !== '' && texts.includes(secret))
}

const environments = new WeakMap<Test, Record<string, string>>()

/** Sets variables of the gateway that a test will start. */
export function withVariables(t: Test, variables: Readonly<Record<string, string>>): void {
  environments.set(t, { ...environments.get(t), ...variables })
}
