import t from 'tap'
import {
  type EventPacket,
  type KeyRelation,
  type LastKey,
  MAX_DURATION,
  relationOf,
} from './telephone-event-key.js'

/** The newest key: 5, held for 100 ms, packet 50 of source 1. */
const KEY: LastKey = {
  exists: true,
  event: 5,
  ssrc: 1,
  sequence: 50,
  timestamp: 8000,
  duration: 800,
  endedBy: null,
}
const PACKET: EventPacket = {
  event: 5,
  ended: false,
  marker: false,
  duration: 960,
  timestamp: 8000,
  sequence: 51,
  ssrc: 1,
}
const ended: Partial<LastKey> = { endedBy: 'packet' }
const silent: Partial<LastKey> = { endedBy: 'silence' }

type Row = readonly [
  what: string,
  key: Partial<LastKey>,
  packet: Partial<EventPacket>,
  right: KeyRelation,
  gapMs?: number,
]

const ROWS: readonly Row[] = [
  ['nothing before', { exists: false }, {}, 'next'],
  ['another source', {}, { ssrc: 2 }, 'next'],
  ['another key', {}, { event: 6 }, 'next'],
  ['another key with the same timestamp', ended, { event: 6 }, 'next'],
  ['the same packet again', {}, { sequence: 50 }, 'old'],
  ['an overtaken packet', {}, { sequence: 48, duration: 640 }, 'old'],
  ['an overtaken packet of another key', {}, { sequence: 40, event: 3, timestamp: 4000 }, 'old'],
  ['an overtaken end packet over the wrap', { sequence: 2 }, { sequence: 65_534, ended: true }, 'old'],
  ['numbers that begin again', { sequence: 30_000 }, { sequence: 1, timestamp: 20_000 }, 'next'],
  // The key is held.
  ['its next packet', {}, {}, 'same'],
  ['its end', {}, { ended: true }, 'same'],
  ['a marker on each packet', {}, { marker: true }, 'same'],
  ['a duration that stands still', {}, { duration: 800 }, 'same'],
  ['a packet behind many lost ones', {}, { sequence: 60, duration: 2400 }, 'same'],
  ['a timestamp that moves by a packet', { duration: 0 }, { timestamp: 8160, duration: 160 }, 'same'],
  ['that moves by a packet of 30 ms', { duration: 0 }, { timestamp: 8240, duration: 240 }, 'same'],
  [
    'that moves over two lost packets',
    { duration: 160 },
    { timestamp: 8480, sequence: 53, duration: 160 },
    'same',
  ],
  ['that moves backwards', {}, { timestamp: 7840 }, 'next'],
  ['the same key after a pause, its end lost', {}, { timestamp: 9200, sequence: 58, duration: 160 }, 'next'],
  ['the same key on the same timestamp, its end lost', {}, { sequence: 58, duration: 160 }, 'next'],
  ['a duration that wraps around', { duration: 0xff00 }, { duration: 10 }, 'same'],
  [
    'a segment behind the greatest duration',
    { duration: 0xffff },
    { timestamp: 8000 + MAX_DURATION, duration: 160 },
    'segment',
  ],
  [
    'that distance behind a short key',
    { duration: 800 },
    { timestamp: 8000 + MAX_DURATION, duration: 160 },
    'next',
  ],
  // Its end has arrived.
  ['the end again', ended, { ended: true, duration: 800 }, 'echo'],
  ['the end again with a later timestamp', ended, { ended: true, timestamp: 8160, duration: 800 }, 'echo'],
  ['the end again behind a short key', { ...ended, duration: 160 }, { ended: true, timestamp: 8320 }, 'echo'],
  ['the end of the next key alone', ended, { ended: true, timestamp: 8800 + 320, sequence: 55 }, 'next'],
  ['the end of a key much later on the same timestamp', ended, { ended: true, sequence: 90 }, 'next', 500],
  ['the beginning of a key on the same timestamp', ended, { duration: 160, sequence: 58 }, 'next'],
  [
    'the beginning of the next key',
    ended,
    { duration: 160, timestamp: 10_000, sequence: 58, marker: true },
    'next',
  ],
  ['the end with a timestamp that went back', ended, { ended: true, timestamp: 100 }, 'next'],
  // Its packets stopped.
  ['the end arrives late', silent, { ended: true }, 'echo', 250],
  ['it was held all the time', silent, { duration: 2400 }, 'echo', 250],
  ['a key on the same timestamp', silent, { duration: 160 }, 'next', 250],
  ['a marked key on the same timestamp', silent, { duration: 900, marker: true }, 'next', 250],
  ['another timestamp', silent, { duration: 160, timestamp: 11_000 }, 'next', 250],
]

for (const [what, key, packet, right, gapMs = 20] of ROWS) {
  t.test(`${what}: ${right}`, async (t) => {
    t.equal(relationOf({ ...KEY, ...key }, { ...PACKET, ...packet }, gapMs, 8), right)
  })
}
