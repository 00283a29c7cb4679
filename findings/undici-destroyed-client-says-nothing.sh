#!/usr/bin/env bash
# Package: undici 8.12.4 (npm).
# Behaviour: a Client that is destroyed while its `connect` function still makes the connection fails its request at once, and then emits
#   neither `disconnect`, `connectionError` nor `drain`, also where `connect` is stopped as well and never calls back. Destroyed once it is
#   connected, it emits `disconnect`; where `connect` calls back with an error, `connectionError`.
# Why a good guess is wrong: these three events are what its documentation names for the end of a connection, so a pool that counts its
#   clients by them looks complete; each request that is given up while it connects then stays in the count, with client and socket.
# A gateway should: take a client out of its pool where it destroys it, whatever the client emits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund --ignore-scripts undici@8.12.4
cat > finding.mjs <<'JS'
import { connect, createServer } from 'node:net'
import { Client } from 'undici'

const server = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const { port } = server.address()

/** Destroys a client, before or behind the call of its connector. @returns what it has emitted a second later. */
async function destroyed(isConnected) {
  const emitted = []
  let socket
  const client = new Client(`http://127.0.0.1:${port}`, {
    connect: (_target, callback) => {
      socket = connect(port, '127.0.0.1', () => isConnected && callback(null, socket))
    },
  })
  for (const name of ['connect', 'disconnect', 'connectionError', 'drain']) client.on(name, () => emitted.push(name))
  const failed = client.request({ method: 'GET', path: '/' }).then(() => 'a reply', (error) => error.message)
  await new Promise((resolve) => setTimeout(resolve, 300))
  void client.destroy(new Error('given up'))
  socket.destroy()
  const end = await failed
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  return { end, emitted: emitted.filter((name) => name !== 'connect') }
}

const behind = await destroyed(true)
const before = await destroyed(false)
server.close()
console.log(JSON.stringify({ behind, before }))
const holds = before.end === 'given up' && before.emitted.length === 0 && behind.emitted.includes('disconnect')
console.log(holds ? 'as described' : 'the behaviour has changed')
process.exit(holds ? 0 : 1)
JS
node finding.mjs
