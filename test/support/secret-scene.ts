/** A gateway whose provider's key is a secret that stands elsewhere. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { ConfigError } from '../../src/config/problems.ts'
import { ANSWER } from './clouds/scene.ts'
import { type Gateway, startGateway } from './gateway.ts'
import { jsonAnswer, startUpstream, type Upstream } from './upstream.ts'

export const BODY = { model: 'acme/one', messages: [{ role: 'user', content: 'Hello' }] }
export interface SecretScene {
  readonly directory: string
  readonly provider: Upstream
  /** The configuration with this text as the provider's key. */
  yaml(key: string): string
  /** Last keys that the provider has seen. */
  keys(): string[]
}

export async function secretScene(t: Test): Promise<SecretScene> {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-secrets-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const provider = await startUpstream(() => jsonAnswer(ANSWER))
  t.teardown(() => provider.close())
  return {
    directory,
    provider,
    yaml: (key) => `
providers: { acme: { dialect: openai-chat, base_url: "${provider.url}/v1", key: "${key}" } }
models: { acme/one: { endpoints: [ { provider: acme, model: one, price: free } ] } }
`,
    keys: () => provider.requests.map(({ headers }) => String(headers.authorization).replace('Bearer ', '')),
  }
}

export async function started(t: Test, yaml: string, options: Parameters<typeof startGateway>[1]): Promise<Gateway> {
  const gateway = await startGateway(yaml, options)
  t.teardown(() => gateway.close())
  return gateway
}

/** Fault of a configuration that cannot be used, without its place. */
export async function problemAtStart(yaml: string, options: Parameters<typeof startGateway>[1]): Promise<string> {
  const error = await startGateway(yaml, options).catch((thrown: unknown) => thrown)
  if (!(error instanceof ConfigError)) throw new Error(`expected a ConfigError, found ${error}`)
  return error.message.replace(/^.*headgate\.yaml:\d+:\d+: /, '')
}
