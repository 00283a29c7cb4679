/**
 * Holds processes to a part of a core, or gives them precedence over whatever else the machine does. Control groups do it where this
 * process may make them (as root). Elsewhere processes that only compute share the core with the one that is held, and nothing is preferred.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { accessSync, constants, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepTrack } from './processes.ts'

/** Microseconds in which a quota is given anew: short, so that a process that has used it up stands still for a short time only. */
const PERIOD = 4_000

/** The first and the second version of control groups: what sets the precedence, and what a quota (kernel documentation: sched-bwc, cgroup-v2). */
const VERSIONS = [
  {
    root: '/sys/fs/cgroup/cpu',
    precedence: { 'cpu.shares': '20000' },
    quota: (share: number) => ({ 'cpu.cfs_period_us': `${PERIOD}`, 'cpu.cfs_quota_us': `${Math.round(PERIOD * share)}` }),
  },
  {
    root: '/sys/fs/cgroup',
    precedence: { 'cpu.weight': '2000' },
    quota: (share: number) => ({ 'cpu.max': `${Math.round(PERIOD * share)} ${PERIOD}` }),
  },
]

export interface CoreShare {
  /** Settings of the share. */
  readonly how: string
  hold(child: ChildProcess): void
  end(): void
}

/** With all its threads. */
export function pin(child: ChildProcess, cpu: number): void {
  const done = spawnSync('taskset', ['-acp', String(cpu), String(child.pid)])
  if (done.status !== 0) throw new Error(`taskset: ${done.stderr}`)
}

/** @param cpu number of the core. @param share of it, such as 0.25, for all processes that are held; undefined for no bound. */
export function coreShare(cpu: number, share?: number): CoreShare {
  return controlGroup(cpu, share) ?? spinners(cpu, share === undefined ? 0 : Math.round(1 / share) - 1)
}

let groups = 0

function controlGroup(cpu: number, share: number | undefined): CoreShare | undefined {
  for (const { root, precedence, quota } of VERSIONS) {
    const group = join(root, `headgate-bench-${process.pid}-${groups++}`)
    const files = Object.entries({ ...precedence, ...(share === undefined ? {} : quota(share)) })
    const end = (): void => {
      try {
        const left = readFileSync(join(group, 'cgroup.procs'), 'latin1').split('\n').filter(Boolean)
        for (const pid of left) writeFileSync(join(root, 'cgroup.procs'), pid)
        rmdirSync(group)
      } catch {
        // It was not made, or has been removed.
      }
    }
    try {
      mkdirSync(group)
      for (const [name] of files) accessSync(join(group, name), constants.W_OK)
      for (const [name, text] of files) writeFileSync(join(group, name), text)
    } catch {
      end()
      continue
    }
    process.once('exit', end)
    return {
      how: share === undefined ? 'precedence' : `a quota of ${share} of a core`,
      hold(child) {
        pin(child, cpu)
        writeFileSync(join(group, 'cgroup.procs'), String(child.pid))
      },
      end,
    }
  }
  return undefined
}

function spinners(cpu: number, count: number): CoreShare {
  const running = Array.from({ length: count }, () => keepTrack(spawn(process.execPath, ['-e', 'for (;;);'])))
  for (const child of running) pin(child, cpu)
  return {
    how: `${count} processes that compute on its core`,
    hold: (child) => pin(child, cpu),
    end() {
      for (const child of running) child.kill('SIGKILL')
    },
  }
}
