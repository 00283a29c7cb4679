/** A worker of an owner, within one process. */
import { type Answers, Line } from '../../src/cluster/ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from '../../src/cluster/messages.ts'
import type { OwnerServer, Reception } from '../../src/cluster/owner-server.ts'
import { type RemoteRecord, remoteRecord } from '../../src/cluster/remote-record.ts'
import { RemoteCounters, RemotePubSub } from '../../src/cluster/remote-shared.ts'
import type { Clock } from '../../src/core/clock.ts'
import { FakeClock } from '../support/clock.ts'
import { type Cable, cable } from './channel.ts'

const RECEPTION: Reception = {
  welcome: () => ({ slot: 1, count: 1, config: '', drawn: { last: 0 }, secret: 's' }),
  serving: () => null,
  failed: () => null,
  status: () => [],
}

const neverTold = (): never => {
  throw new Error('nobody asks this')
}

/** A worker's side. */
export interface Employee {
  record: RemoteRecord
  counters: RemoteCounters
  pubSub: RemotePubSub
  line: Line<OwnerOffer, WorkerOffer>
  cable: Cable
  nodes: ReadonlySet<string>
  idle: () => Promise<void>
}

export function employ(ownerServer: OwnerServer, clock: Clock = new FakeClock()): Employee {
  const joined = cable()
  const answers: Answers<WorkerOffer> = {
    wake: () => {
      record.wake()
      return null
    },
    publish: (topic, message) => {
      pubSub.receive(topic, message)
      return null
    },
    metrics: neverTold,
    notReady: neverTold,
    stopWork: neverTold,
    status: neverTold,
    reload: neverTold,
    drain: neverTold,
    hurry: neverTold,
  }
  const line = new Line<OwnerOffer, WorkerOffer>(joined.worker, answers, neverTold)
  const record = remoteRecord(line)
  const pubSub = new RemotePubSub(line)
  const workerHandle = ownerServer.open(joined.owner, RECEPTION)
  return {
    record,
    pubSub,
    counters: new RemoteCounters(line, clock),
    line,
    cable: joined,
    nodes: workerHandle.nodes,
    idle: workerHandle.idle,
  }
}
