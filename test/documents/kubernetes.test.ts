/**
 * docs/kubernetes.md as far as it goes without helm: its values are values of the chart, the configurations in them load, and what its
 * commands name is there. With the tools `test/delivery/pages.test.ts` renders the chart and checks every object by its schema.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Compile } from 'typebox/schema'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { programVersion } from '../../src/app/version.ts'
import { check } from '../../src/cli/check.ts'
import { isObject, type JsonObject } from '../../src/core/json.ts'
import { paths, ROOT, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'
import { printed } from '../support/printed.ts'

const CHART = 'deploy/helm/headgate'
const page = read('docs/kubernetes.md')
const values = [...page.matchAll(/^```yaml values\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
const schema = JSON.parse(read(`${CHART}/values.schema.json`)) as JsonObject

/** Text with a value for each variable and file that a configuration refers to. */
const filled = (text: string): string => text.replaceAll(/\$\{[^}]*\}/g, 'sk-in-place-of-a-secret-0123456789')

t.test('values are values of the chart, and their configurations load', async (t) => {
  const folder = t.testdir()
  const chart = Compile(schema)
  t.notOk(chart.Check({ replica: 2 }), 'a word that the chart does not know')
  const given = [
    ...values.map((text, at) => [`values ${at + 1}`, text] as const),
    ...paths(`${CHART}/ci/*.yaml`).map((path) => [path, read(path)] as const),
  ]
  t.ok(values.length >= 3)
  for (const [name, text] of given) {
    const written = parse(text) as JsonObject
    t.ok(chart.Check(written), `${name}: ${JSON.stringify(chart.Errors(written)[1])}`)
    // Those of the chart's own tests name files that only a cluster has.
    if (name.startsWith(CHART) || !isObject(written.config)) continue
    const file = join(folder, 'headgate.yaml')
    writeFileSync(file, filled(stringify(written.config)))
    t.match(await printed((streams) => check(file, {}, streams)), { code: 0 }, name)
  }
})

t.test('each file that a command names is there, and manifests have the version of the program', async (t) => {
  const named = new Set([...page.matchAll(/\bdeploy\/[\w./-]*\w/g)].map(([path]) => path))
  t.ok(named.size > 2)
  for (const path of named) t.ok(existsSync(join(ROOT, path)), path)
  await every(t, 'manifests', (t) => {
    for (const path of paths('deploy/kubernetes/*.yaml')) {
      const objects = parseAllDocuments(read(path))
      if (!Array.isArray(objects)) throw new TypeError(path)
      for (const each of objects) {
        t.same(each.errors, [], path)
        const object = each.toJS() as JsonObject | null
        if (object !== null) t.match(object, { apiVersion: String, kind: String, metadata: { name: String } }, path)
      }
      for (const [, tag] of read(path).matchAll(/image: headgate:(\S+)/g)) t.equal(tag, programVersion(), path)
    }
  })
  t.match(parse(read(`${CHART}/Chart.yaml`)), { version: programVersion(), appVersion: programVersion() })
  for (const [, tag] of page.matchAll(/headgate:(\d+\.\d+\.\d+)/g)) t.equal(tag, programVersion(), 'the page')
})
