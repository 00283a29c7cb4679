/**
 * docs/install.md and docs/kubernetes.md, followed word by word: the commands of npm run with the packed tarball in an empty home; those
 * of a cluster are rendered and checked, with the Secrets that the page has made before; those of containers are checked.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { every } from '../support/every.ts'
import { writeSchemas } from './kubernetes-schemas.ts'
import { singleFile } from './single-file.ts'
import { packedOnce, unreachable } from './tarball.ts'
import { missing, moduleFile, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const RUNS_HERE = /^```sh no-test: runs in test\/delivery, (.+)\n([\s\S]*?)^```$/gm
/** Milliseconds: on a busy machine the builds alone take minutes. */
const TIMEOUT_MS = 880_000
/** A helm that is built without its release's flags takes the cluster for one of 1.20. */
const KUBERNETES = '1.37.2'

t.setTimeout(TIMEOUT_MS)
const work = mkdtempSync(join(tmpdir(), 'headgate-pages-'))
t.teardown(() => rmSync(work, { recursive: true, force: true }))

const page = (name: string): string => readFileSync(join(ROOT, 'docs', name), 'utf8')

function blocks(name: string, how: string): string[] {
  return [...page(name).matchAll(RUNS_HERE)].filter(([, reason]) => reason === how).map(([, , code = '']) => code)
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

t.test('docs/install.md: npm', async (t) => {
  const code = blocks('install.md', 'with the packed tarball')
  t.equal(code.length, 3)
  const file = packedOnce()
  const [home, bin] = [join(work, 'home'), join(work, 'bin')]
  for (const folder of [home, bin]) mkdirSync(folder)
  // The package is not published yet: its name stands for the tarball.
  const real = execFileSync('bash', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim()
  const named = `for word; do shift; [ "$word" = headgate ] && word=${file}; set -- "$@" "$word"; done`
  writeFileSync(join(bin, 'npm'), `#!/bin/bash\n${named}\nexec ${real} "$@"\n`, { mode: 0o755 })
  writeFileSync(join(bin, 'npx'), `#!/bin/bash\nshift 2\nexec ${real} exec --yes --package ${file} -- headgate "$@"\n`, { mode: 0o755 })
  const ports = { 8080: String(await freePort()), 8081: String(await freePort()) }
  const ported = (text: string) => text.replaceAll('8080', ports[8080]).replaceAll('8081', ports[8081])
  const config = /Save this as `headgate\.yaml`[^`]*[\s\S]*?```yaml\n([\s\S]*?)^```$/m.exec(page('install.md'))?.[1] ?? ''
  writeFileSync(join(home, 'headgate.yaml'), ported(config))
  const script = `set -e -o pipefail\nunset NODE_OPTIONS\ntrap 'kill %1' EXIT\n${ported(code.join('\n'))}`
  const env = { PATH: `${bin}:${join(home, 'global/bin')}:${process.env.PATH}`, HOME: home, npm_config_prefix: join(home, 'global') }
  let out = ''
  const problem = unreachable(() => {
    // What this machine has set for npm is found through the prefix and the home, which are others here.
    const set = Object.fromEntries(['cache', 'registry', 'globalconfig'].map((name) => [`npm_config_${name}`, configured(real, name)]))
    const all = { ...env, ...set, npm_config_prefer_offline: 'true' }
    out = execFileSync('bash', ['-c', script], {
      cwd: home,
      env: all,
      encoding: 'utf8',
      timeout: TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  })
  if (problem !== undefined) return void t.comment(`*** SKIPPED: ${problem} ***`)
  t.match(out, /headgate\.yaml: ok, 1 provider, 1 model, 1 key/)
  t.match(out, /"content": ?"Hello"/)
})

/** Programs that take the words of the page and check that what they name is there. */
const STAND_INS: Readonly<Record<string, string>> = {
  npm: `[ "$1" = ci ] || grep -qF "'$2'" <(tr '"' "'" < package.json)`,
  node: `[ -f "$1" ]`,
  sudo: `"$@"`,
  dpkg: `if [ "$1" = --print-architecture ]; then echo amd64; else [ "$2" = dist/headgate_VERSION_amd64.deb ]; fi`,
  systemctl: `[ -f deploy/systemd/"$2".service ]`,
  docker: `case "$1" in build) [ "$2" = --file ] && [ -f "$3" ] && [ "$5" = headgate:VERSION ];; run) [ -n "$HEADGATE_APP_KEY" ] && [ "\${!#}" = headgate:VERSION ];; exec) grep -q "^ENTRYPOINT .*$3" deploy/container/Dockerfile;; *) false;; esac`,
}

t.test('docs/install.md: one file, Debian package, image', async (t) => {
  const code = blocks('install.md', 'with the built file')
  t.equal(code.length, 3)
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const [clone, bin] = [join(work, 'clone'), join(work, 'stand-ins')]
  for (const folder of [join(clone, 'dist'), bin]) mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'scripts', 'deploy']) symlinkSync(join(ROOT, name), join(clone, name))
  symlinkSync(singleFile(), join(clone, 'dist/single-file'))
  for (const [name, text] of Object.entries(STAND_INS))
    writeFileSync(join(bin, name), `#!/bin/bash\n${text.replaceAll('VERSION', version)}\n`, { mode: 0o755 })
  const run = (text: string) =>
    spawnSync('bash', ['-e', '-c', text], { cwd: clone, env: { PATH: `${bin}:/usr/bin:/bin`, HOME: work }, encoding: 'utf8' })
  t.equal(run(code[0] ?? '').stdout.trim(), version, 'the file runs')
  await every(t, 'every block', (t) => {
    for (const text of code) {
      t.equal(run(text).status, 0, text)
      t.not(run(text.replace(/(build\S*|Dockerfile)/g, '$1x')).status, 0, 'a wrong name is found')
    }
  })
})

