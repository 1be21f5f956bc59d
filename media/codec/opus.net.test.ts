import t from 'tap'
import { bytesOf, ffmpeg, ffmpegInstalled, samplesOf } from '../../fixtures/audio/ffmpeg.js'
import { readOggOpus, writeOggOpus } from '../../fixtures/audio/ogg.js'
import { levelDbfs, tone, toneLevel } from '../../fixtures/audio/tones.js'
import { seeded } from '../../fixtures/host/random.js'
import type { CodecParameters, Ptime } from './codec.js'
import { opusCodec } from './opus.js'

const skip = !ffmpegInstalled && 'ffmpeg is not installed'

interface Options {
  readonly session?: 8000 | 16000
  readonly ptime?: Ptime
  readonly parameters?: CodecParameters
}

/** Returns the packets of a clip; an empty one where the encoder sends nothing. */
function encode(
  pcm: Int16Array,
  { session = 16000, ptime = 20, parameters = {} }: Options = {},
): Uint8Array[] {
  const encoder = opusCodec.openEncoder({ session, ptime, parameters })
  const size = (session / 1000) * ptime
  const packet = new Int16Array(size)
  const out = new Uint8Array(opusCodec.maxBytes(ptime) + 3)
  const packets: Uint8Array[] = []
  for (let at = 0; at + size <= pcm.length; at += size) {
    packet.set(pcm.subarray(at, at + size))
    packets.push(out.slice(3, 3 + encoder.encode(packet, out, 3)))
  }
  return packets
}

function decode(packets: readonly Uint8Array[], session: 8000 | 16000 = 16000): Int16Array {
  const decoder = opusCodec.openDecoder(session)
  const pcm = new Int16Array(1920)
  return Int16Array.from(
    packets.flatMap((packet) => [...pcm.subarray(0, decoder.decode(packet, 0, packet.length, pcm))]),
  )
}

t.test('ffmpeg decodes encoded audio', { skip }, async (t) => {
  for (const session of [8000, 16000] as const) {
    for (const ptime of opusCodec.ptimes) {
      const packets = encode(tone(700, 1200, session), { session, ptime })
      const file = writeOggOpus(packets, ptime * 48)
      // ffmpeg's own decoder instead of libopus.
      const pcm = samplesOf(
        await ffmpeg(['-c:a', 'opus', '-i', 'pipe:0', '-ar', '16000', '-f', 's16le'], file),
      )
      t.ok(
        Math.abs(pcm.length / 16 - 1200) <= 60,
        `${session} Hz, ${ptime} ms: ${pcm.length / 16} ms of sound`,
      )
      const level = toneLevel(pcm.subarray(3200, 16_000), 700, 16_000)
      t.ok(Math.abs(level - 0.3) < 0.03, `${session} Hz, ${ptime} ms: level ${level.toFixed(3)}`)
    }
  }
})

t.test('audio encoded by ffmpeg is decoded at the session rate', { skip }, async (t) => {
  for (const [channels, frame] of [
    [1, '20'],
    [2, '20'],
    [1, '60'],
    [1, '10'],
  ] as const) {
    const file = await ffmpeg(
      [
        '-f',
        's16le',
        '-ar',
        '48000',
        '-ac',
        '1',
        '-i',
        'pipe:0',
        '-ac',
        String(channels),
        '-c:a',
        'libopus',
      ].concat(['-b:a', '32k', '-frame_duration', frame, '-application', 'voip', '-f', 'ogg']),
      bytesOf(tone(900, 1000, 48_000)),
    )
    for (const session of [8000, 16000] as const) {
      const pcm = decode(readOggOpus(file), session)
      const level = toneLevel(pcm.subarray(session / 5, (session * 4) / 5), 900, session)
      // ffmpeg distributes one channel to two with half the power each.
      const expected = channels === 1 ? 0.3 : 0.3 / Math.SQRT2
      t.ok(
        Math.abs(level - expected) < 0.03,
        `${channels} channels of ${frame} ms at ${session} Hz: ${level.toFixed(3)}`,
      )
      t.ok(Math.abs(pcm.length / session - 1) < 0.1, 'all of it')
    }
  }
})

