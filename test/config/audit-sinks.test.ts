/** Settings of `audit` in a file: its key and its sinks. */
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'

const BASE = 'providers: { sim: { dialect: sim } }\nmodels: { a/b: { endpoints: [ { provider: sim, model: echo } ] } }\n'

function problem(audit: string, more = ''): string {
  try {
    loadConfig('f.yaml', {}, { text: `${BASE}${more}audit: { ${audit} }` })
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}
const sinks = (list: string, more?: string): string => problem(`sinks: [ ${list} ]`, more)

t.test('a sink has one destination, a name of its own, and TLS only where it is used', async (t) => {
  const file = 'file: { path: audit.jsonl }'
  const pem = '"-----BEGIN CERTIFICATE-----"'
  t.equal(sinks(`{ name: a, ${file} }, { name: b, syslog: { host: siem.example.com } }`), '')
  t.match(sinks('{ name: a }'), /exactly one of file, syslog/)
  t.match(sinks(`{ name: a, ${file}, syslog: { host: b } }`), /exactly one of file, syslog/)
  t.match(sinks(`{ name: a, ${file} }, { name: a, ${file} }`), /another sink has it/)
  t.match(sinks(`{ name: a, syslog: { host: b, protocol: tcp, tls: { ca: ${pem} } } }`), /no tls with this protocol/)
  t.match(sinks(`{ name: a, syslog: { host: b, tls: { certificate: ${pem} } } }`), /both certificate and key/)
  t.match(sinks('{ name: a, syslog: { host: b, facility: kern } }'), /facility/)
  t.match(sinks(`{ name: "a:b", ${file} }`), /name/, 'no colon, which stands before names in the store')
  t.match(sinks(`{ name: a, ${file} }`, 'store: { url: "memory:" }\n'), /not memory:/)
})

t.test('a key has at least 32 characters, and no message repeats it', async (t) => {
  t.equal(problem(`key: "${'k'.repeat(32)}", former_keys: [ "${'f'.repeat(32)}" ]`), '')
  for (const setting of ['key: "shortsecret"', 'former_keys: [ "shortsecret" ]']) {
    t.match(problem(setting), /at least 32/)
    t.notMatch(problem(setting), /shortsecret/)
  }
})
