/** The models that Amazon Bedrock lists: signed calls of its control plane, which is at another host than the models. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { models } from '../../src/cli/models.ts'
import { upstreamDialects } from '../../src/dialects/registry.ts'
import { startAws, USER, withVariables } from '../support/aws.ts'
import { every } from '../support/every.ts'
import { type Printed, printed } from '../support/printed.ts'
import { jsonAnswer, type Seen } from '../support/upstream.ts'

const ACTIVE = { modelLifecycle: { status: 'ACTIVE' } }

/** Replies of ListFoundationModels and ListInferenceProfiles (types of @aws-sdk/client-bedrock 3.1164.0). */
const LISTS: Readonly<Record<string, object>> = {
  '/foundation-models?byOutputModality=TEXT': {
    modelSummaries: [
      { modelId: 'amazon.nova-lite-v1:0', inferenceTypesSupported: ['ON_DEMAND'], ...ACTIVE },
      { modelId: 'anthropic.claude-3-haiku-20240307-v1:0', inferenceTypesSupported: ['ON_DEMAND', 'PROVISIONED'], ...ACTIVE },
      { modelId: 'anthropic.claude-opus-4-8', inferenceTypesSupported: ['INFERENCE_PROFILE'], ...ACTIVE },
      { modelId: 'anthropic.claude-v2', inferenceTypesSupported: ['ON_DEMAND'], modelLifecycle: { status: 'LEGACY' } },
    ],
  },
  '/inference-profiles?maxResults=1000&type=SYSTEM_DEFINED': {
    inferenceProfileSummaries: [
      { inferenceProfileId: 'us.anthropic.claude-opus-4-8', status: 'ACTIVE', type: 'SYSTEM_DEFINED', models: [] },
      { inferenceProfileId: 'us.meta.llama3-3-70b-instruct-v1:0', status: 'ACTIVE', type: 'SYSTEM_DEFINED', models: [] },
    ],
  },
}

async function sync(t: Test, preset: string, answer: (seen: Seen) => object | undefined): Promise<Printed> {
  const aws = await startAws(Date.now, (seen) => {
    const list = answer(seen)
    return list ? jsonAnswer({ ...list }) : jsonAnswer({ message: 'no such operation' }, 404)
  })
  t.teardown(() => aws.close())
  withVariables(t, { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey })
  const file = join(t.testdir(), 'headgate.yaml')
  const entry = `acme/one: { endpoints: [ { provider: aws, model: us.anthropic.claude-opus-4-8, price: free } ] }`
  writeFileSync(file, `providers: { aws: { preset: ${preset}, base_url: "${aws.service.url}" } }\nmodels: { ${entry} }\n`)
  return printed((streams) => models(['sync', 'aws'], { config: file, json: true }, streams, { AWS_REGION: 'us-east-1' }))
}

t.test('models that are called by their names, and profiles, of each format', async (t) => {
  await every(t, 'both formats', async (t) => {
    for (const [preset, names] of [
      ['bedrock', ['amazon.nova-lite-v1:0', 'anthropic.claude-3-haiku-20240307-v1:0', 'us.meta.llama3-3-70b-instruct-v1:0']],
      ['bedrock-claude', ['anthropic.claude-3-haiku-20240307-v1:0']],
    ] as const) {
      const { code, out, error } = await sync(t, preset, ({ path }) => LISTS[path])
      t.equal(code, 0, `${preset}: ${error}`)
      const { new: found, gone } = JSON.parse(out) as { new: { model: string }[]; gone: unknown[] }
      t.same(
        [found.map(({ model }) => model).sort(), gone],
        [[...names].sort(), []],
        `${preset}: what the configuration lacks, and nothing gone`,
      )
    }
  })
})

t.test('a list that is refused is said in one line', async (t) => {
  const { code, error } = await sync(t, 'bedrock', () => undefined)
  t.equal(code, 1)
  t.match(error, /^headgate: aws at http:\/\/127\.0\.0\.1:\d+ gives no list: unexpected answer with status 404$/)
})

t.test('the host of the lists', async (t) => {
  await every(t, 'every address', async (t) => {
    for (const dialect of ['bedrock-converse', 'bedrock-anthropic'])
      for (const [base, expected] of [
        ['https://bedrock-runtime.us-east-1.amazonaws.com', 'https://bedrock.us-east-1.amazonaws.com'],
        ['https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com/', 'https://bedrock-fips.us-gov-west-1.amazonaws.com'],
        ['https://bedrock-runtime.us-east-1.amazonaws.com.evil.example', 'https://bedrock-runtime.us-east-1.amazonaws.com.evil.example'],
        ['https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com', 'https://vpce-1.bedrock-runtime.us-east-1.vpce.amazonaws.com'],
      ] as const)
        t.equal(upstreamDialects.get(dialect)?.listing?.base?.(base), expected, base)
  })
})
