/** SCIM 2.0 by scim2-tester: discovery, and all that it does with users and groups, over each of their attributes. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { SCIM_TOKEN, startScim } from '../support/scim-client.ts'
import { missing, tool } from './tools.ts'

const python = tool('scim-python') ?? ''
const skip = python === '' && missing('scim-python')

interface Result {
  readonly status: string
  readonly title: string
  readonly type: string | null
  readonly reason: string
}

t.test('every check of scim2-tester holds', { skip, timeout: 280_000 }, async (t) => {
  const { gateway } = await startScim(t)
  const words = [join(import.meta.dirname, 'scim-check.py'), `${gateway.url}/scim/v2`, SCIM_TOKEN]
  const { stdout } = await promisify(execFile)(python, words, { timeout: 240_000, maxBuffer: 64 * 1024 * 1024 })
  const results = JSON.parse(stdout) as Result[]
  t.same(
    results.filter(({ status }) => status !== 'SUCCESS'),
    [],
  )
  t.ok(results.length >= 130, `${results.length} checks`)
  for (const type of ['User', 'Group'])
    for (const title of ['object_creation', 'object_replacement', 'object_deletion', 'check_add_attribute', 'check_remove_attribute'])
      t.ok(
        results.some((each) => each.type === type && each.title === title),
        `${title} of ${type}`,
      )
  const wrong = await promisify(execFile)(python, [...words.slice(0, 2), 'a-wrong-token'], { timeout: 240_000 })
  t.ok(
    (JSON.parse(wrong.stdout) as Result[]).some(({ status }) => status === 'ERROR'),
    'a mistake is found',
  )
})
