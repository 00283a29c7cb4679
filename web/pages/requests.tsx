/** The page "Requests". */
import { EmptyNote } from '../components/notes.tsx'
import { PageHead } from '../components/values.tsx'

export default function Page() {
  return (
    <>
      <PageHead title="Requests" />
      <EmptyNote title="This page is not there yet" />
    </>
  )
}
