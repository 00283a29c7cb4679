/** Operations that are not generations, by method and path. */
import type { Operations } from './gateway.ts'
export const operations = (_: unknown): Operations => () => undefined
