/**
 * Workload identity federation as the official SDKs have it: what they send is accepted by the stand-in that the gateway's tests use, and the
 * gateway sends the same.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { k8sServiceAccountTokenProvider } from 'openai/auth/subject-token-providers'
import t from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { ANTHROPIC, AUDIENCES, Federation, OPENAI, WORKSPACE } from '../support/clouds/federation.ts'
import { ANSWER, CHAT } from '../support/clouds/scene.ts'
import { eventually } from '../support/eventually.ts'
import { startGateway } from '../support/gateway.ts'
import { jsonAnswer, type Seen } from '../support/upstream.ts'

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}

/** Parts of an exchange that the provider reads. */
const parts = ({ method, path, headers, json }: Seen): unknown => ({
  method,
  path,
  type: headers['content-type'],
  betas: headers['anthropic-beta'],
  json,
})

t.test('the SDKs and the gateway send the same exchange, and call with the same headers', async (t) => {
  const federation = await Federation.start(systemClock, ({ path }) => jsonAnswer(path.endsWith('/messages') ? MESSAGE : ANSWER))
  t.teardown(() => federation.server.close())
  const directory = t.testdir()
  const file = { openai: join(directory, 'openai'), anthropic: join(directory, 'anthropic') }
  for (const provider of ['openai', 'anthropic'] as const) writeFileSync(file[provider], `${federation.clusterToken(AUDIENCES[provider])}\n`)

  const openai = new OpenAI({
    baseURL: `${federation.url}/openai/v1`,
    // The SDK has no setting for the address of the exchange.
    fetch: (url, init) => fetch(String(url).replace('https://auth.openai.com', federation.url), init),
    workloadIdentity: {
      identityProviderId: OPENAI.identity_provider_id,
      serviceAccountId: OPENAI.service_account_id,
      provider: k8sServiceAccountTokenProvider(file.openai),
    },
  })
  t.equal((await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })).id, 'c1')
  const anthropic = new Anthropic({
    baseURL: federation.url,
    config: {
      base_url: federation.url,
      organization_id: ANTHROPIC.organization_id,
      workspace_id: WORKSPACE,
      authentication: {
        type: 'oidc_federation',
        federation_rule_id: ANTHROPIC.federation_rule_id,
        service_account_id: ANTHROPIC.service_account_id,
        identity_token: { source: 'file', path: file.anthropic },
      },
    },
  })
  t.equal((await anthropic.messages.create({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] })).id, 'msg_1')
  t.strictSame(federation.refused, [])
  const [fromOpenai, fromAnthropic] = federation.exchanges
  const [openaiCall, anthropicCall] = federation.calls

  const ids = (fields: object): string => JSON.stringify(fields).slice(1, -1)
  const gateway = await startGateway(`
providers:
  openai:
    dialect: openai-chat
    base_url: "${federation.url}/openai/v1"
    credential: { openai: { ${ids(OPENAI)}, identity_token: { file: "${file.openai}" }, token_url: "${federation.url}/oauth/token" } }
  anthropic:
    dialect: anthropic
    base_url: "${federation.url}/v1"
    credential: { anthropic: { ${ids(ANTHROPIC)}, workspace_id: ${WORKSPACE}, identity_token: { file: "${file.anthropic}" }, token_url: "${federation.url}/v1/oauth/token" } }
models:
  acme/openai: { endpoints: [ { provider: openai, model: m, price: free } ] }
  acme/anthropic: { endpoints: [ { provider: anthropic, model: m, price: free } ] }
`)
  t.teardown(() => gateway.close())
  await eventually('both exchanges', () => federation.exchanges.length === 4)
  const own = (path: string) => federation.exchanges.slice(2).find((seen) => seen.path === path)
  for (const theirs of [fromOpenai, fromAnthropic]) {
    const ours = own(`${theirs?.path}`)
    t.strictSame(ours && parts(ours), theirs && parts(theirs), theirs?.path)
  }
  for (const model of ['acme/openai', 'acme/anthropic'])
    t.equal((await gateway.post('/v1/chat/completions', { ...CHAT, model })).status, 200, model)
  const [, , toOpenai, toAnthropic] = federation.calls
  for (const [ours, theirs] of [
    [toOpenai, openaiCall],
    [toAnthropic, anthropicCall],
  ]) {
    t.match(ours?.headers.authorization, /^Bearer sk-ant-oat01-/)
    t.equal(ours?.headers['anthropic-beta'], theirs?.headers['anthropic-beta'])
    t.equal(ours?.headers['x-api-key'], theirs?.headers['x-api-key'])
  }
})
