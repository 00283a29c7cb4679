/**
 * Clients in Rust by their defaults at the task of `support/task.ts`, over the strict stand-in of each wire. `.ci/full` builds them from
 * `rust/`, whose clients are pinned by Cargo.toml; where that is not possible, this test is skipped.
 */
import t from 'tap'
import { languageRuns } from './support/certified.ts'
import { missing, PROGRAMS } from './support/language-programs.ts'
import { startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const skip = missing('Rust')
if (skip) t.test('clients in Rust', { skip })
else {
  const tasks = await startTasks(t)
  const { command, args } = PROGRAMS.Rust
  const startTask = startTaskProgram(t, command, args)
  for (const { program } of languageRuns('Rust')) await tasks.run(t, `Rust: ${program}`, startTask(program))
}
