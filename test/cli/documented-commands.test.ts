/**
 * Every shell command of README.md and docs/ runs, against a gateway with simulated models.
 * A block that cannot run here says why in its fence: ```sh no-test: needs a provider's key
 * Those that run in test/delivery, where what they install is built, begin so: ```sh no-test: runs in test/delivery, with the packed tarball
 * Those of the migration pages run in test/documents.
 */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { isObject, type Json } from '../../src/core/json.ts'
import { paths, ROOT, read } from '../repository/source-tree.ts'
import { ADMIN_TOKEN } from '../support/admin.ts'
import { type Block, bash, executable, pageBlocks, savedFiles } from '../support/command-blocks.ts'
import { startGateway } from '../support/gateway.ts'
import { LAUNCHER } from '../support/launcher.ts'

/** Those of recipes run in test/recipes, each against the gateway of its page. */
const PAGES = ['README.md', ...paths('docs/**/*.md').filter((page) => !page.startsWith('docs/recipes/'))]

const APP = 'sk-app-0123456789abcdef'
const BOSS = 'sk-boss-0123456789abcdef'
const TEAM = 'sk-team-0123456789abcdef'
/** The pair of RFC 7636, appendix B. */
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

const KEYS = `
auth:
  sign_in: {}
  keys:
    - { name: app, key: "${APP}" }
    - { name: boss, key: "${BOSS}", management: true }
    - { name: team, key: "${TEAM}", limit: "100.00" }
`
/** Models that requests reach: every model that the documents send a request to, simulated. */
const GATEWAY = `${KEYS}
providers: { sim: { dialect: sim } }
models:
${['sim/echo', 'sim/story', 'sim/tools', 'openai/gpt-5-mini', 'anthropic/claude-sonnet-5.5']
  .map(
    (slug) =>
      `  ${slug}: { context: 100000, endpoints: [ { provider: sim, model: ${slug.startsWith('sim/') ? slug.slice(4) : 'echo'}, price: free } ] }`,
  )
  .join('\n')}
`
/** Configuration that commands read as `headgate.yaml`. */
const FILE = `
server: { host: 127.0.0.1, port: 0 }
admin: { host: 127.0.0.1, port: 0 }
store: { url: "sqlite:./data/headgate.db" }
${KEYS}
providers:
  openai: { dialect: openai-responses, base_url: "https://api.openai.com/v1", key: "\${OPENAI_API_KEY}" }
  sim: { dialect: sim }
catalog: [config/catalog/openai.yaml]
models:
  sim/echo: { endpoints: [ { provider: sim, model: echo, price: free } ] }
guardrails:
  - { name: no-secrets, phrases: [ secret ], action: flag }
`

const blocks = PAGES.flatMap(pageBlocks)

/** Stands for `headgate` and for `npm`, which .ci/run runs itself with `ci` and `test`. */
const COMMAND = `#!/bin/sh
if [ "\${0##*/}" = npm ]; then
  case $1 in
    ci | test) exit 0 ;;
    start) shift ;;
    *) echo "npm $*: unknown to this test" && exit 1 ;;
  esac
  if [ "$1" = -- ]; then shift; fi
fi
case $1 in
  '') exec "$NODE" "$SERVE_ONCE" --config config/headgate.yaml ;;
  serve | -*) exec "$NODE" "$SERVE_ONCE" "$@" ;;
  check | plan | test | providers) exec "$NODE" "$HEADGATE" "$@" ;;
esac
case " $* " in
  *' --config '*) exec "$NODE" "$HEADGATE" "$@" ;;
  *) exec "$NODE" "$HEADGATE" "$@" --config headgate.yaml ;;
esac
`

/** Serves, and ends as soon as it listens. */
const SERVE_ONCE = `
import { spawn } from 'node:child_process'
const child = spawn(process.execPath, [process.env.HEADGATE, ...process.argv.slice(2)], { stdio: ['ignore', 'pipe', 'inherit'] })
let out = ''
child.stdout.on('data', (chunk) => {
  process.stdout.write(chunk)
  out += chunk
  if (out.includes(' listens on ')) child.kill('SIGTERM')
})
child.on('close', (code) => process.exit(out.includes(' listens on ') ? (code ?? 1) : 1))
`

/** A folder such as a reader has, with what the commands name. */
function folderFor(page: string): string {
  const folder = join(root, page.replaceAll('/', '-'))
  cpSync(join(ROOT, 'config'), join(folder, 'config'), { recursive: true })
  for (const name of ['data', 'policies']) mkdirSync(join(folder, name))
  const shipped = read('config/headgate.yaml').replace('port: 8080', 'port: 0').replace('port: 8081', 'port: 0')
  const files: [string, string][] = [
    ['headgate.yaml', FILE],
    ['config/headgate.yaml', shipped],
    ['sidecar.yaml', read('config/sidecar.yaml')],
    ['policies/sidecar.yaml', read('config/policy-tests/sidecar.yaml')],
    ['request.json', '{"model":"sim/echo","max_tokens":100,"messages":[{"role":"user","content":"Hello"}]}'],
    ['report.pdf', '%PDF-1.4\n'],
    ['data/headgate.db.admin-token', ADMIN_TOKEN],
    ...savedFiles(page).map(([name, text]): [string, string] => [name, text.replace(/\bport: \d+/g, 'port: 0')]),
  ]
  for (const [name, text] of files) writeFileSync(join(folder, name), text)
  return folder
}

