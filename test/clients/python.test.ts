/**
 * Third-party clients in Python at the task of `support/task.ts`, over the strict stand-in of each wire. They stand in
 * `test/clients/python/.venv`, from `python/requirements.txt`; where `.ci/run` could not install them, this test is skipped.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type RunTask, startTasks } from './support/task.ts'

const FOLDER = fileURLToPath(new URL('./python/', import.meta.url))
const PYTHON = process.env.HEADGATE_TEST_PYTHON ?? `${FOLDER}.venv/bin/python`

const NAMES = [
  'openai, chat',
  'openai, responses',
  'anthropic',
  'anthropic with thinking',
  'langchain, chat',
  'langchain, responses',
  // Its model of Anthropic fails by itself with this version of the SDK of Anthropic: `Cannot instantiate typing.Union`.
  'pydantic-ai, chat',
  'openai-agents, chat',
  'openai-agents, responses',
]

/** One process runs all tasks, one after the other: its libraries take seconds to load. */
function startPython(): { process: ChildProcess; taskOf: (name: string) => RunTask } {
  const process = spawn(PYTHON, [`${FOLDER}task.py`], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: process.stdout })
  const taskOf =
    (name: string): RunTask =>
    async ({ url, key, model }) => {
      process.stdin.write(`${JSON.stringify([name, url, key, model])}\n`)
      const [line] = (await once(lines, 'line')) as [string]
      const answers = JSON.parse(line) as string[] | string
      if (typeof answers === 'string') throw new Error(answers)
      return answers
    }
  return { process, taskOf }
}

if (!existsSync(PYTHON)) t.test('clients in Python', { skip: 'NOT INSTALLED: test/clients/python/.venv, see .ci/run' })
else {
  t.setTimeout(280_000)
  const tasks = await startTasks(t)
  const { process, taskOf } = startPython()
  t.teardown(() => process.kill())
  for (const name of NAMES) await tasks.run(t, `Python: ${name}`, taskOf(name))
  for (const standIn of tasks.matrix.standIns)
    await t.test(`Python: instructor at ${standIn.rules.preset}`, async (t) => {
      const { gateway } = tasks.matrix
      const said = { calls: [{ id: 'call_Ab3dEf6hIj9kLm2nOp5qRs8t', name: 'Place', args: ['{"place":"Rome"}'] }] }
      Object.defineProperty(standIn, 'said', { value: said, configurable: true, writable: true })
      standIn.refused.length = 0
      const account = { url: gateway.url, key: gateway.key, model: standIn.rules.models[0].slug }
      t.same(await taskOf('instructor')(account).catch((error: unknown) => [String(error)]), ['Rome'])
      t.same(standIn.refused, [])
    })
}
