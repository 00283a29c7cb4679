/** A gateway with one provider whose accounts differ by the key that arrives, a manager and an application. */
import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import type { JsonObject } from '../../src/core/json.ts'
import type { FakeClock } from './clock.ts'
import { type Scene, startScene } from './scene.ts'
import type { Answer, Seen } from './upstream.ts'
import { answerFor, upstreamError } from './wire.ts'

export const MANAGER = 'sk-router-v1-byokmanager0123456789'
export const OPERATOR = 'sk-operator-account-000'
export const TEAM = 'sk-team-account-1234567'
export const SECOND = 'sk-team-second-76543210'

export const encryptionKey = (): string => randomBytes(32).toString('base64')

/** A token costs $0.000001, in and out. */
const PRICE = '{ prompt: "1", completion: "1" }'

export interface ByokScene {
  readonly url: string
  readonly logs: readonly string[]
  /** Keys that arrived at the provider, the oldest first. */
  readonly arrived: string[]
  /** Replies of the provider by key; by default it says fine. */
  readonly answers: Map<string, (request: Seen) => Answer | Promise<Answer>>
  readonly hash: string
  readonly scene: Scene<FakeClock>
  manage(method: string, path: string, body?: JsonObject): Promise<{ status: number; body: JsonObject }>
  ask(more?: JsonObject, path?: string, key?: string): Promise<{ status: number; body: JsonObject; text: string }>
  /** Adds a key of a team. @returns its id. */
  add(key: string, more?: JsonObject): Promise<string>
  /** Restarts the gateway, which has a directory. @param byok another section. */
  restart(byok?: string): Promise<void>
}

export interface ByokOptions {
  /** YAML of `byok`. */
  byok?: string
  store?: string
  yaml?: string
  /** Further settings of `auth`, with a comma behind them. */
  auth?: string
  /** Of the application. */
  key?: JsonObject
  env?: Record<string, string>
  directory?: string
  models?: string
  /** Further lines of `providers`. */
  providers?: (url: string) => string
}

/** The one key of a provider's request, in whichever header. */
function keyIn({ headers, rawHeaders }: Seen): string {
  const found = rawHeaders.filter((_, at) => at % 2 === 0).filter((name) => /^(authorization|x-api-key)$/i.test(name))
  return found.length === 1 ? String(headers.authorization ?? headers['x-api-key']).replace('Bearer ', '') : `${found.length} keys`
}

export async function byokScene(t: Test, options: ByokOptions = {}): Promise<ByokScene & { key: string }> {
  const { byok = `{ encryption_keys: [ "${encryptionKey()}" ] }`, store, yaml = '', env, directory, models } = options
  const arrived: string[] = []
  const answers: ByokScene['answers'] = new Map()
  const configuration = (url: string, section: string): string => `
${store === undefined ? '' : `store: { url: "${store}" }\n`}
auth: { ${options.auth ?? ''} keys: [ { name: manager, key: "${MANAGER}", management: true } ] }
byok: ${section}
providers:
  openai: { name: OpenAI, dialect: openai-chat, base_url: "${url}/v1", key: "${OPERATOR}" }
${options.providers?.(url) ?? ''}
models:
  acme/one:
    max_output: 100
    endpoints: [ { provider: openai, model: upstream-model, price: ${PRICE} } ]
  acme/other:
    max_output: 100
    endpoints: [ { provider: openai, model: other-model, price: ${PRICE} } ]
${models ?? ''}
${yaml}`
  const scene = await startScene<FakeClock>(t, {
    ...(env && { env }),
    ...(directory === undefined ? {} : { directory }),
    answer: (request) => {
      const key = keyIn(request)
      arrived.push(key)
      return answers.get(key)?.(request) ?? answerFor(request, { text: ['fine'], usage: { input: 10, output: 5 } })
    },
    config: (url) => configuration(url, byok),
  })
  const { gateway } = scene
  const call = async (method: string, path: string, body: JsonObject | undefined, secret: string) => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
    const response = await fetch(`${gateway.url}${path}`, { method, headers, body: body ? JSON.stringify(body) : null })
    const text = await response.text()
    return { status: response.status, body: (text.startsWith('{') ? JSON.parse(text) : {}) as JsonObject, text }
  }
  const made = (await call('POST', '/v1/keys', { name: 'app', ...options.key }, MANAGER)).body as { key: string; data: JsonObject }
  const byPath: Record<string, JsonObject> = {
    '/v1/responses': { input: 'Hello' },
    '/v1/embeddings': { input: 'Hello' },
  }
  return {
    get url() {
      return gateway.url
    },
    logs: gateway.logs,
    arrived,
    answers,
    scene,
    key: made.key,
    hash: String(made.data.hash),
    manage: (method, path, body) => call(method, path, body, MANAGER),
    ask: (more = {}, path = '/v1/chat/completions', key = made.key) =>
      call(
        'POST',
        path,
        { model: 'acme/one', ...(byPath[path] ?? { max_tokens: 50, messages: [{ role: 'user', content: 'Hello' }] }), ...more },
        key,
      ),
    add: async (key, more = {}) => {
      const { status, body } = await call('POST', '/v1/byok', { provider: 'openai', key, ...more }, MANAGER)
      if (status !== 201) throw new Error(JSON.stringify(body))
      return String((body.data as JsonObject).id)
    },
    restart: async (section = byok) => {
      await gateway.reconfigure(configuration(scene.upstream.url, section))
      await gateway.restart()
    },
  }
}

export const refuses = (status: number, message: string) => (): Answer => upstreamError(status, message)
