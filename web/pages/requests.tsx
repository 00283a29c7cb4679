/** The page "Requests": the search for recorded requests, and one request as a timeline. */
import type { PageProps } from '../routes.ts'
import { OneRequest } from './requests-one.tsx'
import { Search } from './requests-search.tsx'

export default function RequestsPage({ rest: [id], session }: PageProps) {
  return id === undefined ? <Search /> : <OneRequest key={id} id={id} seesFindings={session.actions.includes('guardrails.audit')} />
}
