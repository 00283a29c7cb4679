/** `headgate docs`: the reference as files that link to each other and to nothing else. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseHTML } from 'linkedom'
import t from 'tap'
import { docs } from '../../src/cli/docs.ts'
import { every } from '../support/every.ts'
import { printed } from '../support/printed.ts'
import { simulated } from '../support/simulated.ts'

t.test('writes pages whose links are files beside them', async (t) => {
  const folder = t.testdir()
  const config = join(folder, 'headgate.yaml')
  writeFileSync(config, `brand: { word: acme }\n${simulated()}`)
  const out = join(folder, 'site')
  const first = await printed((streams) => docs(out, config, streams, {}))
  t.match(first, { code: 0, error: '' })
  t.same(await printed((streams) => docs(out, config, streams, {})), first, 'again into the same folder')
  const files = readdirSync(out)
  t.match(first.out, `${files.length} files`)
  await every(t, 'every page has its title, and every link a file', (t) => {
    for (const name of files.filter((each) => each.endsWith('.html'))) {
      const { document } = parseHTML(readFileSync(join(out, name), 'utf8'))
      t.match(document.title, 'acme API')
      for (const element of document.querySelectorAll('[href], [src]')) {
        const [target] = (element.getAttribute('href') ?? element.getAttribute('src') ?? '').split('#')
        t.ok(target === '' || files.includes(target), `${name}: ${target}`)
      }
    }
  })
  t.match(JSON.parse(readFileSync(join(out, 'openapi.json'), 'utf8')), { info: { title: 'acme API' } })
})

t.test('a broken configuration is exit code 1, with its place', async (t) => {
  const config = join(t.testdir({ 'broken.yaml': 'providers: 7\n' }), 'broken.yaml')
  const shown = await printed((streams) => docs(join(config, '..', 'site'), config, streams, {}))
  t.match(shown, { code: 1, error: /broken\.yaml:1:12/ })
})
