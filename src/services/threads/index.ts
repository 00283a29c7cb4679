export { type JobOptions, type PoolOptions, ThreadPool } from './pool.ts'
export { Refusal, serveJobs } from './serve.ts'
export { type ThreadFailure, ThreadTrouble } from './trouble.ts'
