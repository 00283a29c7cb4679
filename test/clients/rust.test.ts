/**
 * Clients in Rust by their defaults at the task of `support/task.ts`, over the strict stand-in of each wire. `.ci/full` builds them from
 * `rust/`, whose crates are pinned by Cargo.lock; where that is not possible, this test is skipped.
 */
import t from 'tap'
import { missing, PROGRAMS } from './support/language-programs.ts'
import { startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const NAMES = [
  ...['async-openai, chat, whole', 'async-openai, chat, streamed'],
  ...['rig, chat, whole', 'rig, chat, streamed', 'rig, responses, whole', 'rig, responses, streamed', 'rig, anthropic, whole', 'rig, anthropic, streamed'],
  ...['genai, chat, whole', 'genai, chat, streamed', 'genai, anthropic, whole', 'genai, anthropic, streamed'],
]

const skip = missing('Rust')
if (skip) t.test('clients in Rust', { skip })
else {
  const tasks = await startTasks(t)
  const { command, args } = PROGRAMS.Rust
  const taskOf = startTaskProgram(t, command, args)
  for (const name of NAMES) await tasks.run(t, `Rust: ${name}`, taskOf(name))
}
