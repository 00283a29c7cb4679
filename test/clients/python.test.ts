/**
 * Third-party clients in Python at the task of `support/task.ts`, over the strict stand-in of each wire. They stand in
 * `test/clients/python/.venv`, from `python/requirements.txt`; where `.ci/run` could not install them, this test is skipped.
 */
import t from 'tap'
import { languageRuns } from './support/certified.ts'
import { missing, PROGRAMS } from './support/language-programs.ts'
import { script, startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

/** Answers of the model to instructor: the first does not validate. */
const PLACES = ['Rome', 'Rome, Italy', 'Nice, France']

const skip = missing('Python')
if (skip) t.test('clients in Python', { skip })
else {
  t.setTimeout(880_000)
  const tasks = await startTasks(t)
  const { command, args } = PROGRAMS.Python
  const startTask = startTaskProgram(t, command, args)
  for (const { program } of languageRuns('Python')) await tasks.run(t, `Python: ${program}`, startTask(program))
  for (const standIn of tasks.matrix.standIns)
    await t.test(`Python: agent-framework, responses, by its defaults at ${standIn.rules.preset}`, async (t) => {
      const { gateway } = tasks.matrix
      script(standIn, () => ({ text: ['It rains.'] }))
      const account = { url: gateway.url, key: gateway.key, model: standIn.rules.models[0].slug }
      const error = await startTask('agent-framework, responses, by its defaults')(account).catch((thrown: unknown) => thrown)
      // The second question names the first response alone.
      t.match(String(error), /previous_response_id: must be null.*agent-framework: default_options/)
    })
  for (const name of ['instructor, chat', 'instructor, anthropic'])
    for (const standIn of tasks.matrix.standIns)
      await t.test(`Python: ${name} at ${standIn.rules.preset}`, async (t) => {
        const { gateway } = tasks.matrix
        script(standIn, (index) => ({
          calls: [{ id: `call_Ab3dEf6hIj9kLm2nOp5qRs8${index}`, name: 'Place', args: ['{"pla', `ce":"${PLACES[index]}"}`] }],
        }))
        const before = standIn.accepted.length
        const account = { url: gateway.url, key: gateway.key, model: standIn.rules.models[0].slug }
        t.same(await startTask(name)(account).catch((error: unknown) => [String(error)]), PLACES.slice(1))
        t.same(standIn.refused, [])
        const [first, second, third] = standIn.accepted.slice(before).map((body) => JSON.stringify(body))
        t.match(first, '"Place"')
        t.match(second, 'Name the country too.', 'the model reads what is wrong with its answer')
        t.match(third, PLACES[1])
      })
}