const configured = (npm: string, name: string): string => execFileSync(npm, ['config', 'get', name], { encoding: 'utf8' }).trim()

t.test('docs/install.md: containers', async (t) => {
  const commands = blocks('install.md', 'with a composer that only checks').map((code) =>
    code.replaceAll('openssl rand -hex 16', 'echo secret'),
  )
  t.equal(commands.length, 3)
  const bin = join(work, 'composer')
  mkdirSync(bin)
  // Fails where the file is not there, or a variable that it demands is not set.
  const docker = `#!/bin/bash\nset -e\n[ "$1 $2" = 'compose --file' ]\nfor name in $(grep -oE '\\\${[A-Z_]+:\\?' "$3" | tr -d '\${:?'); do [ -n "\${!name}" ]; done\n`
  writeFileSync(join(bin, 'docker'), docker, { mode: 0o755 })
  const run = (code: string) =>
    spawnSync('bash', ['-e', '-c', code], { cwd: ROOT, env: { PATH: `${bin}:${process.env.PATH}` }, encoding: 'utf8' }).status
  await every(t, 'every block', (t) => {
    for (const code of commands) {
      t.equal(run(code), 0, code)
      t.equal(run(code.replace(/^export .*\n/m, '')), 1, 'it needs its variables')
    }
  })
})

