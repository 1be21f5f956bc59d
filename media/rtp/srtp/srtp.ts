import { rtpHeaderBytes } from '../packet.js'
import { readUint32 } from '../uint32.js'
import { CounterTransform } from './aes-counter-mode.js'
import { GcmTransform } from './aes-gcm.js'
import { deriveKeys, SRTP_SUITES } from './key-derivation.js'
import type { SrtpKey, SrtpSuiteName } from './keying.js'
import { ReplayWindow } from './replay-window.js'
import { type PacketIndex, RTCP_CLEAR_BYTES, type SrtpTransform } from './transform.js'

/** Results instead of a length: the reason for a refusal. */
export const MALFORMED = -1
export const REPLAYED = -2
export const FORGED = -3

/**
 * Most streams per peer. A peer changes its SSRC a few times per call; the stream unused for longest is
 * dropped.
 */
const MAX_STREAMS = 8
const HALF = 0x8000

/**
 * Protects sent packets with one master key: one stream, packets in order, in place. Buffers have
 * MAX_SRTP_OVERHEAD bytes of room behind the packet.
 */
export class SrtpSender {
  readonly #transform: SrtpTransform
  readonly #index: PacketIndex = { rollOver: 0, sequence: 0 }
  #started = false
  #rtcpIndex = 0

  constructor(suite: SrtpSuiteName, key: SrtpKey) {
    this.#transform = transformOf(suite, key)
  }

  /** Returns the new length. */
  protectRtp(packet: Uint8Array, length: number): number {
    const sequence = ((packet[2] as number) << 8) | (packet[3] as number)
    const index = this.#index
    if (this.#started && sequence < index.sequence) index.rollOver++
    this.#started = true
    index.sequence = sequence
    return this.#transform.sealRtp(
      packet,
      rtpHeaderBytes(packet, length),
      length,
      readUint32(packet, 8),
      index,
    )
  }

  protectRtcp(packet: Uint8Array, length: number): number {
    const index = this.#rtcpIndex
    this.#rtcpIndex = (index + 1) % 2 ** 31
    return this.#transform.sealRtcp(packet, length, readUint32(packet, 4), index)
  }
}

interface SrtpStream {
  readonly ssrc: number
  readonly replay: ReplayWindow
  /** The highest packet index so far (RFC 3711 section 3.3.1). */
  rollOver: number
  highest: number
  lastUsed: number
}

/**
 * Unprotects received packets with one master key, in place: estimates the roll-over counter from the
 * sequence number, checks the replay window, then authenticates. Only after that it decrypts and updates its
 * state. Returns the length of the plain packet, or MALFORMED, REPLAYED or FORGED.
 */
export class SrtpReceiver {
  readonly #transform: SrtpTransform
  readonly #index: PacketIndex = { rollOver: 0, sequence: 0 }
  readonly #streams: SrtpStream[] = []
  readonly #rtcpReplay = new Map<number, ReplayWindow>()
  #count = 0

  constructor(suite: SrtpSuiteName, key: SrtpKey) {
    this.#transform = transformOf(suite, key)
  }

  unprotectRtp(packet: Uint8Array, length: number): number {
    const header = rtpHeaderBytes(packet, length)
    if (header === -1) return MALFORMED
    const ssrc = readUint32(packet, 8)
    const sequence = ((packet[2] as number) << 8) | (packet[3] as number)
    const stream = this.#find(ssrc)
    const rollOver = stream === null ? 0 : guess(stream, sequence)
    if (rollOver < 0) return REPLAYED
    const number = rollOver * 0x10000 + sequence
    if (stream !== null && !stream.replay.isFresh(number)) return REPLAYED
    this.#index.rollOver = rollOver
    this.#index.sequence = sequence
    const opened = this.#transform.openRtp(packet, header, length, ssrc, this.#index)
    if (opened === -1) return FORGED
    this.#remember(stream ?? this.#begin(ssrc), rollOver, sequence, number)
    return opened
  }

  unprotectRtcp(packet: Uint8Array, length: number): number {
    const index = length < RTCP_CLEAR_BYTES ? -1 : this.#transform.rtcpIndex(packet, length)
    if (index === -1) return MALFORMED
    const ssrc = readUint32(packet, 4)
    const replay = this.#rtcpReplay.get(ssrc)
    if (replay !== undefined && !replay.isFresh(index)) return REPLAYED
    const opened = this.#transform.openRtcp(packet, length, ssrc)
    if (opened === -1) return FORGED
    this.#rtcpReplayOf(ssrc, replay).add(index)
    return opened
  }

  #find(ssrc: number): SrtpStream | null {
    for (let i = 0; i < this.#streams.length; i++) {
      const stream = this.#streams[i] as SrtpStream
      if (stream.ssrc === ssrc) return stream
    }
    return null
  }

  #begin(ssrc: number): SrtpStream {
    if (this.#streams.length >= MAX_STREAMS) {
      const oldest = this.#streams.reduce((found, stream) =>
        stream.lastUsed < found.lastUsed ? stream : found,
      )
      this.#streams.splice(this.#streams.indexOf(oldest), 1)
    }
    const stream = { ssrc, replay: new ReplayWindow(), rollOver: 0, highest: -1, lastUsed: 0 }
    this.#streams.push(stream)
    return stream
  }

  #remember(stream: SrtpStream, rollOver: number, sequence: number, number: number): void {
    stream.replay.add(number)
    stream.lastUsed = ++this.#count
    if (number <= stream.rollOver * 0x10000 + stream.highest) return
    stream.rollOver = rollOver
    stream.highest = sequence
  }

  #rtcpReplayOf(ssrc: number, known: ReplayWindow | undefined): ReplayWindow {
    if (known !== undefined) return known
    if (this.#rtcpReplay.size >= MAX_STREAMS) {
      const [oldest] = this.#rtcpReplay.keys()
      if (oldest !== undefined) this.#rtcpReplay.delete(oldest)
    }
    const made = new ReplayWindow()
    this.#rtcpReplay.set(ssrc, made)
    return made
  }
}

/**
 * Estimates the roll-over counter that puts the sequence number closest to the highest one (RFC 3711 appendix
 * A).
 */
function guess({ rollOver, highest }: SrtpStream, sequence: number): number {
  if (highest < HALF) return sequence - highest > HALF ? rollOver - 1 : rollOver
  return highest - HALF > sequence ? rollOver + 1 : rollOver
}

function transformOf(name: SrtpSuiteName, { keyAndSalt, mki }: SrtpKey): SrtpTransform {
  const suite = SRTP_SUITES[name]
  const rtp = deriveKeys(suite, keyAndSalt, 'rtp')
  const rtcp = deriveKeys(suite, keyAndSalt, 'rtcp')
  const identifier = mki ?? new Uint8Array(0)
  return suite.aead === null
    ? new CounterTransform(suite, rtp, rtcp, identifier)
    : new GcmTransform(suite.aead, rtp, rtcp, identifier)
}
