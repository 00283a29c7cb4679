/** Figures that several pages state: each has one source, and no page may contradict it. */
import t from 'tap'
import { OTHER_GATEWAYS } from '../../src/cli/other-gateways/gateways.ts'
import { presetNames } from '../../src/config/provider-presets.ts'
import { admin, server } from '../../src/config/schema/server.ts'
import { stated } from '../delivery/sizes.ts'
import { paths, read } from '../repository/source-tree.ts'
import { every } from '../support/every.ts'

/** Decisions, benchmarks and behaviour of others tell of one day. */
const PAGES = [...paths('docs/**/*.md'), 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'llms.txt'].filter(
  (path) => !/^docs\/(?:decisions\/|benchmarks|behaviour\/)/.test(path),
)
const WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve']

interface Figure {
  readonly what: string
  readonly value: number
  /** Pattern of the pages, with the figure as the first group. */
  readonly utterance: readonly RegExp[]
}

const sizes = stated()
const FIGURES: readonly Figure[] = [
  {
    what: 'presets',
    value: presetNames().length,
    utterance: [/\b(\d+) presets\b/g, /\bpresets (?:of|for) (\d+)\b/g, /\b(\d{2,3}) providers\b/g],
  },
  { what: 'gateways that import reads', value: OTHER_GATEWAYS.length, utterance: [/\b(\w+) other gateways\]/g] },
  { what: 'MB of an installed package', value: sizes.installed, utterance: [/\b(\d+) MB in all\b/g] },
  { what: 'MB of its Node', value: sizes.installed_node, utterance: [/\bNode of (\d+) MB\b/g] },
  { what: 'MB of headers', value: sizes.installed_headers, utterance: [/\b(\d+) MB are headers\b/g] },
  { what: 'MB without Node', value: sizes.installed_without_node, utterance: [/\bthen it is (\d+) MB\b/g] },
  { what: 'MB of a clone', value: sizes.clone, utterance: [/\bpackages with (\d+) MB of files\b/g] },
  { what: 'MB of the Node of a clone', value: sizes.clone_node, utterance: [/\bof which Node is (\d+) MB\b/g] },
  { what: 'MB of the single file', value: sizes.single_file, utterance: [/\bone file of (\d+) MB\b/g] },
  { what: 'MB of the stripped file', value: sizes.single_file_stripped, utterance: [/\bstrip` of binutils it is (\d+) MB\b/g] },
]

const writtenNumber = (text: string): number => (WORDS.includes(text.toLowerCase()) ? WORDS.indexOf(text.toLowerCase()) : Number(text))

t.test('a figure that is counted or measured is the same on each page', async (t) => {
  for (const { what, value, utterance } of FIGURES) {
    let found = 0
    await every(t, what, (t) => {
      for (const page of PAGES)
        for (const [words, figure = ''] of utterance.flatMap((form) => [...read(page).matchAll(form)])) {
          if (Number.isNaN(writtenNumber(figure))) continue
          found++
          t.equal(writtenNumber(figure), value, `${page}: ${words}`)
        }
    })
    t.ok(found > 0, `${what} stands on a page`)
  }
})

t.test('the install page and the README state no size of their own', async (t) => {
  const known = new Set<number>(Object.values(sizes))
  const measured = /<!-- measured:start -->[\s\S]*?<!-- measured:end -->/
  await every(t, 'sizes', (t) => {
    for (const page of ['README.md', 'docs/install.md'])
      for (const [words, figure] of read(page)
        .replace(measured, '')
        .matchAll(/\b(\d+) (?:MB|MiB)\b/g))
        t.ok(known.has(Number(figure)), `${page}: ${words}`)
  })
})

t.test('idle memory is the measured one', async (t) => {
  const forms = /\b([\d.]+) MB when idle\b|Memory, idle +\| ([\d.]+) MB/g
  const found = PAGES.flatMap((page) =>
    [...read(page).matchAll(forms)].map(([, first, second]) => ({ page, figure: Math.round(Number(first ?? second)) })),
  )
  t.ok(found.length > 1)
  t.equal(new Set(found.map(({ figure }) => figure)).size, 1, JSON.stringify(found))
})

/** Of other programs, as they listen by default, or of examples that say what listens there. */
const OTHER_PORTS: ReadonlySet<number> = new Set([1234, 3000, 4318, 5002, 8000, 8787, 8888, 9000, 11434, 30000])
/** LiteLLM's own, on pages about it. */
const LITELLM = { port: 4000, pages: /litellm/ }

t.test('a gateway in an example listens where one does by default', async (t) => {
  const own = new Set([server, admin].map(({ properties: { port } }) => (port as { default?: unknown }).default))
  await every(t, 'ports', (t) => {
    for (const page of PAGES)
      for (const [address, found] of read(page).matchAll(/(?:127\.0\.0\.1|localhost|0\.0\.0\.0|\[::1\]):(\d{2,5})\b/g)) {
        const number = Number(found)
        t.ok(own.has(number) || OTHER_PORTS.has(number) || (number === LITELLM.port && LITELLM.pages.test(page)), `${page}: ${address}`)
      }
  })
})
