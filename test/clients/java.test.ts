/**
 * Clients in Java by their defaults at the task of `support/task.ts`, over the strict stand-in of each wire. `.ci/run` builds them from
 * `java/`, whose packages are pinned; where that is not possible, this test is skipped.
 */
import t from 'tap'
import { missing, PROGRAMS } from './support/language-programs.ts'
import { startTasks } from './support/task.ts'
import { startTaskProgram } from './support/task-program.ts'

const NAMES = [
  ...['openai-java, chat, whole', 'openai-java, chat, streamed', 'openai-java, responses, whole', 'openai-java, responses, streamed'],
  ...['anthropic-java, whole', 'anthropic-java, streamed'],
  ...['langchain4j, chat, whole', 'langchain4j, chat, streamed', 'langchain4j, responses, streamed'],
  ...['langchain4j, anthropic, whole', 'langchain4j, anthropic, streamed'],
  ...['spring-ai, whole', 'spring-ai, streamed'],
]

const skip = missing('Java')
if (skip) t.test('clients in Java', { skip })
else {
  const tasks = await startTasks(t)
  const { command, args } = PROGRAMS.Java
  const taskOf = startTaskProgram(t, command, args)
  for (const name of NAMES) await tasks.run(t, `Java: ${name}`, taskOf(name))
}
