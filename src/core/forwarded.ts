/** Methods that other objects forward, by the list of their names. */

/** Names of all methods of a type: one that is missing does not compile. */
export function methodNames<Methods>(names: Readonly<Record<keyof Methods, true>>): readonly (keyof Methods & string)[] {
  return Object.keys(names) as (keyof Methods & string)[]
}

type Method = (...given: unknown[]) => unknown

/** @returns the methods of a target, each called once `first` is done. */
export function forwarded<Methods>(
  target: Methods,
  names: readonly (keyof Methods & string)[],
  first: () => Promise<void> = async () => {},
): Methods {
  const methods = names.map((name) => {
    const call = async (...given: unknown[]): Promise<unknown> => {
      await first()
      return (target[name] as Method).apply(target, given)
    }
    return [name, call] as const
  })
  return Object.fromEntries(methods) as Methods
}
