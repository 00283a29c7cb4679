/** The checksum that Google's services state of secrets and of texts that they encrypt. */

/** CRC-32C (Castagnoli), RFC 3720 section 12.1, bit by bit: these are short and rarely read. */
export function crc32c(bytes: Buffer): number {
  let rest = 0xffff_ffff
  for (const byte of bytes) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0x82f6_3b78 : rest >>> 1
  }
  return (rest ^ 0xffff_ffff) >>> 0
}
