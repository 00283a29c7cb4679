/** The policy of SECURITY.md for advisories, and the release workflow: actions pinned by commit, no more rights than each job needs. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { judge, judgeSignatures, type LockedPackage, lockProblems } from '../../scripts/audit.ts'
import { every } from '../support/every.ts'
import { missing, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FILE = join(ROOT, '.github/workflows/release.yml')
const FILES = [FILE, join(ROOT, '.github/workflows/check.yml')]

interface Workflow {
  readonly permissions: object
  readonly jobs: Readonly<
    Record<string, { readonly permissions?: object; readonly steps: readonly { readonly uses?: string; readonly run?: string }[] }>
  >
}

/** A report of `npm audit --json` (npm 11, auditReportVersion 2) with one advisory. */
const report = (severity: string): string =>
  JSON.stringify({
    vulnerabilities: { left: { via: [{ source: 1, name: 'left', title: 'Bad', url: 'https://x.example', severity }, 'right'] } },
  })

t.test('high and critical advisories fail, others are printed', async (t) => {
  await every(t, 'every severity', (t) => {
    for (const severity of ['low', 'moderate', 'high', 'critical']) {
      const { lines, failed } = judge(report(severity), '2026-11-26')
      t.equal(failed, severity === 'high' || severity === 'critical', severity)
      t.match(lines[0], `${severity}: left: Bad`)
    }
  })
  t.match(
    judge('{"error":{"code":"ENOAUDIT"}}', '2026-11-26'),
    { failed: false, lines: [/NOT AUDITED/] },
    'nothing is claimed where nothing was seen',
  )
})

const TODAY = '2026-11-26'
const GOOD: LockedPackage = { version: '1.2.3', integrity: 'sha512-x', license: 'MIT' }
/** One fault each, and a word of what is said of it. */
const FAULTS: readonly (readonly [fault: LockedPackage, utterance: string])[] = [
  [{ version: 'git+ssh://git@example.com/left.git#1' }, 'version'],
  [{ version: '^1.2.3' }, 'version'],
  [{ resolved: 'https://example.com/left-1.2.3.tgz' }, 'registry'],
  [{ resolved: 'git+https://example.com/left.git' }, 'registry'],
  [{ integrity: 'sha1-x' }, 'hash'],
  [{ hasInstallScript: true }, 'script'],
  [{ license: 'AGPL-3.0-only' }, 'licence'],
  [{ license: '' }, 'licence'],
  [{ license: '(MIT AND GPL-3.0-only)' }, 'licence'],
  [{ deprecated: 'use right' }, 'given it up'],
]

t.test('the lock file follows the policy, and each fault in one is found', async (t) => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, LockedPackage> }
  t.ok(Object.keys(packages).length > 100)
  t.same(lockProblems(packages, TODAY), [])
  t.same(lockProblems({ '': {}, 'node_modules/left': { ...GOOD, license: '(MIT OR GPL-3.0-only)' } }, TODAY), [])
  await every(t, 'every fault', (t) => {
    for (const [fault, utterance] of FAULTS) {
      const found = lockProblems({ 'node_modules/a/node_modules/@b/left': { ...GOOD, ...fault } }, TODAY)
      t.equal(found.length, 1, JSON.stringify(fault))
      t.match(found[0], `@b/left: `)
      t.match(found[0], utterance)
    }
  })
  const tool = { ...GOOD, dev: true, license: 'GPL-3.0-only', deprecated: 'old' }
  t.same(lockProblems({ 'node_modules/tool': tool }, TODAY), [], 'tools of development are not passed on')
  t.match(lockProblems({ 'node_modules/tool': { ...tool, hasInstallScript: true } }, TODAY), [/script/], 'but may run nothing unseen')
})

t.test('a wrong or missing signature fails', async (t) => {
  t.equal(judgeSignatures('{"invalid":[],"missing":[]}').failed, false)
  t.equal(judgeSignatures('{"invalid":[{"name":"left","version":"1.2.3"}],"missing":[]}').failed, true)
  t.equal(judgeSignatures('{"invalid":[],"missing":[{"name":"left"}]}').failed, true)
  await every(t, 'nothing is claimed where nothing was seen', (t) => {
    for (const printed of ['{}', 'npm error', '{"error":{}}'])
      t.match(judgeSignatures(printed), { failed: false, lines: [/NOT VERIFIED/] }, printed)
  })
})

t.test('workflows pin their actions and grant no right to all jobs', async (t) => {
  for (const file of FILES) {
    const { permissions, jobs } = parse(readFileSync(file, 'utf8')) as Workflow
    t.same(permissions, {})
    const uses = Object.values(jobs).flatMap(({ steps }) => steps.flatMap((step) => step.uses ?? []))
    t.ok(uses.length > 3)
    await every(t, 'every action', (t) => {
      for (const action of uses) t.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/)
    })
  }
})

t.test('a package names its repository before it is published, and a chart the image of its release', async (t) => {
  const { jobs } = parse(readFileSync(FILE, 'utf8')) as Workflow
  const runs = (job: string): string[] => (jobs[job]?.steps ?? []).map(({ run = '' }) => run)
  const place = (job: string, words: RegExp): number => runs(job).findIndex((run) => words.test(run))
  const [made, published] = [
    place('package', /scripts\/release\.ts package .*--page "\$PAGE"/),
    place('package', /^npm publish .*--provenance/),
  ]
  t.ok(made >= 0 && made < published, 'npm refuses the provenance of a package without a repository (E422)')
  t.ok(place('check', /scripts\/release\.ts check/) >= 0)
  const chart = runs('image').find((run) => run.includes('helm push')) ?? ''
  t.match(chart, /scripts\/release\.ts chart --image "\$IMAGE"/)
  t.match(readFileSync(join(ROOT, 'deploy/helm/headgate/values.yaml'), 'utf8'), /^ {2}repository: headgate$/m, 'what the step replaces')
})

t.test('the files that it names are there', async (t) => {
  const named = [...readFileSync(FILE, 'utf8').matchAll(/(?:--file|node|bash) ((?:deploy|scripts|\.ci)\/[\w./-]+)/g)].map(
    ([, name = '']) => name,
  )
  t.same([...new Set(named)], ['scripts/release.ts', '.ci/run', 'deploy/container/Dockerfile'])
  await every(t, 'every file', (t) => {
    for (const name of named) t.ok(existsSync(join(ROOT, name)), name)
  })
})

t.test('actionlint accepts them', async (t) => {
  const actionlint = tool('actionlint')
  if (actionlint === undefined) return void t.plan(0, missing('actionlint'))
  const lint = (text: string) => spawnSync(actionlint, ['-shellcheck=', '-pyflakes=', '-'], { input: text, encoding: 'utf8', cwd: ROOT })
  for (const file of FILES) {
    const { status, stdout } = lint(readFileSync(file, 'utf8'))
    t.equal(status, 0, stdout)
  }
  const text = readFileSync(FILE, 'utf8')
  t.equal(lint(text.replace('needs: check', 'needs: nothing')).status, 1, 'a mistake is found')
})
