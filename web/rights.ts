/** Rights of the visitor: the operations that the session opens, as the server lists them by the declaration of each. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Session } from './api.ts'

const Visitor = createContext<Session | undefined>(undefined)

/** Puts the session in reach of `useRight` and `useControl`. */
export const RightsProvider = Visitor.Provider

/** True if the session opens an operation, such as `POST /v1/keys`. */
export const opens = (session: Pick<Session, 'actions'> | undefined, operation: string): boolean =>
  session?.actions.includes(operation) ?? false

/** As `opens`, of the visitor. */
export const useRight = (operation: string): boolean => opens(useContext(Visitor), operation)

/** Role of the visitor's key; the least one outside of the frame. */
export const useRole = (): Session['key_role'] => useContext(Visitor)?.key_role ?? 'member'

/** Attributes of a control that calls an operation: without the right it is disabled, and its title states why. */
export function useControl(operation: string, isDisabled = false): { readonly disabled: boolean; readonly title?: string } {
  const isOpen = useRight(operation)
  const role = useRole()
  return isOpen ? { disabled: isDisabled } : { disabled: true, title: `Not open to the role ${role}` }
}
