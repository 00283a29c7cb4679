/** The real program inside the test's own process, on free ports. */
import { fileURLToPath } from 'node:url'
import { type Running, type StartOptions, start } from '../../src/main.ts'

export interface Gateway {
  /** Address of the API without a trailing slash; add `/v1/…`. */
  readonly url: string
  readonly admin: string
  /** Secret of the first configured key. */
  readonly key: string
  /** What the program logged, one line each. */
  readonly logs: readonly string[]
  /** POST with the key; the body is stringified unless it is text. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  reload(): Promise<unknown>
  /** Stops the program and starts it again with the same options. The ports change. */
  restart(): Promise<void>
  close(): Promise<void>
}

export type GatewayOptions = Pick<StartOptions, 'env' | 'clock' | 'lane'>

export const KEY = 'sk-router-v1-0123456789abcdef0123456789abcdef'

/** Lines that every test configuration begins with: free ports, a store in memory. */
export const BASE = `
server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
store: { url: "memory:" }
`

/** Starts headgate with this configuration; `BASE` and one key named `test` are added where the text has none. */
export async function startGateway(yaml: string, options: GatewayOptions = {}): Promise<Gateway> {
  const logs: string[] = []
  const base = yaml.includes('\nstore:') || yaml.startsWith('store:') ? BASE.replace(/store:.*\n/, '') : BASE
  const auth = /^auth:/m.test(yaml) ? '' : `auth: { keys: [ { name: test, key: "${KEY}" } ] }\n`
  const configText = `${base}${auth}${yaml}`
  const key = /key: "?(sk-[A-Za-z0-9-]+)/.exec(configText)?.[1] ?? KEY
  // Names the text in errors and is where relative paths start; nothing is read from it.
  const configFile = fileURLToPath(new URL('headgate.test.yaml', import.meta.url))
  const begin = (): Promise<Running> => start({ env: {}, ...options, configFile, configText, log: (line) => logs.push(line) })
  let running = await begin()
  const headersWith = (more: Record<string, string> | undefined): Record<string, string> => ({ authorization: `Bearer ${key}`, ...more })
  return {
    get url() {
      return running.url
    },
    get admin() {
      return running.adminUrl
    },
    key,
    logs,
    post: (path, body, headers) =>
      fetch(`${running.url}${path}`, {
        method: 'POST',
        headers: headersWith({ 'content-type': 'application/json', ...headers }),
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    get: (path, headers) => fetch(`${running.url}${path}`, { headers: headersWith(headers) }),
    reload: () => running.reload(),
    restart: async () => {
      await running.close()
      running = await begin()
    },
    close: () => running.close(),
  }
}

/** YAML of one provider and one model served by it, both under the given names. */
export function oneModel(url: string, dialect: string, more: { provider?: string; model?: string; endpoint?: string } = {}): string {
  return `
providers:
  first: { dialect: ${dialect}, base_url: "${url}/v1", key: "sk-provider-secret"${more.provider ? `, ${more.provider}` : ''} }
models:
  acme/one:
    context: 128000
    max_output: 4096
    ${more.model ?? ''}
    endpoints:
      - { provider: first, model: upstream-model, price: { prompt: "1.00", completion: "2.00" }${more.endpoint ? `, ${more.endpoint}` : ''} }
`
}
