/** A gateway beside a site that may be fetched and canaries that may not, and what a hostile site can do to it. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Test } from 'tap'
import type { Clock } from '../../src/core/clock.ts'
import type { JsonObject } from '../../src/core/json.ts'
import { closeDocuments } from '../../src/services/documents/index.ts'
import { bodyText } from './body-text.ts'
import { type Canaries, canaries, OPEN, type Serve } from './canary.ts'
import { turn } from './clock.ts'
import { type Gateway, KEY, startGateway } from './gateway.ts'
import { FORMATS, type Format, parseAsked } from './tool-scene.ts'
import { type Seen, startUpstream, type Upstream } from './upstream.ts'
import { answerFor, type Utterance } from './wire.ts'

export const MB = 1_000_000

export interface HostileScene {
  here: Canaries
  gateway: Gateway
  model: Upstream
  ask(format: Format, body: JsonObject): Promise<ReturnType<typeof parseAsked>>
  script(utterance: (seen: Seen) => Utterance): void
}

export async function hostileScene(
  t: Test,
  { mcp = 'seconds: 1, max_kb: 1000', dialect = 'openai-chat', clock }: { mcp?: string; dialect?: string; clock?: Clock } = {},
): Promise<HostileScene> {
  const here = await canaries(t)
  let script: (seen: Seen) => Utterance = () => ({ text: ['done'] })
  const model = await startUpstream((seen) => answerFor(seen, script(seen)))
  t.teardown(() => model.close())
  const allowed = `allow_private: ["${OPEN}:${here.port}"]`
  const gateway = await startGateway(
    `
auth: { keys: [ { name: test, key: "${KEY}" } ] }
plugins: { defaults: { web-fetch: { ${allowed}, robots: false }, file-parser: { ${allowed} }, mcp: { ${allowed}, ${mcp} } } }
providers: { first: { dialect: ${dialect}, base_url: "${model.url}/v1", key: x } }
models: { acme/one: { context: 8000000, max_output: 4096, endpoints: [ { provider: first, model: m, price: free } ] } }
`,
    { clock },
  )
  t.teardown(() => gateway.close())
  return {
    here,
    gateway,
    model,
    ask: async (format, body) => {
      const response = await gateway.post(FORMATS[format], { model: 'acme/one', ...body })
      return parseAsked(response.status, await bodyText(response))
    },
    script: (utterance) => {
      script = utterance
    },
  }
}

/** Bytes of the process after a collection of garbage. */
export async function memory(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  closeDocuments()
  for (let i = 0; i < 20; i++) {
    await turn()
    if (i % 5 === 4) collect()
  }
  return process.memoryUsage().rss
}

/** Writes without end, as fast as it is taken. */
export function pours(head: Record<string, string>, chunk: string | Buffer): Serve {
  return (_request, response) => {
    response.writeHead(200, head)
    let written = 0
    const pour = (): void => {
      while (!response.destroyed && written < 1000 * MB) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', pour)
      }
    }
    pour()
  }
}

export const HTML = { 'content-type': 'text/html' }

export const SSE = { 'content-type': 'text/event-stream' }

/** A server of tools at the site. */
export const siteTools = ({ here }: Pick<HostileScene, 'here'>, path = '/mcp'): JsonObject => ({
  type: 'mcp',
  server_label: 'far',
  server_url: here.at(path),
  require_approval: 'never',
})
