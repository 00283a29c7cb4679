/** Forms of HTTP that a server has to accept, by raw sockets, curl and the JDK's own client; and that nothing behind a refused one is read. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join as joinPath } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { every } from '../../support/every.ts'
import { KEY, oneModel } from '../../support/gateway.ts'
import { parseReply, RawClient, rawExchange } from '../../support/raw.ts'
import { startScene } from '../../support/scene.ts'
import { Gate } from '../../support/upstream.ts'
import { says } from '../../support/wire.ts'

const run = promisify(execFile)
const join = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`
const HOST = 'Host: headgate.example'
const AUTH = `Authorization: Bearer ${KEY}`
const JSON_LINE = 'Content-Type: application/json'
const BODY = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }] })
const STREAMED = JSON.stringify({ model: 'acme/one', messages: [{ role: 'user', content: 'x' }], stream: true })
const LENGTH = `Content-Length: ${BODY.length}`
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`
const CHAT = 'POST /v1/chat/completions HTTP/1.1'
/** As java.net.http.HttpClient sends them over clear text (Java 17). */
const OFFER = ['Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA', 'Upgrade: h2c']
const MODELS = 'GET /v1/models HTTP/1.1'

const statuses = (text: string): number[] => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

/** A whole program, or undefined where the machine has none. */
async function version(program: string, ...arguments_: string[]): Promise<string | undefined> {
  return run(program, arguments_).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => undefined,
  )
}

async function asksCurl(...arguments_: string[]): Promise<string> {
  const { stdout } = await run('curl', ['--silent', '--show-error', '--max-time', '20', '-H', AUTH, '-H', JSON_LINE, ...arguments_])
  return stdout
}

t.test('an offer of another protocol is ignored, whatever follows on the connection', async (t) => {
  const { gateway, upstream } = await startScene(t)
  const last = join('GET /v1/models/acme/one HTTP/1.1', HOST, AUTH, 'Connection: close')
  const offers: [string, string][] = [
    ['a GET', join(MODELS, HOST, AUTH, ...OFFER)],
    ['a body with a length', join(CHAT, HOST, AUTH, JSON_LINE, LENGTH, ...OFFER) + BODY],
    ['chunks', join(CHAT, HOST, AUTH, JSON_LINE, 'Transfer-Encoding: chunked', ...OFFER) + CHUNKED],
    ['another protocol', join(MODELS, HOST, AUTH, 'Connection: Upgrade', 'Upgrade: TLS/1.0, HTTP/2.0')],
    ['a value twice', join(MODELS, HOST, AUTH, 'Connection: keep-alive', 'Connection: upgrade', 'Upgrade: h2c', 'Upgrade: foo/2')],
  ]
  await every(t, 'every form', async (t) => {
    for (const [name, bytes] of offers) {
      t.same(statuses(await rawExchange(gateway.url, bytes + last)), [200, 200], `${name}, with the next request in one write`)
      const client = await RawClient.open(gateway.url)
      for (const part of [bytes.slice(0, 25), bytes.slice(25, -9), bytes.slice(-9)]) client.send(part)
      await client.until(/ 200 /)
      t.same(statuses(await client.send(bytes + last).closed()), [200, 200, 200], `${name}, in pieces, twice, and the next request`)
    }
  })
  t.ok(upstream.requests.every(({ headers }) => headers.upgrade === undefined && headers['http2-settings'] === undefined))
  t.equal(gateway.running.drain.open, 0, 'none counts as open')
})

t.test('an offer with HTTP/1.0, one without its option, and one behind an unanswered request', async (t) => {
  const gate = new Gate()
  const { gateway, upstream } = await startScene(t)
  const old = join('GET /v1/models HTTP/1.0', AUTH, ...OFFER)
  t.same(statuses(await rawExchange(gateway.url, old)), [200])
  const unnamed = join(MODELS, HOST, AUTH, 'Upgrade: websocket', 'Connection: close')
  t.same(statuses(await rawExchange(gateway.url, unnamed)), [200])
  const usual = upstream.script
  upstream.script = async (seen, place) => {
    await gate.step()
    return usual(seen, place)
  }
  const client = await RawClient.open(gateway.url)
  client.send(join(CHAT, HOST, AUTH, JSON_LINE, 'Transfer-Encoding: chunked') + CHUNKED)
  await eventually('the provider has the first', () => upstream.requests.length === 1)
  client.send(join(CHAT, HOST, AUTH, JSON_LINE, LENGTH, ...OFFER) + BODY + join(CHAT, HOST, AUTH, JSON_LINE, LENGTH) + BODY)
  client.send(join(CHAT, HOST, AUTH, JSON_LINE, LENGTH) + BODY)
  await eventually('the provider has the second', () => upstream.requests.length === 2)
  gate.open()
  t.same(statuses(await client.closed()), [200, 200], 'it is answered in its turn, and ends the connection')
  t.equal(upstream.requests.length, 2, 'what came behind it reaches no provider')
})

