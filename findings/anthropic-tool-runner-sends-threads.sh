#!/usr/bin/env bash
# Package: @anthropic-ai/sdk 1.12.0 (npm), beta.messages.toolRunner with its defaults.
# Behaviour: the runner goes over a message thread: its first request has thread {"type":"create"}, and the second, which brings the
#   result of a tool, has thread {"type":"continue","previous_message_id":…}, that one message, and neither system nor tools. It does
#   so whatever the base URL and the model are, and whether or not the reply says anything of a thread. A server that passes over the
#   field answers the result of a tool without the question, and everything looks well: 200, and a message.
#   A server that answers the first request with 400 and error.details.error_code thread_unsupported_request gets the whole
#   conversation from then on, after one more request.
# Why a good guess is wrong: `POST /v1/messages` is known as stateless, unknown fields are usually passed over, and the SDK is used with
#   other servers by its base URL; a test with one turn is green.
# A gateway should: refuse `thread` in these words where the provider behind it keeps no threads, and never translate a request with
#   thread.type continue to a wire that has none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --ignore-scripts --loglevel=error @anthropic-ai/sdk@1.12.0 > /dev/null
cat > client.mjs <<'JS'
import { createServer } from 'node:http'
import Anthropic from '@anthropic-ai/sdk'

const CALL = [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }]
const messageOf = (content, stop_reason) => ({
  id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content, stop_reason, usage: { input_tokens: 1, output_tokens: 1 },
})
const REFUSAL = {
  type: 'error',
  error: { type: 'invalid_request_error', message: 'no threads', details: { error_code: 'thread_unsupported_request', unsupported: ['model'] } },
}

/** @returns what each request had: its thread, its messages, and whether it had tools. */
async function requestsOf(refusesThreads) {
  const seen = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const { thread, messages, tools } = JSON.parse(text)
    seen.push(`${thread?.type ?? 'none'} ${messages.length} ${tools ? 'tools' : 'no tools'}`)
    const refused = refusesThreads && thread
    const isAnswered = text.includes('tool_result')
    const body = refused ? REFUSAL : isAnswered ? messageOf([{ type: 'text', text: 'Fine.' }], 'end_turn') : messageOf(CALL, 'tool_use')
    response.writeHead(refused ? 400 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = new Anthropic({ baseURL: `http://127.0.0.1:${server.address().port}`, apiKey: 'none', maxRetries: 0 })
  const look = { name: 'look', description: 'Looks.', input_schema: { type: 'object', properties: {} }, run: () => 'seen', parse: (input) => input }
  await client.beta.messages.toolRunner({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Look.' }], tools: [look] }).runUntilDone()
  server.close()
  server.closeAllConnections()
  return seen.join(', ')
}

const found = { 'a server that passes over the field': await requestsOf(false), 'a server that refuses it': await requestsOf(true) }
for (const [name, what] of Object.entries(found)) console.log(`${name}: ${what}`)
const expected = ['create 1 tools, continue 1 no tools', 'create 1 tools, none 1 tools, none 3 tools']
const same = Object.values(found).every((what, i) => what === expected[i])
console.log(same ? 'as described above' : 'THE BEHAVIOUR HAS CHANGED')
process.exit(same ? 0 : 1)
JS
node client.mjs
