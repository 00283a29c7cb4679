import { fileURLToPath } from 'node:url'

/** The configuration of a command that names none. */
export const SHIPPED_CONFIG = fileURLToPath(new URL('../../config/headgate.yaml', import.meta.url))
