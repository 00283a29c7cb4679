/** The page "Models": the catalogue, one model with its endpoints, some side by side, and the playground. */
import { PageHead } from '../components/values.tsx'
import type { PageProps } from '../page.ts'
import { pathTo } from '../router.ts'
import { Catalogue } from './models-catalogue.tsx'
import { Compare } from './models-compare.tsx'
import { OneModel } from './models-one.tsx'
import { Playground } from './models-playground.tsx'

const PARTS: readonly (readonly [name: string, title: string])[] = [
  ['', 'Catalogue'],
  ['compare', 'Compare'],
  ['playground', 'Playground'],
]

export default function ModelsPage({ session, rest }: PageProps) {
  const [first = ''] = rest
  return (
    <>
      <PageHead title="Models">What callers may use, what it costs, how fast it is, and a place to try it.</PageHead>
      <nav class="tabs" aria-label="Parts of the page">
        {PARTS.map(([name, title]) => (
          <a
            key={name}
            class="button small"
            href={pathTo(name === '' ? ['models'] : ['models', name])}
            aria-current={name === first ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {first === '' ? (
        <Catalogue />
      ) : rest.length > 1 ? (
        <OneModel key={rest.join('/')} slug={rest.join('/')} />
      ) : first === 'compare' ? (
        <Compare />
      ) : first === 'playground' ? (
        <Playground session={session} />
      ) : (
        <OneModel key={first} slug={first} />
      )}
    </>
  )
}