/** The members that a reply should have and has not, by their paths. */
function missingIn(found: Json | undefined, wanted: Json, path = ''): string[] {
  if (Array.isArray(wanted)) return Array.isArray(found) && wanted.length > 0 ? missingIn(found[0], wanted[0], `${path}[0]`) : []
  if (!isObject(wanted)) return path.endsWith('.message') && found !== wanted ? [`${path}: ${found}`] : []
  return Object.entries(wanted).flatMap(([name, value]) =>
    isObject(found) && Object.hasOwn(found, name) ? missingIn(found[name], value ?? null, `${path}.${name}`) : [`${path}.${name}`],
  )
}

const root = t.testdir({ bin: {}, 'serve-once.mjs': SERVE_ONCE })
for (const name of ['headgate', 'npm']) executable(join(root, 'bin', name), COMMAND)
executable(join(root, 'bin', 'curl'), '#!/bin/sh\nPATH=$REAL_PATH\nexec curl -sS $CURL_FLAGS "$@"\n')
const gateway = await startGateway(GATEWAY)
t.teardown(() => gateway.close())

/** A code of sign-in, which works once. */
async function signInCode(): Promise<string> {
  const reply = await fetch(`${gateway.url}/v1/auth/keys/code`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TEAM}`, 'content-type': 'application/json' },
    body: JSON.stringify({ callback_url: 'http://localhost/', code_challenge: CHALLENGE, code_challenge_method: 'S256' }),
  })
  return ((await reply.json()) as { data: { id: string } }).data.id
}

/** With what stands here for the addresses, keys and words in capitals of the documents. */
async function filledIn(code: string): Promise<string> {
  const words: Record<string, string> = { GATEWAY: gateway.url, KEY: APP, BOSS, TEAM, VERIFIER, CHALLENGE, FILE: 'headgate.yaml' }
  if (code.includes('"CODE"')) words.CODE = await signInCode()
  const filled = code
    .replaceAll('https://GATEWAY', gateway.url)
    .replaceAll('http://127.0.0.1:8080', gateway.url)
    .replaceAll('http://127.0.0.1:8081', gateway.admin)
    .replace(/(?<![$\w])[A-Z]{3,}(?![\w=])/g, (word) => words[word] ?? word)
    // The key that the reader has chosen by then.
    .replaceAll('sk-my-own-key-0123456789', APP)
  // A block that prints a status shows how the published key is refused.
  return printsStatus(code) ? filled : filled.replaceAll('sk-router-v1-dev', APP)
}

const printsStatus = (code: string): boolean => code.includes('%{http_code}')

/** Milliseconds that one block may take: the whole file takes longer the more blocks there are, and the busier the machine is. */
const BLOCK = 110_000
const wholeFile = t

async function runBlock(t: Test, { at, code, above, prints }: Block, folder: string): Promise<void> {
  wholeFile.setTimeout(BLOCK)
  // A page that reads the store has a reader whose gateway ran before.
  const script = (/\bheadgate\.db$|\bledger verify\b/m.test(code) ? 'headgate keys list > first.txt\n' : '') + (await filledIn(code))
  const refused = isObject(prints) && 'error' in prints
  const { failed, out, error } = await bash(script, folder, {
    PATH: `${join(root, 'bin')}:${process.env.PATH}`,
    REAL_PATH: process.env.PATH ?? '',
    CURL_FLAGS: refused || printsStatus(code) ? '' : '--fail-with-body',
    NODE: process.execPath,
    HEADGATE: LAUNCHER,
    SERVE_ONCE: join(root, 'serve-once.mjs'),
    HOME: folder,
    OPENAI_API_KEY: 'sk-unused',
    GATEWAY: gateway.url,
    HEALTH: gateway.admin,
    KEY: APP,
    HEADGATE_APP_KEY: APP,
    MANAGEMENT_KEY: BOSS,
  })
  t.notOk(failed, `${at}:\n${script}\n${out}${error}`)
  if (failed) return
  if (printsStatus(code)) t.match(above, new RegExp(`\\b${out.trim()}\\b`), `${at}: the status`)
  if (prints !== undefined) t.same(missingIn(JSON.parse(out) as Json, prints), [], `${at}: the reply has what is shown`)
}

// Most of the time is that of the commands' own starts.
t.jobs = 2
for (const page of PAGES) {
  const runnable = blocks.filter((block) => block.page === page && block.excuse === undefined)
  if (runnable.length === 0) continue
  t.test(page, { buffered: true }, async (t) => {
    const folder = folderFor(page)
    for (const block of runnable) await runBlock(t, block, folder)
  })
}

t.test('blocks that cannot run say why, and are the lesser part', async (t) => {
  const excused = blocks.filter(({ excuse }) => excuse !== undefined && !/^runs in test\/(?:delivery|documents), /.test(excuse))
  for (const { at, excuse } of excused) t.match(excuse, /^\w+ .+/, `${at}: no-test names a reason`)
  const run = blocks.filter(({ excuse }) => excuse === undefined).length
  t.ok(run > 30 && excused.length < run * 0.6, `${run} ran, ${excused.length} cannot`)
})
