/** `headgate docs`: the reference as files that link to each other and to nothing else. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import t from 'tap'
import { docs } from '../../src/cli/docs.ts'

t.test('writes pages whose links are files beside them', async (t) => {
  const folder = t.testdir()
  const lines: string[] = []
  const streams = { out: (line: string) => lines.push(line), error: (line: string) => lines.push(line) }
  const config = join(folder, 'headgate.yaml')
  writeFileSync(
    config,
    'brand: { word: acme }\nproviders: { sim: { dialect: sim } }\nmodels: { sim/echo: { endpoints: [{ provider: sim, model: echo }] } }\n',
  )
  const out = join(folder, 'site')
  t.equal(await docs(out, config, streams, {}), 0, lines.join('\n'))
  t.equal(await docs(out, config, streams, {}), 0, 'again into the same folder')
  const files = readdirSync(out)
  t.match(lines[0], `${files.length} files`)
  for (const name of files.filter((each) => each.endsWith('.html'))) {
    const { document } = parseHTML(readFileSync(join(out, name), 'utf8'))
    t.match(document.title, 'acme API')
    for (const element of document.querySelectorAll('[href], [src]')) {
      const [target] = (element.getAttribute('href') ?? element.getAttribute('src') ?? '').split('#')
      t.ok(target === '' || files.includes(target), `${name}: ${target}`)
    }
  }
  t.match(JSON.parse(readFileSync(join(out, 'openapi.json'), 'utf8')), { info: { title: 'acme API' } })
})

t.test('a broken configuration is exit code 1, with its place', async (t) => {
  const config = join(t.testdir({ 'broken.yaml': 'providers: 7\n' }), 'broken.yaml')
  const lines: string[] = []
  const streams = { out: (line: string) => lines.push(line), error: (line: string) => lines.push(line) }
  t.equal(await docs(join(config, '..', 'site'), config, streams, {}), 1)
  t.match(lines.join('\n'), /broken\.yaml:1:12/)
})
