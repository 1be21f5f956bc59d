/*
 * Ogg pages (RFC 3533) with one Opus stream (RFC 7845). This file handles bytes only, without codec or file
 * access.
 */

const PAGE_HEADER_BYTES = 27
const MAX_SEGMENTS = 255
const FIRST_PAGE = 2
const LAST_PAGE = 4
/** Granule positions count samples at 48 kHz, whatever the input rate. */
const GRANULE_RATE = 48_000
/** Look-ahead of the libopus encoder (6.5 ms), which the decoder skips (RFC 7845 section 4.2). */
export const PRE_SKIP = 312

export interface OggOpusOptions {
  /** Serial number of the stream; any number. */
  readonly serial: number
  readonly channels: 1 | 2
  /** Sample rate of the original audio, for information only. */
  readonly inputRate: number
  readonly vendor: string
  /** Packets per page; about one second of audio by default. */
  readonly packetsPerPage?: number
}

/** Writes an Ogg file of Opus packets: call `head`, then `packet` for each packet, and mark the last one. */
export class OggOpusWriter {
  readonly #options: OggOpusOptions
  readonly #packets: Uint8Array[] = []
  #segments = 0
  #sequence = 0
  /** Samples at 48 kHz up to the end of the last packet, including the pre-skip. */
  #granule = 0

  constructor(options: OggOpusOptions) {
    this.#options = options
  }

  /** Returns the identification and comment headers, one page each (section 3). */
  head(): Uint8Array {
    const { channels, inputRate, vendor } = this.#options
    const id = new Uint8Array(19)
    const view = new DataView(id.buffer)
    id.set(Buffer.from('OpusHead'))
    view.setUint8(8, 1)
    view.setUint8(9, channels)
    view.setUint16(10, PRE_SKIP, true)
    view.setUint32(12, inputRate, true)
    const name = Buffer.from(vendor)
    const comment = new Uint8Array(8 + 4 + name.length + 4)
    comment.set(Buffer.from('OpusTags'))
    new DataView(comment.buffer).setUint32(8, name.length, true)
    comment.set(name, 12)
    const first = this.#page([id], FIRST_PAGE, 0)
    const second = this.#page([comment], 0, 0)
    return Buffer.concat([first, second])
  }

  /**
   * Adds a packet of `samples` samples at 48 kHz. Returns a page when one is full, otherwise null. `last`
   * ends the stream at `end` samples of audio, and the decoder cuts the rest (section 4.4). The bytes are
   * copied when the page is made, so they must not change until then.
   */
  packet(bytes: Uint8Array, samples: number, last: { readonly end: number } | null): Uint8Array | null {
    this.#packets.push(bytes)
    this.#segments += Math.floor(bytes.length / 255) + 1
    this.#granule += samples
    const full =
      this.#packets.length >= (this.#options.packetsPerPage ?? 50) ||
      // The next packet could have any length.
      this.#segments > MAX_SEGMENTS - 6
    if (last === null && !full) return null
    const granule = last === null ? this.#granule : Math.min(this.#granule, PRE_SKIP + last.end)
    const page = this.#page(this.#packets, last === null ? 0 : LAST_PAGE, granule)
    this.#packets.length = 0
    this.#segments = 0
    return page
  }

  #page(packets: readonly Uint8Array[], flags: number, granule: number): Uint8Array {
    const lacing: number[] = []
    let size = 0
    for (const { length } of packets) {
      for (let left = length; ; left -= 255) {
        lacing.push(Math.min(255, left))
        if (left < 255) break
      }
      size += length
    }
    const page = new Uint8Array(PAGE_HEADER_BYTES + lacing.length + size)
    const view = new DataView(page.buffer)
    page.set(Buffer.from('OggS'))
    view.setUint8(5, flags)
    view.setBigUint64(6, BigInt(granule), true)
    view.setUint32(14, this.#options.serial, true)
    view.setUint32(18, this.#sequence++, true)
    view.setUint8(26, lacing.length)
    page.set(lacing, PAGE_HEADER_BYTES)
    let at = PAGE_HEADER_BYTES + lacing.length
    for (const packet of packets) {
      page.set(packet, at)
      at += packet.length
    }
    view.setUint32(22, checksum(page), true)
    return page
  }
}

/** Converts a number of samples at `rate` to samples at 48 kHz. */
export function granules(samples: number, rate: number): number {
  return Math.round((samples * GRANULE_RATE) / rate)
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80000000) !== 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  return crc >>> 0
})

/** Computes the CRC-32 of RFC 3533 section 6: not reflected, initial value 0. */
function checksum(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) ^ (CRC_TABLE[((crc >>> 24) ^ byte) & 0xff] as number)) >>> 0
  return crc
}
