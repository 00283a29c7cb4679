/**
 * Clients in Java by their defaults at the task of `support/task.ts`, over the strict stand-in of each wire. `.ci/run` builds them from
 * `java/`, whose packages are pinned; where that is not possible, this test is skipped.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const BUILD = fileURLToPath(new URL('./java/.build/', import.meta.url))

const NAMES = [
  ...['openai-java, chat, whole', 'openai-java, chat, streamed', 'openai-java, responses, whole', 'openai-java, responses, streamed'],
  ...['anthropic-java, whole', 'anthropic-java, streamed'],
  ...['langchain4j, chat, whole', 'langchain4j, chat, streamed', 'langchain4j, responses, streamed'],
  ...['langchain4j, anthropic, whole', 'langchain4j, anthropic, streamed'],
  ...['spring-ai, whole', 'spring-ai, streamed'],
]

if (!existsSync(`${BUILD}classes/Task.class`)) t.test('clients in Java', { skip: 'NOT BUILT: test/clients/java/.build, see .ci/run' })
else {
  const tasks = await startTasks(t)
  const taskOf = startTaskProgram(t, 'java', ['-XX:TieredStopAtLevel=1', '-cp', `${BUILD}classes:${BUILD}lib/*`, 'Task'])
  for (const name of NAMES) await tasks.run(t, `Java: ${name}`, taskOf(name))
}