/** The words of each command of a block, with what stands in for random numbers. */
function splitCommands(code: string): string[][] {
  const lines = code.replaceAll('\\\n', ' ').replaceAll(/\$\(openssl[^)]*\)/g, '0123456789abcdef')
  return lines
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => [...line.matchAll(/(?:'[^']*'|\S)+/g)].map(([word]) => word.replaceAll("'", '')))
}

interface Rendered {
  readonly kind: string
  readonly metadata: { readonly name: string }
}

/** The Secrets that something rendered refers to, with their keys where they are named. */
function references(value: unknown): [name: string, key: string | undefined][] {
  if (typeof value !== 'object' || value === null) return []
  const { secretKeyRef, secretRef, secret } = value as Record<string, { name?: string; key?: string; secretName?: string } | undefined>
  const named = [secretKeyRef, secretRef, secret].flatMap((each): [string, string | undefined][] =>
    each?.name === undefined ? [] : [[each.name, each.key]],
  )
  return [...named, ...Object.values(value).flatMap(references)]
}

t.test('docs/kubernetes.md', async (t) => {
  const [helm, kubeconform] = [tool('helm'), tool('kubeconform')]
  const swagger = moduleFile('kubernetes', 'api/openapi-spec/swagger.json')
  if (helm === undefined) return void t.plan(0, missing('helm'))
  const location = swagger && writeSchemas(swagger, join(work, 'schemas'))
  if (kubeconform === undefined || location === undefined)
    t.comment(`objects are rendered, but not checked by schema: ${missing('kubeconform')}`)
  const secrets = new Map<string, string[]>()
  let rendered: Rendered[] = []

  const take = (text: string, at: string): void => {
    if (kubeconform !== undefined && location !== undefined) {
      const words = ['-strict', '-schema-location', location, '-']
      const { status, stdout } = spawnSync(kubeconform, words, { input: text, encoding: 'utf8' })
      t.equal(status, 0, `${at}: ${stdout}`)
    }
    const documents = parseAllDocuments(text)
    rendered = Array.isArray(documents) ? documents.map((document) => document.toJS() as Rendered).filter(Boolean) : []
    for (const [name, key] of references(rendered))
      t.ok(key === undefined ? secrets.has(name) : secrets.get(name)?.includes(key), `${at}: the Secret ${name} ${key ?? ''} was made`)
  }
  const verbs: Record<string, (words: string[], at: string) => void> = {
    'helm install': (words, at) =>
      take(execFileSync(helm, ['template', '--kube-version', KUBERNETES, ...words], { cwd: ROOT, encoding: 'utf8' }), at),
    'helm upgrade': (words, at) =>
      verbs['helm install']?.(
        words.filter((word) => word !== '--install'),
        at,
      ),
    'helm uninstall': ([name], at) => t.equal(name, 'headgate', at),
    'kubectl apply': ([, file = ''], at) => take(readFileSync(join(ROOT, file), 'utf8'), at),
    'kubectl create': ([, , name = '', ...literals]) =>
      void secrets.set(
        name,
        literals.map((word) => /^--from-literal=([^=]+)=./.exec(word)?.[1] ?? ''),
      ),
    'kubectl rollout': ([, target = ''], at) => exists(target, at),
    'kubectl exec': ([target = ''], at) => exists(target, at),
    'kubectl port-forward': ([target = ''], at) => exists(target, at),
  }
  const exists = (target: string, at: string): void => {
    const [kind, name] = target.split('/')
    t.ok(
      rendered.some((each) => each.kind.toLowerCase() === kind && each.metadata.name === name),
      at,
    )
  }

  const parts = page('kubernetes.md').matchAll(
    /[Ss]ave this as `(\w+\.yaml)`:\n\n```yaml values\n([\s\S]*?)^```$|^```sh no-test: runs in test\/delivery, without a cluster\n([\s\S]*?)^```$/gm,
  )
  let ran = 0
  for (const [, file = '', saved, code = ''] of parts) {
    if (saved !== undefined) writeFileSync(join(work, file), saved)
    for (const [program, verb, ...words] of splitCommands(code)) {
      const at = [program, verb, ...words].join(' ')
      const run = verbs[`${program} ${verb}`]
      t.ok(run, at)
      run?.(
        words.map((word) => (existsSync(join(work, word)) ? join(work, word) : word)),
        at,
      )
      ran++
    }
  }
  t.ok(ran > 12, `${ran} commands`)
  for (const file of ['values.yaml', 'replicas.yaml']) t.ok(existsSync(join(work, file)), file)
})
