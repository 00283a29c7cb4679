/** Classes of advisory locks: the first number is the program's, the second what is locked. */
export const LOCKS = { program: 0x48474154, migration: 1, keys: 2, retention: 3, rolling: 4, watermark: 5, events: 6, schema: 7 } as const
