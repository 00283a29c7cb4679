/**
 * The client openai-go at the task of `support/task.ts`, streamed and whole, over the strict stand-in of each wire. `.ci/run` builds it
 * from `go/`, whose modules are pinned; where that is not possible, this test is skipped.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const PROGRAM = fileURLToPath(new URL('./go/.build/task', import.meta.url))

if (!existsSync(PROGRAM)) t.test('client in Go', { skip: 'NOT BUILT: test/clients/go/.build, see .ci/run' })
else {
  const tasks = await startTasks(t)
  const taskOf = startTaskProgram(t, PROGRAM)
  for (const name of ['chat, whole', 'chat, streamed', 'responses, whole', 'responses, streamed'])
    await tasks.run(t, `Go: openai-go, ${name}`, taskOf(name))
}
