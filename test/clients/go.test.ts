/**
 * Clients in Go by their defaults at the task of `support/task.ts`, over the strict stand-in of each wire. `.ci/run` builds them from
 * `go/`, whose modules are pinned; where that is not possible, this test is skipped.
 */
import t from 'tap'
import { languageRuns } from './support/certified.ts'
import { missing, PROGRAMS } from './support/language-programs.ts'
import { startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const skip = missing('Go')
if (skip) t.test('clients in Go', { skip })
else {
  const tasks = await startTasks(t)
  const { command, args } = PROGRAMS.Go
  const startTask = startTaskProgram(t, command, args)
  for (const { program } of languageRuns('Go')) await tasks.run(t, `Go: ${program}`, startTask(program))
}
