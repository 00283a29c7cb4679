/** A scene whose API listener speaks TLS, with a client that trusts its authority. */
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import { ADMIN_TOKEN } from './admin.ts'
import type { Signed } from './certificates.ts'
import { FakeClock } from './clock.ts'
import { oneModel } from './gateway.ts'
import { type Scene, type SceneOptions, startScene } from './scene.ts'
import { secureFetch, type TlsFiles, tlsFiles } from './tls-files.ts'

export interface TlsScene<SomeClock = FakeClock> extends Scene<SomeClock> {
  readonly files: TlsFiles
  /** A client with connections of its own. */
  client(shown?: Signed, more?: Record<string, unknown>): typeof fetch
  chat(fetch: typeof globalThis.fetch, more?: object, headers?: Record<string, string>): Promise<Response>
}

export interface TlsSceneOptions<SomeClock = FakeClock> extends Omit<SceneOptions<SomeClock>, 'config'> {
  /** Further settings of `server.tls` and `server`, of the whole file, and all of `admin`. */
  tls?: string
  server?: string
  admin?: string
  /** Called before the start. */
  ready?: (files: TlsFiles) => void
}

export async function startTlsScene<SomeClock extends Clock = FakeClock>(
  t: Test,
  { tls = '', server = '', admin, yaml = '', ready, ...options }: TlsSceneOptions<SomeClock> = {},
): Promise<TlsScene<SomeClock>> {
  const files = tlsFiles(t.testdir())
  ready?.(files)
  const clock = (options.clock ?? new FakeClock()) as SomeClock
  const scene = await startScene<SomeClock>(t, {
    directory: files.directory,
    ...options,
    clock,
    config: (url) => `
server: { host: 127.0.0.1, port: 0, tls: { cert: tls.crt, key: tls.key${tls && `, ${tls}`} }${server && `, ${server}`} }
admin: ${admin ?? `{ host: 127.0.0.1, port: 0, token: ${ADMIN_TOKEN} }`}
${yaml}
${oneModel(url, 'openai-chat', options.provider === undefined ? {} : { provider: options.provider })}`,
  })
  const client = (shown?: Signed, more?: Record<string, unknown>): typeof fetch => {
    const { fetch, close } = secureFetch(files, shown, more)
    t.teardown(close)
    return fetch
  }
  return {
    ...scene,
    files,
    client,
    chat: (fetch, more = {}, headers = {}) =>
      fetch(`${scene.gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${scene.gateway.key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'hello' }], ...more }),
      }),
  }
}
