import { sequenceDelta, timestampDelta } from './receive/sequence.js'

/*
 * Tells the keys of a stream of telephone events apart. By RFC 4733 all packets of a key have its timestamp. Some
 * senders move the timestamp with every packet or with every end packet, and some never move it. The sequence number
 * shows which packet is newer, and a new key cannot begin before the end of the one before.
 */

/** A packet of a telephone event; one object is reused for all. */
export interface EventPacket {
  event: number
  ended: boolean
  marker: boolean
  /** Units of the clock rate, as in the packet. */
  duration: number
  timestamp: number
  sequence: number
  ssrc: number
}

/** The newest key of a stream, as its packets described it last. */
export interface LastKey {
  /** False before the first packet. */
  exists: boolean
  event: number
  ssrc: number
  /** Of the newest packet. */
  sequence: number
  timestamp: number
  /** The longest duration in its packets (units of the clock rate). */
  duration: number
  /** End of the key: an end packet, or silence. Null while the key is held. */
  endedBy: 'packet' | 'silence' | null
}

export type KeyRelation =
  /** Another packet of the key that is held. */
  | 'same'
  /** The key goes on behind the greatest duration of one event (RFC 4733 2.5.1.3). */
  | 'segment'
  /** Another packet of the key that has ended. */
  | 'echo'
  /** The first packet of another key. */
  | 'next'
  /** A packet that newer ones have overtaken, or a repetition. */
  | 'old'

/** Maximum duration of an event (units of the clock rate). A longer key continues as a new event directly behind it. */
export const MAX_DURATION = 0xffff
/**
 * Maximum step back (packets) of the sequence number of a packet that others overtook. After a larger one the sender
 * has restarted.
 */
const MAX_OVERTAKEN = 500
/** Maximum time (ms) between two packets of one key. */
const PACKET_MS = 30
/** Maximum step (ms) of a timestamp that moves with every end packet. */
const MAX_STEP_MS = 20
/**
 * Maximum step of the sequence number within a key whose timestamp moves: two packets may be lost in a row. The step
 * is larger when three end packets were lost.
 */
const MAX_AHEAD = 3
/** Maximum time (ms) between two packets of a key that has ended. */
const ECHO_MS = 500

/**
 * Returns the relation of a packet to the newest key of its stream.
 *
 * @param gapMs time since the packet before
 * @param perMs units of the clock rate in a millisecond
 */
export function relationOf(key: LastKey, packet: EventPacket, gapMs: number, perMs: number): KeyRelation {
  if (!key.exists || packet.ssrc !== key.ssrc) return 'next'
  const ahead = sequenceDelta(packet.sequence, key.sequence)
  if (ahead <= 0 && ahead > -MAX_OVERTAKEN) return 'old'
  if (packet.event !== key.event) return 'next'
  const moved = timestampDelta(packet.timestamp, key.timestamp)
  if (key.endedBy === null) return relationToHeld(key, packet, ahead, moved, perMs)
  // A key that ended by silence may have been held all the time.
  if (!packet.ended) {
    const goesOn = key.endedBy === 'silence' && !packet.marker && moved === 0
    return goesOn && packet.duration > key.duration ? 'echo' : 'next'
  }
  const within = moved >= 0 && moved <= key.duration + MAX_STEP_MS * perMs
  return within && gapMs < ECHO_MS ? 'echo' : 'next'
}

function relationToHeld(
  key: LastKey,
  packet: EventPacket,
  ahead: number,
  moved: number,
  perMs: number,
): KeyRelation {
  if (moved === 0) {
    // The duration begins again: the end was lost, and the sender never moves its timestamp. A duration that was more
    // than half full has wrapped around.
    return packet.duration < key.duration && key.duration <= 0x8000 ? 'next' : 'same'
  }
  if (moved === MAX_DURATION && key.duration > 0x8000) return 'segment'
  if (moved < 0) return 'next'
  const steady = ahead > 0 && ahead <= MAX_AHEAD && moved <= ahead * PACKET_MS * perMs
  // There is a pause between two keys.
  return moved <= key.duration || steady ? 'same' : 'next'
}
