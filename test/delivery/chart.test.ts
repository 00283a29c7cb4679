/**
 * The Helm chart: linted, rendered with every one of its values, checked against the schemas of Kubernetes, its configuration against
 * the gateway's own check; the plain manifests are what the chart renders. HEADGATE_WRITE=1 writes them.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { isObject, type JsonObject } from '../../src/core/json.ts'
import { every } from '../support/every.ts'
import { writeSchemas } from './kubernetes-schemas.ts'
import { missing, moduleFile, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CHART = join(ROOT, 'deploy/helm/headgate')
const KUBERNETES = '1.37.2'
const CASES = globSync('ci/*-values.yaml', { cwd: CHART }).sort()
/** The plain manifests, and the values that they are rendered with. */
const MANIFESTS = { single: 'defaults', cluster: 'cluster', tryout: 'tryout', sidecar: 'sidecar' }

const helm = tool('helm')
const work = mkdtempSync(join(tmpdir(), 'headgate-chart-'))
t.setTimeout(880_000)
t.teardown(() => rmSync(work, { recursive: true, force: true }))

const pathValues = (path: string): JsonObject => parse(readFileSync(join(CHART, path), 'utf8')) as JsonObject
const valuesCase = (name: string): string => `ci/${name}-values.yaml`

interface Rendered {
  readonly failed: boolean
  readonly text: string
}

/** Runs the chart's templates with values: as JSON, since helm reads YAML 1.1, where a plain `off` is false. */
function render(values: JsonObject): Rendered {
  const args = ['template', 'headgate', CHART, '--kube-version', KUBERNETES, '--values', '-']
  const { status, stdout, stderr } = spawnSync(String(helm), args, { input: JSON.stringify(values), encoding: 'utf8', maxBuffer: 2 ** 24 })
  return { failed: status !== 0, text: status === 0 ? stdout : stderr }
}

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Record<string, string>
  readonly spec: JsonObject
}

function resources(text: string): Resource[] {
  const documents = parseAllDocuments(text)
  if (!Array.isArray(documents)) return []
  return documents.map((document) => document.toJS() as Resource | null).filter((resource) => resource !== null)
}

/** Every setting of the schema, by its path. Where the schema leaves the members to Kubernetes or the gateway, the whole is one. */
function settings(schema: JsonObject, path: readonly string[] = []): string[][] {
  const { properties } = schema
  if (!isObject(properties)) return [[...path]]
  return Object.entries(properties).flatMap(([name, member]) => (isObject(member) ? settings(member, [...path, name]) : []))
}

function at(values: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), values)
}

/** The values without one of them. */
function without(values: JsonObject, path: readonly string[]): JsonObject {
  const [first = '', ...rest] = path
  const { [first]: member, ...others } = values
  return rest.length > 0 && isObject(member) ? { ...others, [first]: without(member, rest) } : others
}

const ALL = settings(JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')) as JsonObject).filter(
  ([name]) => name !== 'global',
)

t.test('values.yaml states the default of every setting, and the cases set each of them', async (t) => {
  const defaults = pathValues('values.yaml')
  t.ok(ALL.length > 80, `${ALL.length} settings`)
  t.same(
    ALL.filter((path) => at(defaults, path) === undefined).map((path) => path.join('.')),
    [],
    'in values.yaml',
  )
  const cases = CASES.map(pathValues)
  t.same(
    ALL.filter((path) => cases.every((values) => at(values, path) === undefined)).map((path) => path.join('.')),
    [],
    'in no case',
  )
})

t.test('its version is that of the program', async (t) => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  t.match(parse(readFileSync(join(CHART, 'Chart.yaml'), 'utf8')), { version, appVersion: version })
})

t.test('helm lint finds nothing', { skip: helm === undefined && missing('helm') }, async (t) => {
  await every(t, 'every case', (t) => {
    for (const path of CASES) {
      const { status, stdout } = spawnSync(String(helm), ['lint', '--strict', CHART, '--values', join(CHART, path)], { encoding: 'utf8' })
      t.equal(status, 0, `${path}: ${stdout}`)
    }
  })
})

t.test('every setting changes what is rendered', { skip: helm === undefined && missing('helm') }, async (t) => {
  const cases = CASES.map((path) => ({ values: pathValues(path), text: render(pathValues(path)).text }))
  const defaults = pathValues('values.yaml')
  await every(t, 'every setting', (t) => {
    for (const path of ALL) {
      const used = cases.find(({ values, text }) => {
        const own = at(values, path)
        // What a case repeats of the defaults changes nothing: one render for most settings.
        return own !== undefined && !isDeepStrictEqual(own, at(defaults, path)) && render(without(values, path)).text !== text
      })
      t.ok(used, path.join('.'))
    }
  })
})

