/** The form of a page of the control room: a component that is given its visitor and its part of the address. */
import type { ComponentType } from 'preact'
import type { Session } from './api.ts'

export interface PageProps {
  readonly session: Session
  /** Parts of the address behind the page's own name, such as the id of a request. */
  readonly rest: readonly string[]
}

export type Page = ComponentType<PageProps>
