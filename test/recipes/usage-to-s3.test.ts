/** docs/recipes/usage-to-s3.md, followed with a stand-in of S3. */
import { gunzipSync } from 'node:zlib'
import t from 'tap'
import { FakeClock } from '../support/clock.ts'
import { eventually } from '../support/eventually.ts'
import { S3_KEY, startObjectStore, storedLines } from '../support/object-store.ts'
import { startUpstream } from '../support/upstream.ts'
import { answerFor } from '../support/wire.ts'
import { followRecipe } from './recipe.ts'

t.test('the record of a request is in the bucket', async (t) => {
  const clock = new FakeClock()
  const provider = await startUpstream((seen) => answerFor(seen, { text: ['fine'] }))
  const store = await startObjectStore('s3', () => clock.now())
  t.teardown(() => Promise.all([provider.close(), store.close()]))
  const { next, done } = await followRecipe(t, 'usage-to-s3', {
    clock,
    env: { OPENAI_API_KEY: 'sk-openai' },
    with: {
      'preset: openai }': `preset: openai, base_url: "${provider.url}/v1" }`,
      'region: eu-central-1, prefix: headgate/ }': `region: us-east-1, prefix: headgate/, endpoint: "${store.url}", access_key_id: ${S3_KEY.id}, secret_access_key: ${S3_KEY.secret} }`,
    },
  })
  t.match(await next(), /fine/)
  const [object] = await eventually('an object', async () => {
    await clock.advance(60_000)
    return store.delivered.length > 0 && store.delivered
  })
  t.equal(object.status, 200)
  t.match(object.name, /^\/my-lake\/headgate\/generations\/\d{4}\/\d\d\/\d\d\/\d\d\/lake-\w+-\d{6}\.jsonl\.gz$/)
  t.equal(storedLines(gunzipSync(object.body)).length, 1)
  done()
})