t.test('contradictions are refused, with what to do', { skip: helm === undefined && missing('helm') }, async (t) => {
  const refused: [JsonObject, RegExp][] = [
    [{ replicas: 2 }, /store\.type: postgresql/],
    [{ store: { type: 'postgresql' } }, /store\.secret\.name/],
    [{ store: { type: 'postgresql' }, bundled: { postgresql: { enabled: true } } }, /bundled\.postgresql\.secret\.name/],
    [{ mode: 'sidecar' }, /sidecar\.containers/],
    [{ config: { server: { port: 1 } } }, /config\.server\.port is set by the chart/],
    [{ replica: 2 }, /replica/],
  ]
  await every(t, 'each', (t) => {
    for (const [values, message] of refused) {
      const { failed, text } = render(values)
      t.ok(failed, JSON.stringify(values))
      t.match(text, message)
    }
  })
})

t.test('what is rendered is valid for Kubernetes', async (t) => {
  const [kubeconform, swagger] = [tool('kubeconform'), moduleFile('kubernetes', 'api/openapi-spec/swagger.json')]
  if (helm === undefined || kubeconform === undefined || swagger === undefined) return void t.plan(0, missing('helm or kubeconform'))
  const location = writeSchemas(swagger, join(work, 'schemas'))
  // The kinds of the Prometheus operator are no part of Kubernetes.
  const args = ['-strict', '-schema-location', location, '-skip', 'ServiceMonitor,PrometheusRule', '-summary', '-']
  const validate = (input: string) => spawnSync(kubeconform, args, { input, encoding: 'utf8', maxBuffer: 2 ** 24 })
  await every(t, 'every case', (t) => {
    for (const path of CASES) {
      const { text } = render(pathValues(path))
      const { status, stdout } = validate(text)
      t.equal(status, 0, `${path}: ${stdout}`)
      t.ok(resources(text).length >= 3, path)
    }
  })
  t.match(validate(render({}).text.replace('automountServiceAccountToken', 'automountToken')), { status: 1 }, 'a wrong field is found')
})

t.test('the gateway accepts the configuration that is rendered', { skip: helm === undefined && missing('helm') }, async (t) => {
  const secrets = join(work, 'secrets')
  mkdirSync(secrets)
  writeFileSync(join(secrets, 'openai'), 'sk-provider')
  const env = {
    ...process.env,
    NODE_OPTIONS: '',
    ...{ OPS_KEY: 'sk-ops-0123456789abcdef', APP_KEY: 'sk-app-0123456789abcdef', OPENAI_API_KEY: 'sk-provider' },
    ...{ HEADGATE_ADMIN_TOKEN: 'token-0123456789abcdef', HEADGATE_POSTGRES_PASSWORD: 'secret', HEADGATE_REDIS_PASSWORD: 'secret' },
    ...{ HEADGATE_DATABASE: 'postgres://db.example/headgate', HEADGATE_REDIS: 'redis://cache.example:6379' },
  }
  await every(t, 'every case with a configuration', (t) => {
    for (const path of CASES) {
      const map = resources(render(pathValues(path)).text).find(({ kind, data }) => kind === 'ConfigMap' && data?.['headgate.yaml'])
      if (map === undefined) continue
      const folder = join(work, basename(path))
      mkdirSync(folder)
      for (const [name, text] of Object.entries(map.data ?? {}))
        writeFileSync(join(folder, name), text.replaceAll('/run/secrets/headgate', secrets))
      const command = ['bin/headgate.js', 'check', join(folder, 'headgate.yaml')]
      const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: ROOT, env, encoding: 'utf8' })
      t.equal(status, 0, `${path}: ${stdout}${stderr}`)
    }
  })
})

t.test('a pod has no rights that it does not need, and time to drain', { skip: helm === undefined && missing('helm') }, async (t) => {
  const [workload] = resources(render({ drain: 40, preStop: 5 }).text).filter(({ kind }) => kind === 'Deployment')
  t.match(at(workload, ['spec', 'template', 'spec']), {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 60,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [
      {
        securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } },
        livenessProbe: { httpGet: { path: '/healthz', port: 'health' } },
        readinessProbe: { httpGet: { path: '/readyz', port: 'health' } },
      },
    ],
  })
  t.match(render({ drain: 40 }).text, /drain: 40s/, 'the same time in the configuration')
})

/** A resource by its kind and name, whatever the order of those of a file. */
const byName = (text: string): Record<string, Resource> =>
  Object.fromEntries(resources(text).map((resource) => [`${resource.kind} ${resource.metadata.name}`, resource]))

t.test('the plain manifests are what the chart renders', { skip: helm === undefined && missing('helm') }, async (t) => {
  await every(t, 'each', (t) => {
    for (const [name, values] of Object.entries(MANIFESTS)) {
      const file = join(ROOT, 'deploy/kubernetes', `${name}.yaml`)
      const head = `# Rendered from deploy/helm/headgate with ${valuesCase(values)}; docs/kubernetes.md explains it.\n`
      // Helm's own marks mean nothing to kubectl.
      const marks = /^ +(?:app\.kubernetes\.io\/managed-by|helm\.sh\/chart): .*\n|^# Source: .*\n/gm
      const text = head + render(pathValues(valuesCase(values))).text.replace(marks, '')
      if (process.env.HEADGATE_WRITE === '1') writeFileSync(file, text)
      t.same(byName(readFileSync(file, 'utf8')), byName(text), name)
    }
  })
})

t.comment(helm === undefined ? 'no helm' : execFileSync(helm, ['version', '--short'], { encoding: 'utf8' }).trim())
