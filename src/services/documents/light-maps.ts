/**
 * The parser of pages keeps facts of each node in weak maps, most of them empty lists of event listeners. The garbage
 * collector walks weak maps entry by entry, again and again: for a large page that takes ten times as long as the rest.
 */

class LightMap {
  private readonly place = Symbol('kept')

  get(holder: Record<symbol, unknown>): unknown {
    return holder[this.place]
  }

  has(holder: Record<symbol, unknown>): boolean {
    return holder[this.place] !== undefined
  }

  set(holder: Record<symbol, unknown>, value: unknown): this {
    // Empty maps of listeners are dropped: a page that is only read has none.
    const empty = value instanceof Map && value.constructor === Map && value.size === 0
    if (!empty) Object.defineProperty(holder, this.place, { value, writable: true, configurable: true })
    return this
  }

  delete(holder: Record<symbol, unknown>): boolean {
    return Reflect.deleteProperty(holder, this.place)
  }
}

/** Loads a module whose weak maps keep their facts on the objects themselves; such objects must not be frozen. */
export async function withLightMaps<M>(load: () => Promise<M>): Promise<M> {
  const { WeakMap: usual } = globalThis
  Object.assign(globalThis, { WeakMap: LightMap })
  try {
    return await load()
  } finally {
    Object.assign(globalThis, { WeakMap: usual })
  }
}
