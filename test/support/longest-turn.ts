/** Measures for how long a work holds the event loop. */

/** @returns the result, and the longest turn of the event loop meanwhile in milliseconds of processor time of this thread: other programs of the machine do not count. */
export async function watchTurns<T>(work: () => Promise<T>): Promise<{ result: T; longest: number }> {
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  }
  let [longest, last, running] = [0, spent(), true]
  const look = (): void => {
    const now = spent()
    longest = Math.max(longest, now - last)
    last = now
    if (running) setImmediate(look)
  }
  setImmediate(look)
  try {
    const result = await work()
    look()
    return { result, longest }
  } finally {
    running = false
  }
}
