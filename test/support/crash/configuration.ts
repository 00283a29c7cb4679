/** Configurations for tests that run the program as a process: fixed ports, since the command line asks the admin port. */
import { writeFileSync } from 'node:fs'
import { ADMIN_TOKEN } from '../admin.ts'
import { isFree } from './processes.ts'

export const SECRET = 'sk-router-v1-crash000000000000000'

/** Below the range from which the system takes the ports of outgoing connections: nobody else gets one by chance. */
const PORTS = { first: 10_000, count: 20_000 }
/** Test processes run side by side: each starts to look elsewhere. */
let next = (process.pid * 131) % PORTS.count

/** Ports that nobody listens on, all different; the caller is about to write them into a configuration. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    next = (next + 1) % PORTS.count
    const port = PORTS.first + next
    if (await isFree(port)) ports.push(port)
  }
  return ports
}

export interface FileParts {
  port: number
  admin: number
  /** Path of the SQLite file, or of the journal where `record` is. */
  store: string
  /** Address of a store of record elsewhere. */
  record?: string | undefined
  /** Default `process`. */
  durability?: 'process' | 'power' | undefined
  provider: string
  /** Lines in place of the usual ones. */
  server?: string | undefined
  /** A line of `auth` beside the keys. */
  auth?: string | undefined
  keys?: string | undefined
  /** YAML of guardrails, as a flow sequence. */
  guardrails?: string | undefined
  limit?: string | undefined
  price?: string | undefined
  models?: string | undefined
  timeouts?: string | undefined
}

/** One model at two providers that share an address. */
export function fileText(parts: FileParts): string {
  const price = parts.price ?? '{ prompt: "1.00", completion: "2.00" }'
  const timeouts = parts.timeouts ?? '{ idle: 1s, first_byte: 5s }'
  return `server: { host: 127.0.0.1, port: ${parts.port}${parts.server ? `, ${parts.server}` : ''} }
admin: { host: 127.0.0.1, port: ${parts.admin}, token: ${ADMIN_TOKEN} }
store: { ${parts.record ? `url: "${parts.record}", journal: "${parts.store}"` : `url: "sqlite:${parts.store}"`}, durability: ${parts.durability ?? 'process'} }
auth:
${parts.auth === undefined ? '' : `  ${parts.auth}\n`}  keys:
    ${parts.keys ?? `- { name: app, key: "${SECRET}", limit: "${parts.limit ?? '1000.00'}" }`}
${parts.guardrails ? `guardrails: ${parts.guardrails}\n` : ''}providers:
  first: { dialect: openai-chat, base_url: "${parts.provider}/v1", key: "sk-provider", timeouts: ${timeouts} }
  second: { dialect: openai-responses, base_url: "${parts.provider}/v1", key: "sk-provider", timeouts: ${timeouts} }
models:
  ${parts.models ?? 'acme/one'}:
    context: 128000
    max_output: 4096
    default_max_output: 1000
    endpoints:
      - { provider: first, model: upstream-model, price: ${price} }
      - { provider: second, model: upstream-model, price: ${price} }
`
}

export function writeConfiguration(file: string, parts: FileParts): void {
  writeFileSync(file, fileText(parts))
}
