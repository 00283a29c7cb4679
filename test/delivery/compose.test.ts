/** The compose files: valid by the schema of the specification, the files that they mount accepted by the programs that read them. */
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import { parse } from 'yaml'
import { every } from '../support/every.ts'
import { missing, moduleFile, tool } from './tools.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDER = join(ROOT, 'deploy/compose')
const FILES = globSync('*.yaml', { cwd: FOLDER }).sort()
const SECRETS = { HEADGATE_APP_KEY: 'sk-app-0123456789abcdef', POSTGRES_PASSWORD: 'secret', REDIS_PASSWORD: 'secret' }

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly depends_on?: object
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
}

interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, object>>
}

const read = (path: string): unknown => parse(readFileSync(join(FOLDER, path), 'utf8'))
const files = FILES.map((name) => ({ name, file: read(name) as ComposeFile }))

t.test('they are valid by the specification', async (t) => {
  const path = moduleFile('compose', 'schema/compose-spec.json')
  if (path === undefined) return void t.plan(0, missing('the schema of compose files'))
  const schema = Compile(JSON.parse(readFileSync(path, 'utf8')) as TSchema)
  t.same(FILES, ['observability.yaml', 'single.yaml', 'stores.yaml'])
  await every(t, 'every file', (t) => {
    for (const { name, file } of files) {
      t.ok(schema.Check(file), `${name}: ${JSON.stringify(schema.Errors(file)[1]).slice(0, 500)}`)
      const { headgate, ...others } = file.services
      t.notOk(
        schema.Check({ ...file, services: { ...others, headgate: { ...headgate, readonly: true } } }),
        `${name}: a wrong field is found`,
      )
    }
  })
})

t.test('what they mount, need and publish is there, and only on this machine', async (t) => {
  await every(t, 'every service', (t) => {
    for (const { name, file } of files)
      for (const [service, { volumes = [], ports = [], depends_on = [] }] of Object.entries(file.services)) {
        for (const volume of volumes) {
          const [source = ''] = volume.split(':')
          t.ok(source.startsWith('.') ? existsSync(join(FOLDER, source)) : source in file.volumes, `${name}, ${service}: ${volume}`)
        }
        for (const port of ports) t.match(port, /^127\.0\.0\.1:/, `${name}, ${service}`)
        for (const other of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)) t.ok(other in file.services, String(other))
      }
  })
  // The entry point of the image is the program; its folder for data has its user.
  const dockerfile = readFileSync(join(ROOT, 'deploy/container/Dockerfile'), 'utf8')
  const [, words = '[]'] = /^CMD (.*)$/m.exec(dockerfile) ?? []
  const [, folder = ''] = /^WORKDIR (.*)$/m.exec(dockerfile.slice(dockerfile.lastIndexOf('FROM '))) ?? []
  await every(t, 'every gateway', (t) => {
    for (const { name, file } of files) {
      const { headgate } = file.services
      t.match(headgate, { read_only: true, cap_drop: ['ALL'] }, name)
      t.same(headgate?.command?.slice(0, 3), JSON.parse(words), name)
      t.ok(
        headgate?.volumes?.some((volume) => volume.endsWith(`:${folder}`)),
        name,
      )
    }
  })
})

t.test('the gateway accepts the configurations', async (t) => {
  await every(t, 'every file', (t) => {
    for (const { name, file } of files) {
      const mounted = file.services.headgate?.volumes?.find((volume) => volume.endsWith(':/etc/headgate/headgate.yaml:ro'))
      t.equal(mounted, `./config/${name}:/etc/headgate/headgate.yaml:ro`)
      const given = Object.keys(file.services.headgate?.environment ?? {})
      const env = Object.fromEntries(Object.entries(SECRETS).filter(([variable]) => given.includes(variable)))
      const command = ['bin/headgate.js', 'check', join(FOLDER, 'config', name)]
      const checked = spawnSync(process.execPath, command, { cwd: ROOT, env: { PATH: process.env.PATH, ...env }, encoding: 'utf8' })
      t.equal(checked.status, 0, `${name}: ${checked.stdout}${checked.stderr}`)
    }
  })
})

t.test('Prometheus accepts its configuration', async (t) => {
  const promtool = tool('promtool')
  if (promtool === undefined) return void t.plan(0, missing('promtool'))
  const folder = mkdtempSync(join(tmpdir(), 'headgate-prometheus-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  copyFileSync(join(FOLDER, 'config/prometheus.yaml'), join(folder, 'prometheus.yml'))
  copyFileSync(join(ROOT, 'deploy/observability/alerts.yaml'), join(folder, 'alerts.yaml'))
  const { status, stdout, stderr } = spawnSync(promtool, ['check', 'config', join(folder, 'prometheus.yml')], { encoding: 'utf8' })
  t.equal(status, 0, stdout + stderr)
})

t.test('Grafana finds its data source and its dashboards', async (t) => {
  const grafana = (read('observability.yaml') as ComposeFile).services.grafana?.volumes ?? []
  const { providers } = read('config/grafana/dashboards/headgate.yaml') as { providers: { options: { path: string } }[] }
  t.ok(grafana.includes(`../observability:${providers[0]?.options.path}:ro`))
  const { datasources } = read('config/grafana/datasources/prometheus.yaml') as { datasources: { type: string; url: string }[] }
  t.match(datasources, [{ type: 'prometheus', url: 'http://prometheus:9090' }])
})
