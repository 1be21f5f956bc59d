/*
 * Ogg pages (RFC 3533) of one Opus stream (RFC 7845). Bytes only: no codec, no file.
 */

const PAGE_HEADER_BYTES = 27
const MAX_SEGMENTS = 255
const FIRST_PAGE = 2
const LAST_PAGE = 4
/** Granule positions count samples of 48 kHz, whatever was encoded. */
const GRANULE_RATE = 48_000
/** What libopus' encoder looks ahead, 6.5 ms: the decoder leaves it out (RFC 7845 section 4.2). */
export const PRE_SKIP = 312

export interface OggOpusOptions {
  /** Names the stream in the file; any number. */
  readonly serial: number
  readonly channels: 1 | 2
  /** Of the sound before it was encoded; a remark for players. */
  readonly inputRate: number
  readonly vendor: string
  /** About a second of sound on each page. */
  readonly packetsPerPage?: number
}

/** Makes an Ogg file of Opus packets: call `head`, then `packet` for each, the last one marked. */
export class OggOpusWriter {
  readonly #options: OggOpusOptions
  readonly #packets: Uint8Array[] = []
  #segments = 0
  #sequence = 0
  /** Samples of 48 kHz up to the end of the last packet, the skipped beginning included. */
  #granule = 0

  constructor(options: OggOpusOptions) {
    this.#options = options
  }

  /** Identification and comment header, a page each (section 3). */
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
   * Adds a packet of `samples` samples of 48 kHz; returns a page when one is full, else null. `last`
   * ends the stream at `end` samples of sound: what the decoder gives beyond it is cut off
   * (section 4.4). The bytes are copied when the page is made: leave them alone until then.
   */
  packet(bytes: Uint8Array, samples: number, last: { readonly end: number } | null): Uint8Array | null {
    this.#packets.push(bytes)
    this.#segments += Math.floor(bytes.length / 255) + 1
    this.#granule += samples
    const full =
      this.#packets.length >= (this.#options.packetsPerPage ?? 50) ||
      // The next packet could be as long as any.
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

/** Samples of 48 kHz in so many of another rate. */
export function granules(samples: number, rate: number): number {
  return Math.round((samples * GRANULE_RATE) / rate)
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = (crc & 0x80000000) !== 0 ? (crc << 1) ^ 0x04c11db7 : crc << 1
  return crc >>> 0
})

/** CRC-32 of RFC 3533 section 6: not reflected, from 0. */
function checksum(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) ^ (CRC_TABLE[((crc >>> 24) ^ byte) & 0xff] as number)) >>> 0
  return crc
}
