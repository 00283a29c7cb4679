/** The main program of the single file, as `bin/headgate.js` is that of the npm package. */
import { executionAsyncResource } from 'node:async_hooks'
import { run } from '../../src/cli/main.ts'

// For the same reason as in bin/headgate.js.
process.nextTick(() => Object.assign(process, { [Symbol('tick')]: executionAsyncResource() }))
await run(process.argv.slice(2))
