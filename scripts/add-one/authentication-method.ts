/** A method of authentication: HTTP Basic, whose password is the secret of a key. */
import type { Addition } from './frame/addition.ts'

const FOLDER = 'src/pipeline/request/authentication'

export const addition: Addition = {
  name: 'authentication-method',
  change: 'a method of authentication',
  recipe: `its file in \`${FOLDER}/\`, its line in the list of \`${FOLDER}/index.ts\`, its test`,
  most: 3,
  edits: [
    {
      file: `${FOLDER}/basic.ts`,
      text: `/** A caller shows the secret of a key as the password of HTTP Basic (RFC 7617). */
import type { IncomingHttpHeaders } from 'node:http'
import { secretHash } from '../../../core/secret.ts'
import type { AuthenticationMethod, AuthenticationParts } from './method.ts'

const pairDigest = ({ authorization = '' }: IncomingHttpHeaders): string => {
  const pair = Buffer.from(authorization.slice('Basic '.length), 'base64').toString('utf8')
  return secretHash(pair.slice(pair.indexOf(':') + 1))
}

export function basic({ keys }: AuthenticationParts): AuthenticationMethod {
  return {
    shows: ({ headers: { authorization } }) => authorization?.startsWith('Basic ') === true,
    atHand({ headers }) {
      const digest = pairDigest(headers)
      return keys.written.get(digest) ?? keys.atHand(digest)
    },
    find(caller, isSuspect) {
      const digest = pairDigest(caller.headers)
      return keys.written.get(digest) ?? keys.find(digest, isSuspect(caller))
    },
    // Its keys are found by their digests, as all others are.
    renew: () => undefined,
  }
}
`,
    },
    {
      file: `${FOLDER}/index.ts`,
      find: "import type { AuthenticationMethod, AuthenticationParts, Caller, FoundKey } from './method.ts'\n",
      replace:
        "import { basic } from './basic.ts'\nimport type { AuthenticationMethod, AuthenticationParts, Caller, FoundKey } from './method.ts'\n",
    },
    {
      file: `${FOLDER}/index.ts`,
      find: '= [certificate, person, token, secretKey]',
      replace: '= [certificate, person, basic, token, secretKey]',
    },
    {
      file: 'test/gateway/operations/basic-authentication.test.ts',
      text: `/** HTTP Basic, by which every operation takes a key. */
import t from 'tap'
import { KEY } from '../../support/gateway.ts'
import { startScene } from '../../support/scene.ts'

t.test('the password is the secret of a key', async (t) => {
  const { ask, gateway } = await startScene(t)
  const headers = (password: string) => ({ authorization: \`Basic \${Buffer.from(\`me:\${password}\`).toString('base64')}\` })
  t.equal((await ask({}, 'chat', headers(KEY))).status, 200)
  t.equal((await ask({}, 'chat', headers('sk-none'))).status, 401)
  t.equal((await fetch(\`\${gateway.url}/v1/models\`, { headers: headers(KEY) })).status, 200)
  t.equal((await fetch(\`\${gateway.url}/v1/key\`, { headers: headers('sk-none') })).status, 401)
  t.equal((await ask()).status, 200, 'the secret as a bearer token')
})
`,
    },
  ],
  test: ['test/gateway/operations/basic-authentication', 'test/repository/imports'],
}
