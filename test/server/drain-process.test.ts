import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t from 'tap'
import { RawClient } from '../support/raw.ts'

/** A whole process with one server that answers when it is told to over standard input. */
const PROGRAM = `
import { createServer } from 'node:http'
import { systemClock } from '${new URL('../../src/core/clock.ts', import.meta.url).href}'
import { Drain } from '${new URL('../../src/server/drain.ts', import.meta.url).href}'
import { drainOnSignals } from '${new URL('../../src/server/signals.ts', import.meta.url).href}'
const held = []
const server = createServer((request, response) => {
  held.push(response)
  response.write('first ')
})
const drain = new Drain(systemClock, () => 600_000)
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
drain.follow(server)
drainOnSignals({ clock: systemClock, process, drain, close: async () => console.log('closed'), notice: (text) => console.log(text) })
process.stdin.on('data', () => held.shift().end('last'))
process.stdin.unref?.()
`

async function startProgram() {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => String((await lines.next()).value)
  const client = await RawClient.open(`http://127.0.0.1:${await line()}`)
  client.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until(/first/)
  return { child, line, client, exited: once(child, 'exit') }
}

t.test('SIGTERM lets an open stream finish and exits 0', async (t) => {
  const { child, line, client, exited } = await startProgram()
  child.kill('SIGTERM')
  t.equal(await line(), 'draining 1 open exchanges')
  t.notOk(client.ended)
  child.stdin.write('go')
  t.match(await client.closed(), /last[\s\S]*0\r\n\r\n$/)
  t.equal(await line(), 'closed')
  t.same(await exited, [0, null])
})

t.test('a second signal cuts it and exits 0 as well', async (t) => {
  const { child, line, client, exited } = await startProgram()
  child.kill('SIGINT')
  await line()
  child.kill('SIGTERM')
  t.match(await line(), 'second signal')
  t.notMatch(await client.closed(), /0\r\n\r\n$/)
  t.equal(await line(), 'closed')
  t.same(await exited, [0, null])
})
