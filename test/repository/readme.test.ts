import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { headingAnchors } from '../../scripts/heading-anchors.ts'
import { every } from '../support/every.ts'
import { paths, ROOT, read } from './source-tree.ts'

interface CodeBlock {
  language: string
  code: string
}

const readme = read('README.md')

function codeBlocks(text: string): CodeBlock[] {
  return [...text.matchAll(/^```([a-z]*)\n([\s\S]*?)^```$/gm)].map(([, language, code]) => ({ language, code: code.trim() }))
}

const scripts = (JSON.parse(read('package.json')) as { scripts: Record<string, string> }).scripts

t.test('three sentences, then exactly two command blocks', async (t) => {
  const [serve, test, ...rest] = codeBlocks(readme)
  t.same(serve, { language: 'sh', code: 'npm ci && npm start' })
  t.same(test, { language: 'sh', code: 'npm ci && npm test' })
  t.notMatch(rest[0]?.code, /^npm /, 'the third block is something else')
  const opening = readme.slice(readme.indexOf('\n'), readme.indexOf('```')).trim()
  const prose = opening.split('\n\n')[0].replaceAll('\n', ' ')
  t.equal(prose.match(/[.!?](?=\s|$)/g)?.length, 3, prose)
})

t.test('every script that the documents name exists', async (t) => {
  const named = new Set<string>()
  for (const path of ['README.md', 'CONTRIBUTING.md', ...paths('docs/**/*.md', '.ci/run')])
    for (const [, name] of read(path).matchAll(/\bnpm (?:run )?(start|test(?::[a-z-]+)?|check|bench|format|generate|build)\b/g))
      named.add(name)
  t.ok(named.size >= 4, 'scripts are named')
  await every(t, 'every name', async (t) => {
    for (const name of named) t.ok(scripts[name], `npm run ${name}`)
  })
})

t.test('every file that the documents link to exists', async (t) => {
  await every(t, 'every path', async (t) => {
    for (const path of ['README.md', 'CONTRIBUTING.md', ...paths('docs/**/*.md', 'examples/**/*.md')])
      for (const [, target] of read(path).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)[^)]*\)/g))
        t.ok(existsSync(join(ROOT, path, '..', target)), `${path} → ${target}`)
  })
})

t.test('every heading that the documents link to exists', async (t) => {
  let count = 0
  for (const path of ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...paths('docs/**/*.md', 'examples/**/*.md')])
    for (const [, target, anchor] of read(path).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)) {
      count++
      const page = target === '' ? path : join(path, '..', target)
      if (page.endsWith('.md')) t.ok(headingAnchors(read(page)).includes(anchor), `${path} → ${target}#${anchor}`)
    }
  t.ok(count > 100, `${count} links were found`)
})

t.test('nothing tells of a machine or of how the project was written', async (t) => {
  const words = new RegExp(['/wo' + 'rk/', '/ho' + 'me/', '/ro' + 'ot/', 'localhost:4' + '873', 'registry\\.np' + 'mjs'].join('|'))
  await every(t, 'every path', async (t) => {
    for (const path of ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', '.ci/run', ...paths('docs/**/*.md', 'examples/**/*.md')])
      t.notMatch(read(path), words, path)
  })
})
