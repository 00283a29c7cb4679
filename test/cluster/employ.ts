/** A worker of an owner's desk, within one process. */
import { type Answers, Line } from '../../src/cluster/ipc-line.ts'
import type { OwnerOffer, WorkerOffer } from '../../src/cluster/messages.ts'
import type { OwnerDesk, Reception } from '../../src/cluster/owner-desk.ts'
import { RemoteRecord } from '../../src/cluster/remote-record.ts'
import { RemoteCounters, RemoteNews } from '../../src/cluster/remote-shared.ts'
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
  news: RemoteNews
  line: Line<OwnerOffer, WorkerOffer>
  cable: Cable
  nodes: ReadonlySet<string>
  idle: () => Promise<void>
}

export function employ(desk: OwnerDesk, clock: Clock = new FakeClock()): Employee {
  const joined = cable()
  const answers: Answers<WorkerOffer> = {
    urge: () => {
      record.urge()
      return null
    },
    news: (topic, message) => {
      news.arrived(topic, message)
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
  const record = new RemoteRecord(line)
  const news = new RemoteNews(line)
  const station = desk.open(joined.owner, RECEPTION)
  return { record, news, counters: new RemoteCounters(line, clock), line, cable: joined, nodes: station.nodes, idle: station.idle }
}
