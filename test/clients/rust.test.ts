/**
 * Clients in Rust by their defaults at the task of `support/task.ts`, over the strict stand-in of each wire. `.ci/run` builds them from
 * `rust/`, whose crates are pinned by Cargo.lock; where that is not possible, this test is skipped.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const PROGRAM = fileURLToPath(new URL('./rust/.build/debug/task', import.meta.url))

const NAMES = [
  ...['async-openai, chat, whole', 'async-openai, chat, streamed'],
  ...['rig, chat, whole', 'rig, chat, streamed', 'rig, responses, whole', 'rig, responses, streamed', 'rig, anthropic, whole', 'rig, anthropic, streamed'],
  ...['genai, chat, whole', 'genai, chat, streamed', 'genai, anthropic, whole', 'genai, anthropic, streamed'],
]

if (!existsSync(PROGRAM)) t.test('clients in Rust', { skip: 'NOT BUILT: test/clients/rust/.build, see .ci/run' })
else {
  const tasks = await startTasks(t)
  const taskOf = startTaskProgram(t, PROGRAM)
  for (const name of NAMES) await tasks.run(t, `Rust: ${name}`, taskOf(name))
}
