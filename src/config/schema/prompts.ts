/** Prompts that requests may name instead of repeat. */
import { Type } from 'typebox'
import { closed, line, listOf, mapOf, oneOf } from './scalars.ts'

const message = closed('One message.', {
  role: oneOf('Who says it.', ['system', 'developer', 'user', 'assistant']),
  content: Type.String({
    description: 'Its text; {{name}} stands for a variable.',
    minLength: 1,
    maxLength: 1_000_000,
    expected: 'a text',
  }),
})

const prompt = closed('One prompt.', {
  description: Type.Optional(line('What it is for.', 1024)),
  messages: listOf("Put in front of the request's own input.", message, 1),
})

export const prompts = mapOf('Prompts by name, for `prompt` of /v1/responses.', '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$', 'a name', prompt)
