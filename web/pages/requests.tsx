/** The page "Requests": the search for recorded requests, one request as a timeline, and the requests that the gateway refused. */
import type { PageProps } from '../page.ts'
import { opens } from '../rights.ts'
import { OneRequest } from './requests-one.tsx'
import { Refusals } from './requests-refusals.tsx'
import { Search } from './requests-search.tsx'

export default function RequestsPage({ rest: [id], session }: PageProps) {
  if (id === 'refused') return <Refusals />
  return id === undefined ? <Search /> : <OneRequest key={id} id={id} seesFindings={opens(session, 'POST /guardrails/command')} />
}
