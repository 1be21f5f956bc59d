import t from 'tap'
import { keyTone } from '../../fixtures/audio/dtmf.js'
import { cadenced, sound } from '../../fixtures/audio/network-tones.js'
import { joined } from '../../fixtures/audio/tones.js'
import type { CodecName } from '../codec/codec.js'
import { CODEC_NAMES, codecOf } from '../codec/registry.js'
import { type DetectorName, Detectors } from './detectors.js'
import type { DetectorEvent } from './events.js'

const RATE = 16_000
const FRAME = RATE / 50

/** Returns the audio of a 16 kHz session after encoding and decoding. */
function through(name: CodecName, pcm: Int16Array): Int16Array {
  const codec = codecOf(name)
  const encoder = codec.openEncoder({ session: RATE, ptime: 20, parameters: {} })
  const decoder = codec.openDecoder(RATE)
  const wire = new Uint8Array(codec.maxBytes(20))
  const decoded = new Int16Array(1920)
  // 8 kHz codecs are tested at their own rate.
  if (encoder.rate !== RATE) return new Int16Array(0)
  const parts: Int16Array[] = []
  for (let at = 0; at + FRAME <= pcm.length; at += FRAME) {
    const bytes = encoder.encode(pcm.subarray(at, at + FRAME), wire, 0)
    const samples = decoder.decode(wire, 0, bytes, decoded)
    parts.push(decoded.slice(0, samples))
  }
  return joined(...parts)
}

function listen(pcm: Int16Array, names: readonly DetectorName[]): DetectorEvent[] {
  const events: DetectorEvent[] = []
  const detectors = new Detectors(RATE, names, (event) => events.push(event))
  for (let at = 0; at + FRAME <= pcm.length; at += FRAME) {
    detectors.process(pcm.subarray(at, at + FRAME), (at * 1000) / RATE)
  }
  return events
}

const quiet = (ms: number) => new Int16Array((ms * RATE) / 1000)
const wide = CODEC_NAMES.filter((name) => through(name, quiet(20)).length > 0)

t.test('DTMF and tones survive wideband codecs', (t) => {
  t.ok(wide.includes('G722') && wide.includes('OPUS'), wide.join(' '))
  for (const name of wide) {
    for (const key of '1234567890*#ABCD') {
      const wire = through(name, joined(quiet(100), keyTone(key, { rate: RATE, ms: 60 }), quiet(300)))
      const heard = listen(wire, ['dtmf']).map((event) => event.type === 'digit' && event.digit)
      t.same(heard, [key], `${name} ${key}`)
    }
    const wire = through(
      name,
      joined(
        quiet(200),
        sound({ hertz: [1000], ms: 300 }, RATE),
        quiet(1000),
        cadenced({ hertz: [400], modulatedBy: 25 }, [400, 200, 400, 2000], 2, RATE),
        cadenced({ hertz: [400] }, [750, 750], 3, RATE),
        cadenced({ hertz: [1100] }, [500, 3000], 1, RATE),
        ...[950, 1400, 1800].map((hertz) => sound({ hertz: [hertz], ms: 330 }, RATE)),
        quiet(1000),
      ),
    )
    t.same(
      listen(wire, ['beep', 'progress', 'informationTone', 'fax']).map((event) => event.type),
      ['beep', 'progress', 'progress', 'fax', 'information_tone'],
      name,
    )
  }
  t.end()
})
