/** The real program inside the test's own process, on free ports. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Running, type StartOptions, start } from '../../src/app/start.ts'
import { ADMIN_TOKEN } from './admin.ts'
import { cutReadable } from './body-text.ts'

export interface Gateway {
  /** Address of the API without a trailing slash; add `/v1/…`. */
  readonly url: string
  readonly admin: string
  /** Secret of the first configured key. */
  readonly key: string
  /** Lines that the program logged. */
  readonly logs: readonly string[]
  /** The program itself, for what cannot be reached from outside. */
  readonly running: Running
  /** POST with the key; the body is stringified unless it is text. */
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** Replaces the configuration and reloads it; only where a directory was given. */
  reconfigure(yaml: string): Promise<{ kind: string }>
  /** Stops the program and starts it again with the same options. The ports change. */
  restart(): Promise<void>
  close(): Promise<void>
}

export interface GatewayOptions extends Pick<StartOptions, 'env' | 'clock' | 'lane' | 'loop' | 'signInLink'> {
  /** True: changes of the files that the configuration is read from are taken by themselves. */
  watch?: boolean
  /** Path of the configuration as a file, so that it can be changed later. */
  directory?: string
}

/** An event loop that is never late: tests share the machine with others. */
const CALM: StartOptions['loop'] = { now: () => 0, idle: () => 0, cpu: () => 0, everyTurn: () => () => {}, soon: (fn) => setImmediate(fn) }

export const KEY = 'sk-router-v1-0123456789abcdef0123456789abcdef'

/** Lines that every test configuration begins with: free ports, a store in memory, and no requests of the gateway's own. */
export const BASE = `
server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0, token: ${ADMIN_TOKEN} }
store: { url: "memory:" }
health_checks: { kind: off }
`

/** `BASE`, where the text does not say it differently, and one key named `test` are added. */
function complete(yaml: string): string {
  let base = BASE
  for (const name of ['server', 'admin', 'store', 'health_checks'])
    if (new RegExp(`^${name}:`, 'm').test(yaml)) base = base.replace(new RegExp(`${name}:.*\\n`), '')
  const auth = /^auth:/m.test(yaml) ? '' : `auth: { keys: [ { name: test, key: "${KEY}" } ] }\n`
  return `${base}${auth}${yaml}`
}

/** Starts headgate with this configuration. */
export async function startGateway(yaml: string, options: GatewayOptions = {}): Promise<Gateway> {
  const { directory, ...rest } = options
  const logs: string[] = []
  const text = complete(yaml)
  // Without a directory the name is only what errors show, and where relative paths start.
  const configFile = join(directory ?? import.meta.dirname, 'headgate.yaml')
  if (directory) writeFileSync(configFile, text)
  const source = directory ? { configFile } : { configFile, configText: text }
  const key = /key: "?(sk-[A-Za-z0-9-]+)/.exec(text)?.[1] ?? KEY
  const begin = (): Promise<Running> => start({ env: {}, loop: CALM, ...rest, ...source, log: (line) => logs.push(line) })
  let running = await begin()
  const headersWith = (more: Record<string, string> | undefined): Record<string, string> => ({ authorization: `Bearer ${key}`, ...more })
  return {
    get url() {
      return running.url
    },
    get admin() {
      return running.adminUrl
    },
    get running() {
      return running
    },
    key,
    logs,
    post: (path, body, headers) =>
      cutReadable(
        fetch(`${running.url}${path}`, {
          method: 'POST',
          headers: headersWith({ 'content-type': 'application/json', ...headers }),
          body: typeof body === 'string' ? body : JSON.stringify(body),
        }),
      ),
    get: (path, headers) => fetch(`${running.url}${path}`, { headers: headersWith(headers) }),
    reconfigure: (next) => {
      if (!directory) throw new Error('this gateway has no file to change')
      writeFileSync(configFile, complete(next))
      return running.reload()
    },
    restart: async () => {
      await running.close()
      running = await begin()
    },
    close: () => running.close(),
  }
}

/** YAML of one provider and one model served by it, both under the given names. */
export function oneModel(
  url: string,
  dialect: string,
  more: { provider?: string; model?: string; endpoint?: string | undefined } = {},
): string {
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
