/** docs/recipes/claude-code-on-bedrock.md, followed with a stand-in of Bedrock. */
import t from 'tap'
import { startAws, USER, withVariables } from '../support/aws.ts'
import { answerFor } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

t.test('the commands of the page, and a streamed request as Claude Code sends it', async (t) => {
  const aws = await startAws(Date.now, (seen) => answerFor(seen, { text: ['ready'] }))
  t.teardown(() => aws.close())
  withVariables(t, { AWS_ACCESS_KEY_ID: USER.accessKeyId, AWS_SECRET_ACCESS_KEY: USER.secretAccessKey })
  const { gateway, next, done } = await followRecipe(t, 'claude-code-on-bedrock', {
    env: { AWS_REGION: 'us-east-1' },
    with: { 'preset: bedrock-claude }': `preset: bedrock-claude, base_url: "${aws.service.url}" }` },
  })
  const plan = await next()
  t.match(plan, /headgate\.yaml: ok/)
  t.match(plan, /1 +bedrock-claude +anthropic\/claude-opus-4\.8 .* pass /)
  t.match(await next(), /ready/)
  const streamed = await gateway.post(
    '/v1/messages?beta=true',
    {
      model: 'claude-opus',
      max_tokens: 32_000,
      stream: true,
      thinking: { type: 'adaptive' },
      system: [{ type: 'text', text: 'You are a coding agent.', cache_control: { type: 'ephemeral' } }],
      messages: [{ role: 'user', content: 'Hello' }],
    },
    { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'context-management-2025-06-27' },
  )
  t.match(await streamed.text(), /"text":"ready"[\s\S]*message_stop/)
  const [whole, stream] = aws.service.requests
  t.equal(whole.path, '/model/us.anthropic.claude-haiku-4-5-20251001-v1%3A0/invoke')
  t.equal(stream.path, '/model/us.anthropic.claude-opus-4-8/invoke-with-response-stream')
  t.same(stream.json.anthropic_beta, ['context-management-2025-06-27'])
  t.match(stream.json.system, [{ cache_control: { type: 'ephemeral' } }])
  t.same(aws.callers, ['user', 'user'], 'signed with the keys of AWS')
  done()
})
