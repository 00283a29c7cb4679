/** Errors that no code expects, outside the layers of a generation: logged by their stack, for a message may quote a request. */
import t from 'tap'
import { oneModel, startGateway } from '../../support/gateway.ts'

t.test('an unexpected error is a 500, and the log has its stack without its message', async (t) => {
  const gateway = await startGateway(oneModel('http://127.0.0.1:9', 'openai-chat'))
  t.teardown(() => gateway.close())
  gateway.running.store.ledger.find = function find() {
    throw new RangeError('quotes sk-secret and a prompt\nof two lines')
  }
  const reply = await gateway.get('/v1/generation?id=gen-1-000000000000')
  t.equal(reply.status, 500)
  t.notMatch(await reply.text(), /sk-secret|two lines/)
  const lines = gateway.logs.filter((line) => line.includes('"unexpected"'))
  t.equal(lines.length, 1)
  t.match(JSON.parse(lines[0]), { level: 50, error: /^RangeError\n {4}at .*find .*unexpected-errors/ })
  t.notMatch(gateway.logs.join(''), /sk-secret|two lines/)
})
