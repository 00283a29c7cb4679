/** The page "Keys and budgets". */
import { EmptyNote } from '../components/notes.tsx'
import { PageHead } from '../components/values.tsx'

export default function Page() {
  return (
    <>
      <PageHead title="Keys and budgets" />
      <EmptyNote title="This page is not there yet" />
    </>
  )
}
