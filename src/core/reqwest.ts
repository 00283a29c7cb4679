/** Rust's HTTP library, on which most clients in Rust stand: by itself it names neither itself nor its program. */
import type { IncomingHttpHeaders } from 'node:http'

/** True for requests with the headers of reqwest's defaults (0.12 and 0.13: no `User-Agent`, `Accept` of anything), which no other library in use has. */
export const isReqwest = ({ 'user-agent': agent, accept }: IncomingHttpHeaders): boolean => agent === undefined && accept === '*/*'
