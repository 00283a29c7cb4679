/** Signatures of AWS: its published test vectors, and a verifier that is written from the specification. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { operationPath } from '../../src/dialects/bedrock/wire.ts'
import { Sigv4Signer } from '../../src/services/credentials/aws/sigv4.ts'
import { every } from '../support/every.ts'
import { property } from '../support/seed.ts'
import { verifySigv4 } from '../support/sigv4-verifier.ts'

interface Vector {
  name: string
  request: string
  authorization: string
  /** That the request is signed with, where it does not have it already. */
  token?: string
}

/**
 * AWS Signature Version 4 Test Suite, copyright 2019 Amazon.com, Inc., Apache License 2.0, in the version of botocore's
 * `tests/unit/auth/aws4_testsuite` (commit 0e6e2404): `.req` and `.authz` of each case.
 */
const VECTORS = JSON.parse(readFileSync(new URL('../fixtures/sigv4.json', import.meta.url), 'utf8')) as Vector[]

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const SCOPE = { region: 'us-east-1', service: 'service' }
const NOW = Date.UTC(2015, 7, 30, 12, 36)

/** A raw request of the suite: its lines are folded, and its path may hold spaces. */
function parsed(request: string) {
  const [head = '', ...rest] = request.replaceAll('\r', '').split('\n\n')
  const [line = '', ...lines] = head
    .replaceAll(/\n[ \t]+/g, ' ')
    .trimEnd()
    .split('\n')
  const [, method = '', path = ''] = /^(\S+) (.*) HTTP\/1\.1$/.exec(line) ?? []
  const headers = lines.map((each): [string, string] => [each.slice(0, each.indexOf(':')), each.slice(each.indexOf(':') + 1)])
  return { method, path, headers, body: rest.join('\n\n') }
}

t.test("AWS's test vectors", async (t) => {
  t.equal(VECTORS.length, 34)
  for (const { name, request, authorization, token } of VECTORS) {
    const { method, path, headers, body } = parsed(request)
    const host = headers.find(([key]) => key.toLowerCase() === 'host')?.[1] ?? ''
    const signer = new Sigv4Signer({ ...KEYS, sessionToken: token }, SCOPE, (each) => each !== 'host')
    const own = signer.headers({ method, origin: `https://${host}`, path, body, headers: headers.flat() }, NOW)
    t.equal(own[own.indexOf('authorization') + 1], authorization, name)
  }
})

t.test('names of models are escaped once in the path and twice in the signature', async (t) => {
  // As @smithy/signature-v4 5.7.5 signs the path that the client of Bedrock 3.1164.0 makes of each (`/model/{modelId}/converse`).
  for (const [model, signature] of [
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'ba3c44cef75e6a6c94301432aa76c4e13da058bb2d6cb846cfda5139f515cff1'],
    [
      'arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/mi1dadi0g15f',
      '8feed41a741d7d4edcdf030c501c9212d49a5d2c8b9c3f11e09a89e78d62e2d5',
    ],
  ] as const) {
    const origin = 'https://bedrock-runtime.us-east-1.amazonaws.com'
    const path = operationPath(model, 'converse')
    const headers = ['content-type', 'application/json']
    const own = new Sigv4Signer(KEYS, { region: 'us-east-1', service: 'bedrock' }).headers(
      { method: 'POST', origin, path, headers, body: '{}' },
      NOW,
    )
    t.match(own[own.indexOf('authorization') + 1], `Signature=${signature}`, path)
    const verdict = verifySigv4(
      { method: 'POST', path, headers: ['host', new URL(origin).host, ...headers, ...own], body: Buffer.from('{}') },
      { findSecret: () => KEYS.secretAccessKey, now: NOW, region: 'us-east-1', service: 'bedrock' },
    )
    t.match(verdict, { accessKeyId: 'AKIDEXAMPLE' }, 'the verifier agrees')
  }
})

t.test('what a verifier of the specification accepts, and what it refuses', async (t) => {
  const keys = { ...KEYS, sessionToken: 'FwoGZXIvYXdzEXAMPLETOKEN==' }
  const secrets = new Map([[keys.accessKeyId, keys.secretAccessKey]])
  const call = {
    method: 'POST',
    origin: 'https://bedrock-runtime.us-east-1.amazonaws.com',
    path: '/model/anthropic.claude-3-5-sonnet-20241022-v2%3A0/converse',
    headers: ['content-type', 'application/json', 'user-agent', 'headgate', 'x-amzn-bedrock-trace', ' on  off '],
    body: '{"messages":[]}',
  }
  const own = new Sigv4Signer(keys, { region: 'us-east-1', service: 'bedrock' }).headers(call, NOW)
  const seen = (change: Partial<{ path: string; body: string; headers: string[]; now: number }> = {}) =>
    verifySigv4(
      {
        method: call.method,
        path: change.path ?? call.path,
        headers: ['host', 'bedrock-runtime.us-east-1.amazonaws.com', ...(change.headers ?? call.headers), ...own],
        body: Buffer.from(change.body ?? call.body),
      },
      { findSecret: (id) => secrets.get(id), now: change.now ?? NOW, region: 'us-east-1', service: 'bedrock' },
    )
  t.strictSame(seen(), { accessKeyId: 'AKIDEXAMPLE', sessionToken: keys.sessionToken })
  t.match(seen({ body: '{"messages":[1]}' }), /signature/, 'another body')
  t.match(seen({ path: call.path.replace('%3A', ':') }), /signature/, 'another path')
  t.match(seen({ headers: ['content-type', 'text/plain'] }), /signature/, 'another header that is signed')
  t.match(
    seen({ headers: call.headers.toSpliced(3, 1, 'other') }),
    { accessKeyId: 'AKIDEXAMPLE' },
    'a header on its way that is not signed',
  )
  t.match(seen({ now: NOW + 16 * 60_000 }), /time/, 'a quarter of an hour later')
  secrets.set(keys.accessKeyId, 'another')
  t.match(seen(), /signature/, 'another secret')
})

t.test('whatever is sent, both come to the same', async (t) => {
  const text = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '-', '~', ':', '%', ' ', '+', 'é', '€', '/', '(', "'", '*', '$') })
  const pair = fc.tuple(text, text)
  const secrets = new Map([[KEYS.accessKeyId, KEYS.secretAccessKey]])
  await every(t, 'random calls verify', (t) =>
    fc.assert(
      fc.property(
        fc.array(text),
        fc.array(pair),
        fc.string({ unit: 'binary' }),
        fc.integer({ min: 0, max: 4e12 }),
        (segments, pairs, body, now) => {
          const path = `/${segments.map(encodeURIComponent).join('/')}${pairs.length > 0 ? `?${new URLSearchParams(pairs)}` : ''}`
          const headers = ['content-type', 'application/json']
          const own = new Sigv4Signer(KEYS, SCOPE).headers({ method: 'POST', origin: 'http://127.0.0.1:8080', path, headers, body }, now)
          const verdict = verifySigv4(
            { method: 'POST', path, headers: ['Host', '127.0.0.1:8080', ...headers, ...own], body: Buffer.from(body) },
            { findSecret: (id) => secrets.get(id), now, ...SCOPE },
          )
          t.match(verdict, { accessKeyId: KEYS.accessKeyId }, path)
        },
      ),
      property(60, 20_000),
    ),
  )
})
