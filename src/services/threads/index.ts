export { type JobOptions, type PoolOptions, ThreadPool } from './pool.ts'
export { Refusal, serveJobs } from './serve.ts'
export { ThreadError, type ThreadFailure } from './thread.ts'
