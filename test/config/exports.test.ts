/** Entries of `exports` in a file. */
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config/problems.ts'

const BASE = 'providers: { sim: { dialect: sim } }\nmodels: { a/b: { endpoints: [ { provider: sim, model: echo } ] } }\n'

function entryProblem(entry: string, more = ''): string {
  try {
    loadConfig('f.yaml', {}, { text: `${BASE}${more}exports: [ ${entry} ]` })
    return ''
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

t.test('an export has one destination, a name of its own, and a path with the batch in it', async (t) => {
  const file = 'file: { path: out }'
  t.equal(entryProblem(`{ name: a, ${file} }`), '')
  t.match(entryProblem('{ name: a }'), /exactly one of file, s3, clickhouse/)
  t.match(entryProblem(`{ name: a, ${file}, clickhouse: { url: "http://c" } }`), /exactly one of/)
  t.match(entryProblem(`{ name: a, ${file} }, { name: a, ${file} }`), /another export has it/)
  t.match(entryProblem(`{ name: a, ${file}, path: "{day}" }`), /expected \{batch\} in it/)
  t.match(entryProblem(`{ name: a, ${file}, path: "a/../{batch}" }`), /without empty parts/)
  t.match(
    entryProblem('{ name: a, s3: { bucket: abc, region: us-east-1, access_key_id: AKIA } }'),
    /both access_key_id and secret_access_key/,
  )
  t.match(entryProblem(`{ name: a, ${file} }`, 'store: { url: "memory:" }\n'), /not memory:/)
})

t.test('defaults are filled in, in milliseconds', async (t) => {
  const { exports } = loadConfig('f.yaml', {}, { text: `${BASE}exports: [ { name: a, s3: { bucket: abc, region: us-east-1 } } ]` })
  t.match(exports, [{ name: 'a', rows: 5000, interval: 60_000, timeout: 60_000, compression: 'gzip', s3: { bucket: 'abc' } }])
})
