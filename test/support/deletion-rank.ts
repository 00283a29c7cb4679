/** The order in which examples that delete can run: a part goes before the whole, and a member before its workspace. Above 0. */
export function deletionRank(path: string): number {
  if (/\/(?:previous|\{interval\})$/.test(path)) return 0.1
  return path === '/members/{id}' ? 0.2 : 0.3 + 1 / path.length
}
