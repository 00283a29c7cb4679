/** The processor that an executable of Linux is for. */

/** `e_machine` of the header (elf(5)), by Node's names of processors. */
const MACHINES: ReadonlyMap<number, string> = new Map([
  [62, 'x64'],
  [183, 'arm64'],
])
const MAGIC = Buffer.from('\x7fELF', 'latin1')

export function isElf(bytes: Buffer): boolean {
  return bytes.length >= 20 && bytes.subarray(0, 4).equals(MAGIC)
}

/** @returns Node's name of the processor, or undefined for any other file. */
export function targetProcessor(bytes: Buffer): string | undefined {
  return isElf(bytes) ? MACHINES.get(bytes.readUInt16LE(18)) : undefined
}