t.test('silence is suppressed if the peer asks for DTX, with an occasional packet', async (t) => {
  const pcm = new Int16Array(16_000 * 4)
  const random = seeded(5)
  for (let i = 0; i < pcm.length; i++) pcm[i] = Math.round(random.normal() * 3)
  for (let i = 0; i < 16_000; i++)
    pcm[i] = Math.round(random.normal() * 3000 * Math.max(0.05, Math.sin(i / 800)))
  const packets = encode(pcm, { parameters: { dtx: true } })
  const silent = packets.slice(75)
  const left = silent.filter((packet) => packet.length > 0).length
  t.ok(left > 0 && left < silent.length / 8, `${left} of ${silent.length} packets of silence are sent`)
  t.ok(
    packets.slice(0, 50).every((packet) => packet.length > 2),
    'all that is loud is',
  )
  t.ok(
    encode(pcm).every((packet) => packet.length > 2),
    'everything is without DTX',
  )
})

t.test('bit rate, bandwidth and error correction follow the peer', async (t) => {
  const random = seeded(9)
  const speechLike = Int16Array.from({ length: 48_000 }, (_, i) =>
    Math.round(random.normal() * 3000 * Math.max(0, Math.sin(i / 800))),
  )
  const bytes = (parameters: CodecParameters) =>
    encode(speechLike, { parameters }).reduce((sum, packet) => sum + packet.length, 0)
  const plain = bytes({})
  const kbits = (plain * 8) / 3000
  t.ok(kbits > 12 && kbits < 32, `about 24 kbit/s: ${kbits.toFixed(1)}`)
  t.ok(bytes({ maxBitrate: 12_000 }) < plain * 0.7, 'maxaveragebitrate')
  const constant = encode(speechLike, { parameters: { cbr: true } }).map((packet) => packet.length)
  t.equal(new Set(constant).size, 1, 'cbr')
  const high = tone(6000, 600, 16_000)
  const narrow = decode(encode(high, { parameters: { maxPlaybackRate: 8000 } }))
  t.ok(toneLevel(narrow.subarray(3200), 6000, 16_000) < 0.01, 'maxplaybackrate 8000 takes 6 kHz away')
  t.ok(toneLevel(decode(encode(high)).subarray(3200), 6000, 16_000) > 0.2, 'wideband keeps it')
  // RFC 6716: the table of contents' upper five bits tell the mode; below 16 it is SILK or hybrid, which FEC needs.
  const fec = encode(speechLike, { parameters: { fec: true } })
  t.not(
    Buffer.concat(fec).equals(Buffer.concat(encode(speechLike))),
    true,
    'useinbandfec changes what is sent',
  )
  t.ok(
    fec.filter((packet) => (packet[0] ?? 255) >> 3 < 16).length > fec.length / 2,
    'in a mode that carries FEC',
  )
})

t.test('fmtp is validated', async (t) => {
  for (const [fmtp, expected] of [
    ['', {}],
    ['useinbandfec=1; usedtx=1', { fec: true, dtx: true }],
    [
      'maxplaybackrate=16000; sprop-stereo=0;maxaveragebitrate=20000;cbr=1',
      { maxPlaybackRate: 16000, maxBitrate: 20_000, cbr: true },
    ],
    ['MaxAverageBitrate=9000', { maxBitrate: 9000 }],
    ['maxaveragebitrate=1;maxplaybackrate=-3;useinbandfec=0', {}],
    ['maxaveragebitrate=99999999999;;=;x', {}],
  ] as const) {
    t.strictSame(opusCodec.readFmtp(fmtp), expected, fmtp)
  }
})

t.test('invalid payloads decode to nothing and have no later effect', async (t) => {
  const random = seeded(3)
  const decoder = opusCodec.openDecoder(16000)
  const pcm = new Int16Array(1920)
  for (let i = 0; i < 2000; i++) {
    const bytes = Uint8Array.from({ length: Math.floor(random.next() * 400) }, () =>
      Math.floor(random.next() * 256),
    )
    const samples = decoder.decode(bytes, 0, bytes.length, pcm)
    if (samples < 0 || samples > pcm.length) t.fail(`${samples} samples`)
  }
  const good = encode(tone(500, 1000, 16_000))
  let heard = 0
  for (const packet of good) heard = decoder.decode(packet, 0, packet.length, pcm)
  t.equal(heard, 320)
  t.ok(levelDbfs(pcm, 0, 320) > -20, 'it decodes on')
  t.equal(decoder.decode(Uint8Array.of(8), 0, 1, pcm), 0, 'a packet of DTX')
  t.equal(decoder.decode(new Uint8Array(9000), 0, 9000, pcm), 0, 'longer than any packet')
})