const PROBE = `
import java.net.URI;
import java.net.http.*;
public class Probe {
  public static void main(String[] a) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    for (int i = 0; i < 3; i++)
      for (String body : new String[] { "", a[2], a[3] }) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(a[0] + (body.isEmpty() ? "/v1/models" : "/v1/chat/completions")))
          .header("Authorization", "Bearer " + a[1]).header("Content-Type", "application/json");
        if (!body.isEmpty()) request.POST(HttpRequest.BodyPublishers.ofString(body));
        HttpResponse<String> reply = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
        System.out.println(reply.statusCode() + " " + reply.body().contains(body.isEmpty() ? "acme/one" : "fine"));
      }
  }
}
`

t.test('the HTTP client of the JDK as it is, and curl --http2', async (t) => {
  const { gateway, upstream } = await startScene(t)
  const directory = mkdtempSync(joinPath(tmpdir(), 'headgate-probe-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const java = await version('java', '-version')
  if (java === undefined) t.comment('SKIPPED: there is no java on this machine, so that the HTTP client of the JDK is not tested')
  else {
    const file = joinPath(directory, 'Probe.java')
    writeFileSync(file, PROBE)
    const { stdout } = await run('java', [file, gateway.url, KEY, BODY, STREAMED])
    t.same(stdout.trim().split('\n'), Array(9).fill('200 true'), 'lists, whole answers and streams, with its offer of h2c')
    t.equal(upstream.requests.length, 6)
  }
  const curl = await version('curl', '--version')
  if (!curl?.includes('HTTP2')) t.comment('SKIPPED: there is no curl with HTTP/2 on this machine')
  else {
    for (const body of [BODY, STREAMED]) t.match(await asksCurl('--http2', '-d', body, `${gateway.url}/v1/chat/completions`), 'fine')
    t.match(await asksCurl('--http2', `${gateway.url}/v1/models`), 'acme/one')
  }
})

t.test('RFC 9112 section 3.2.2: the absolute form of our own host', async (t) => {
  const { gateway, upstream } = await startScene(t, {
    config: (url) => `server: { host: 127.0.0.1, port: 0, public_url: "https://gate.example/api" }\n${oneModel(url, 'openai-chat')}`,
  })
  const { host, port } = new URL(gateway.url)
  const asks = async (target: string, named = 'Host: other.example'): Promise<number> => {
    const bytes = join(`POST ${target} HTTP/1.1`, named, AUTH, JSON_LINE, LENGTH, 'Connection: close') + BODY
    return parseReply(await rawExchange(gateway.url, bytes)).status
  }
  await every(t, 'our own', async (t) => {
    const own = [host, `localhost:${port}`, `LOCALHOST:${port}`]
    for (const origin of [...own.map((each) => `http://${each}`), 'https://gate.example', 'HTTPS://Gate.Example:443'])
      t.equal(await asks(`${origin}/v1/chat/completions?a=b`), 200, origin)
  })
  const sent = upstream.requests.length
  await every(t, "another's", async (t) => {
    const others = [
      'http://other.example',
      'http://127.0.0.1',
      `http://10.0.0.9:${port}`,
      'http://gate.example',
      `http://x@${host}`,
      'http://',
    ]
    for (const origin of [...others, `ftp://${host}`, `http://${host}.other.example`, `http://${host}@other.example`])
      t.equal(await asks(`${origin}/v1/chat/completions`, `Host: ${host}`), 400, origin)
    t.equal(await asks(`http://${host}//other.example/v1/models`), 400, 'a network path behind it')
  })
  t.equal(upstream.requests.length, sent, 'no provider is called')
  t.match(await rawExchange(gateway.url, join(`GET http://${host} HTTP/1.1`, HOST, AUTH, 'Connection: close')), /^HTTP\/1\.1 \d{3} /)
  const curl = await asksCurl('--request-target', `http://${host}/v1/chat/completions`, '-d', BODY, gateway.url)
  t.match(curl, 'fine', 'curl')
})

t.test('a POST of HTTP/1.0 with a length is answered, without chunks', async (t) => {
  const { gateway, upstream } = await startScene(t, { answer: says({ text: ['fi', 'ne'] }) })
  const post = (body: string, ...more: string[]): string =>
    join('POST /v1/chat/completions HTTP/1.0', AUTH, JSON_LINE, `Content-Length: ${body.length}`, ...more) + body
  await every(t, 'every connection', async (t) => {
    for (const more of [[], ['Connection: close'], ['Connection: keep-alive']]) {
      const streamed = parseReply(await rawExchange(gateway.url, post(STREAMED, ...more)))
      t.equal(streamed.status, 200, 'a stream')
      t.equal(streamed.headers.get('transfer-encoding'), undefined)
      t.match(streamed.body, /^(?:: .*\n\n)*data: \{[\s\S]*data: \[DONE\]\n\n$/)
    }
  })
  t.match(parseReply(await rawExchange(gateway.url, post(BODY))).body, /"content":"fine"/)
  const kept = await RawClient.open(gateway.url)
  kept.send(post(BODY, 'Connection: keep-alive'))
  await kept.until(/"content":"fine"/)
  t.same(statuses(await kept.send(post(BODY)).closed()), [200, 200], 'the connection is kept where the caller wants it')
  for (const body of [BODY, STREAMED]) t.match(await asksCurl('-0', '-d', body, `${gateway.url}/v1/chat/completions`), 'ne')
  const sent = upstream.requests.length
  const unframed = join('POST /v1/chat/completions HTTP/1.0', AUTH, JSON_LINE) + BODY
  t.equal(parseReply(await rawExchange(gateway.url, unframed)).status, 400, 'without a length')
  t.equal(upstream.requests.length, sent)
})

/** A request, then others that must not be read. */
async function nothingBehind(t: Test, refused: [name: string, bytes: string, status: number][]): Promise<void> {
  let gate = new Gate()
  const { gateway, upstream } = await startScene(t)
  const whole = join(CHAT, HOST, AUTH, JSON_LINE, LENGTH) + BODY
  const list = join('POST /v1/chat/completions HTTP/1.1', HOST, AUTH, JSON_LINE, 'Transfer-Encoding: chunked') + CHUNKED
  await every(t, 'every request', async (t) => {
    for (const [name, bytes, status] of refused)
      for (const behind of [whole + whole, list, join(MODELS, HOST, AUTH, ...OFFER) + whole]) {
        const before = upstream.requests.length
        t.same(statuses(await rawExchange(gateway.url, bytes + behind)), [status], `${name}, in one write`)
        const client = await RawClient.open(gateway.url)
        client.send(bytes)
        client.send(behind.slice(0, 40))
        client.send(behind.slice(40))
        t.same(statuses(await client.closed()), [status], `${name}, in three`)
        t.equal(upstream.requests.length, before, `${name}: the provider sees nothing`)
      }
  })
  const usual = upstream.script
  upstream.script = async (seen, place) => {
    await gate.step()
    return usual(seen, place)
  }
  await every(t, 'behind a request that is still answered', async (t) => {
    // A plain one is answered past Node's server, one in chunks by it.
    for (const first of [whole, list])
      for (const [name, bytes, status] of refused) {
        gate = new Gate()
        const before = upstream.requests.length
        const client = await RawClient.open(gateway.url)
        client.send(first)
        await eventually('the provider has it', () => upstream.requests.length === before + 1)
        client.send(bytes + whole)
        client.send(whole)
        // Once this is answered, all that the gateway was sent before has been read.
        await gateway.get('/v1/models')
        gate.open()
        t.same(statuses(await client.closed()), [200, status], name)
        t.equal(upstream.requests.length, before + 1, `${name}: the provider sees nothing more`)
      }
  })
}

t.test('reads nothing behind a refused request on its connection', async (t) => {
  const sized = (...lines: string[]): string => join(...lines, AUTH, JSON_LINE, LENGTH) + BODY
  const old = 'POST /v1/chat/completions HTTP/1.0'
  await nothingBehind(t, [
    ['without a Host', sized(CHAT), 400],
    ['two codings', join(CHAT, HOST, AUTH, JSON_LINE, 'Transfer-Encoding: gzip, chunked') + CHUNKED, 400],
    ['chunks in HTTP/1.0', join(old, HOST, AUTH, 'Connection: keep-alive', 'Transfer-Encoding: chunked') + CHUNKED, 400],
    ['HTTP/1.0 without a length', join(old, HOST, AUTH, 'Connection: keep-alive'), 400],
    ['another host', sized('POST http://other.example/v1/chat/completions HTTP/1.1', HOST), 400],
    ['an option that names framing', sized(CHAT, HOST, 'Connection: content-length'), 400],
    ['a WebSocket by POST', sized(CHAT, HOST, 'Connection: Upgrade', 'Upgrade: websocket'), 400],
    ['two Hosts', sized(CHAT, HOST, HOST), 400],
    ['TRACE', join('TRACE /v1/models HTTP/1.1', HOST), 405],
    ['an expectation of an operation', join('GET /v1/models HTTP/1.1', HOST, AUTH, 'Expect: 100-continue'), 200],
  ])
})
