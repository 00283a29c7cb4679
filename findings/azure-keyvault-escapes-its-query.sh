#!/usr/bin/env bash
# Package: @azure/keyvault-keys 4.10.2 (npm), by its core @azure-rest/core-client.
# Behaviour: every request has its version as `?api%2Dversion=2025-07-01`: the hyphen of the name is escaped, though it is an unreserved
#   character (RFC 3986, 2.3), which need not be and is "best not". Before a wrap it fetches the key, and before that it sends one request
#   without a token, whose refusal says which scope the token needs.
# Why a good guess is wrong: all documents and older SDKs of the service have `?api-version=`; a proxy, a rule of a firewall or a stand-in that
#   looks for that text in the address sees none of the SDK's requests as what they are.
# A gateway should: read queries decoded, and send the plain name itself.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > /dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @azure/keyvault-keys@4.10.2
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out certificate.pem -days 1 -subj /CN=127.0.0.1 \
  -addext 'subjectAltName=IP:127.0.0.1' 2> /dev/null
cat > finding.mjs <<'JS'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { CryptographyClient } from '@azure/keyvault-keys'

const seen = []
const server = createServer({ key: readFileSync('key.pem'), cert: readFileSync('certificate.pem') }, (request, response) => {
  const { method, url, headers } = request
  seen.push(`${method} ${url} ${headers.authorization ? 'with a token' : 'without one'}`)
  request.resume()
  response.setHeader('content-type', 'application/json')
  if (!headers.authorization) {
    const tenant = 'https://login.microsoftonline.com/72f988bf-0000-4000-8000-2d7cd011db47'
    response.statusCode = 401
    response.setHeader('www-authenticate', `Bearer authorization="${tenant}", resource="https://vault.azure.net"`)
    return response.end('{"error":{"code":"Unauthorized","message":"no token"}}')
  }
  const kid = `${at}/keys/one/v1`
  const key = { kid, kty: 'RSA-HSM', key_ops: ['wrapKey', 'unwrapKey'], n: 'AQAB', e: 'AQAB' }
  response.end(JSON.stringify(method === 'GET' ? { key, attributes: { enabled: true } } : { kid, value: 'AAAA' }))
}).listen(0, '127.0.0.1')
await new Promise((resolve) => server.once('listening', resolve))
const at = `https://127.0.0.1:${server.address().port}`
const credential = { getToken: async () => ({ token: 't', expiresOnTimestamp: Date.now() + 1e6 }) }
const client = new CryptographyClient(`${at}/keys/one/v1`, credential, { disableChallengeResourceVerification: true })
await client.wrapKey('RSA-OAEP-256', Buffer.from('a key'))
server.close()
server.closeAllConnections()
console.log(seen.join('\n'))
const expected = [
  'GET /keys/one/v1?api%2Dversion=2025-07-01 without one',
  'GET /keys/one/v1?api%2Dversion=2025-07-01 with a token',
  'POST /keys/one/v1/wrapkey?api%2Dversion=2025-07-01 with a token',
]
if (JSON.stringify(seen) !== JSON.stringify(expected)) {
  console.error('the behaviour has changed')
  process.exit(1)
}
JS
NODE_EXTRA_CA_CERTS=certificate.pem node finding.mjs
