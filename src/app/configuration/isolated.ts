/**
 * Closes the ways out of this thread, before anything of the program is loaded into it: what a submitted configuration says is
 * looked at here, and whatever it says, nothing is run, called or listened to. The thread has no environment variables either.
 */
import childProcess from 'node:child_process'
import dgram from 'node:dgram'
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import net from 'node:net'

function refuse(): never {
  throw new Error('not available while a submitted configuration is looked at')
}

for (const name of ['exec', 'execFile', 'execFileSync', 'execSync', 'fork', 'spawn', 'spawnSync'] as const)
  Object.assign(childProcess, { [name]: refuse })
for (const name of ['lookup', 'resolve', 'resolve4', 'resolve6'] as const) Object.assign(dns, { [name]: refuse })
Object.assign(dns.promises, { lookup: refuse, resolve: refuse, resolve4: refuse, resolve6: refuse })
Object.assign(dgram, { createSocket: refuse })
Object.assign(net.Socket.prototype, { connect: refuse })
Object.assign(net.Server.prototype, { listen: refuse })
syncBuiltinESMExports()
