#!/usr/bin/env bash
# Package: @ai-sdk/openai-compatible 3.0.92 with ai 7.0.173 (npm).
# Behaviour: a request for an answer by a schema, `output: Output.object({ schema })`, goes out with `response_format: { type: "json_object" }`
#   and with the schema nowhere: neither in that field nor in a message, which says nothing of JSON either. The caller's own process warns, and
#   validates the answer against the schema that the model never had. With `supportsStructuredOutputs: true` at the provider it is sent.
# Why a good guess is wrong: the package is the one for "any OpenAI-compatible server", most of which take json_schema; a fallback without it is
#   expected to write the schema into the prompt, as its sibling @ai-sdk/alibaba does. A strong model guesses the names of the fields in a demo;
#   others fail at validation. OpenAI refuses json_object where no message has the word JSON, LM Studio refuses it always.
# A gateway should: state `supportsStructuredOutputs: true` beside its address wherever it documents this client, and look there first when
#   callers report answers without their schema: what it receives is a valid request, and nothing in it can be mended.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund --ignore-scripts ai@7.0.173 @ai-sdk/openai-compatible@3.0.92
cat > finding.mjs <<'JS'
import { createServer } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, jsonSchema, Output } from 'ai'

globalThis.AI_SDK_LOG_WARNINGS = false
const bodies = []
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += chunk
  bodies.push(JSON.parse(text))
  const choices = [{ index: 0, message: { role: 'assistant', content: '{"harbour_master":"Ada"}' }, finish_reason: 'stop' }]
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage }))
}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const baseURL = `http://127.0.0.1:${server.address().port}/v1`
const properties = { harbour_master: { type: 'string' } }
const schema = jsonSchema({ type: 'object', properties, required: ['harbour_master'], additionalProperties: false })

/** The body of one request, under the settings of the provider. */
async function sent(settings) {
  const model = createOpenAICompatible({ name: 'any', baseURL, ...settings })('m')
  const { output, warnings } = await generateText({ model, prompt: 'Who runs the port?', output: Output.object({ schema }) })
  const body = bodies.at(-1)
  const knows = JSON.stringify(body).includes('harbour_master')
  return { format: body.response_format.type, schema_sent: knows, json_said: /json/i.test(JSON.stringify(body.messages)), output, warned: warnings.length > 0 }
}

const usual = await sent({})
const told = await sent({ supportsStructuredOutputs: true })
server.close()
console.log('by default:', JSON.stringify(usual))
console.log('with supportsStructuredOutputs:', JSON.stringify(told))
const holds = usual.format === 'json_object' && !usual.schema_sent && !usual.json_said && told.format === 'json_schema' && told.schema_sent
console.log(holds ? 'as described' : 'the behaviour has changed')
process.exit(holds ? 0 : 1)
JS
node finding.mjs
