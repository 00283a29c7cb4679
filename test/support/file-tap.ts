/** Replacement of `tap` for a test file in a process with several: the same, with a root test of its own (`one-process.ts`). */
import { rootTest } from './one-process.ts'

export * from 'tap'

const t = rootTest(import.meta.url)
export const test = t.test
export { t }
export default t
