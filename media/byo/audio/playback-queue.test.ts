import t from 'tap'
import { joined, tone, toneLevel } from '../../../fixtures/audio/tones.js'
import { type AudioFormat, audioFormatOf, encodeAudio, readWavAudio } from './audio-format.js'
import { CAPACITY_MS, PlaybackQueue } from './playback-queue.js'

const sound = (format: 'linear16' | 'mulaw' | 'alaw', rate: number): AudioFormat => {
  const found = audioFormatOf(format, rate)
  if (found === null) throw new Error('no such sound')
  return found
}
const L16 = sound('linear16', 8000)

function wire(how: AudioFormat, pcm: Int16Array): Buffer {
  const bytes = Buffer.alloc(pcm.length * how.bytesPerSample)
  encodeAudio(how.encoding, pcm, bytes, 0)
  return bytes
}

/** `count` frames of the queue; null where there was no sound. */
function pull(queue: PlaybackQueue, count: number, samples = 160): (Int16Array | null)[] {
  return Array.from({ length: count }, () => {
    const into = new Int16Array(samples)
    return queue.pull(into) ? into : null
  })
}
const played = (frames: readonly (Int16Array | null)[]) =>
  joined(...frames.map((frame) => frame ?? new Int16Array(160)))
const names = (queue: PlaybackQueue) =>
  (queue.takeReached() ?? []).map((marker) => ('name' in marker ? marker.name : marker.kind))

t.test('chunks of any length are played unchanged, split samples are joined', async (t) => {
  const pcm = tone(440, 1000)
  const bytes = wire(L16, pcm)
  for (const cuts of [[1], [3, 1, 1, 319, 640], [bytes.length], [317], [4001, 7]]) {
    const queue = new PlaybackQueue(8000)
    for (let at = 0, i = 0; at < bytes.length; i++) {
      const length = cuts[i % cuts.length] ?? 1
      queue.enqueue(bytes.subarray(at, at + length), L16)
      at += length
    }
    t.equal(queue.queuedMs, 1000)
    t.strictSame(played(pull(queue, 50)), pcm, `cut as ${cuts}`)
    t.strictSame(pull(queue, 1), [null])
    t.equal(queue.queuedMs, 0)
  }
})

t.test('formats and rates', async (t) => {
  for (const [format, rate] of [
    ['mulaw', 8000],
    ['alaw', 8000],
    ['linear16', 16_000],
    ['linear16', 24_000],
    ['linear16', 48_000],
    ['linear16', 12_000],
    ['linear16', 22_050],
    ['linear16', 32_000],
    ['linear16', 44_100],
    ['linear16', 64_000],
    ['linear16', 96_000],
    ['linear16', 192_000],
  ] as const) {
    const how = sound(format, rate)
    const queue = new PlaybackQueue(8000)
    queue.enqueue(wire(how, tone(440, 500, rate)), how)
    const out = played(pull(queue, 25))
    t.ok(toneLevel(out.subarray(800), 440) > 0.27, `${format} ${rate}`)
    const wide = new PlaybackQueue(16_000)
    wide.enqueue(wire(how, tone(440, 500, rate)), how)
    t.ok(
      toneLevel(
        joined(...pull(wide, 25, 320).map((f) => f ?? new Int16Array(320))).subarray(800),
        440,
        16_000,
      ) > 0.27,
    )
  }
})

t.test(
  'a mark is acknowledged when the audio before it was played, in order, repeated names too',
  async (t) => {
    const queue = new PlaybackQueue(8000)
    t.ok(queue.addMarker({ kind: 'mark', name: 'first' }))
    t.strictSame(names(queue), ['first'], 'a mark without audio before it is acknowledged at once')
    const frame = wire(L16, tone(440, 30))
    queue.enqueue(frame, L16)
    queue.addMarker({ kind: 'mark', name: 'a' })
    queue.addMarker({ kind: 'mark', name: 'a' })
    queue.enqueue(frame, L16)
    queue.addMarker({ kind: 'mark', name: 'b' })
    t.strictSame(names(queue), [])
    pull(queue, 1)
    t.strictSame(names(queue), [])
    pull(queue, 1)
    t.strictSame(names(queue), ['a', 'a'], '30 ms are over in the second frame')
    pull(queue, 1)
    t.strictSame(names(queue), ['b'])
    t.equal(queue.idle, true)
  },
)

t.test('clear drops audio and keys and returns the marks', async (t) => {
  const queue = new PlaybackQueue(8000)
  queue.enqueue(wire(L16, tone(440, 500)), L16)
  queue.addMarker({ kind: 'mark', name: 'a' })
  queue.addMarker({ kind: 'key', digit: '5' })
  queue.enqueue(Buffer.from([1]), L16)
  queue.addMarker({ kind: 'played', id: 'p' })
  pull(queue, 5)
  t.strictSame(queue.clear(), {
    droppedMs: 400,
    marks: [
      { kind: 'mark', name: 'a' },
      { kind: 'played', id: 'p' },
    ],
  })
  t.strictSame(pull(queue, 1), [null])
  const whole = tone(440, 20)
  queue.enqueue(wire(L16, whole), L16)
  t.strictSame(played(pull(queue, 1)), whole, 'half a sample from before is gone too')
})

t.test('DTMF waits for the audio before it and delays what follows', async (t) => {
  const queue = new PlaybackQueue(8000)
  const frame = wire(L16, tone(440, 20))
  queue.enqueue(frame, L16)
  queue.addMarker({ kind: 'key', digit: '1' })
  queue.addMarker({ kind: 'pause' })
  queue.addMarker({ kind: 'key', digit: '2' })
  queue.enqueue(frame, L16)
  const happened: string[] = []
  for (let i = 0; i < 70; i++) {
    if (pull(queue, 1)[0] !== null) happened.push(`sound ${i}`)
    for (const marker of queue.takeReached() ?? [])
      happened.push(`${'digit' in marker ? marker.digit : ''} ${i}`)
  }
  t.strictSame(happened, ['sound 0', '1 0', '2 41', 'sound 58'])
})

t.test('bounds', async (t) => {
  const queue = new PlaybackQueue(8000)
  const minute = Buffer.alloc(8000 * 60, 0xff)
  const ulaw = sound('mulaw', 8000)
  for (let i = 0; i < CAPACITY_MS / 60_000; i++) t.equal(queue.enqueue(minute, ulaw), true)
  t.equal(queue.enqueue(Buffer.alloc(160, 0xff), ulaw), false)
  pull(queue, 1)
  t.equal(queue.enqueue(Buffer.alloc(160, 0xff), ulaw), true)
  let marks = 0
  while (queue.addMarker({ kind: 'mark', name: 'm' })) marks++
  t.equal(marks, 10_000)
  t.equal(queue.clear().marks.length, 10_000)
})

t.test('names of megabytes are limited in total, and the budget is returned', async (t) => {
  const queue = new PlaybackQueue(8000)
  const name = 'n'.repeat(100_000)
  const fill = () => {
    let marks = 0
    while (queue.addMarker({ kind: 'mark', name })) marks++
    return marks
  }
  const frame = () => queue.enqueue(Buffer.alloc(160, 0xff), sound('mulaw', 8000))
  frame()
  t.equal(fill(), 10)
  t.equal(queue.addMarker({ kind: 'played', id: name }), false)
  t.equal(queue.addMarker({ kind: 'mark', name: 'short' }), true)
  pull(queue, 1)
  t.equal(names(queue).length, 11)
  frame()
  t.equal(fill(), 10, 'when they were reached')
  queue.clear()
  frame()
  t.equal(fill(), 10, 'when they were cleared')
  queue.forgetMarks()
  t.equal(fill(), 0, 'those forgotten are still held')
  pull(queue, 1)
  frame()
  t.equal(fill(), 10)
})

t.test('tiny chunks cannot exhaust memory, and removing marks is cheap', async (t) => {
  const queue = new PlaybackQueue(8000)
  const ulaw = sound('mulaw', 8000)
  const byte = Buffer.alloc(1, 0xff)
  queue.addMarker({ kind: 'pause' })
  let pieces = 0
  while (queue.enqueue(byte, ulaw)) pieces++
  t.equal(pieces, 49_999 + 1)
  t.equal(queue.addMarker({ kind: 'mark', name: 'm' }), false)
  queue.clear()
  // A mark and its forgetting, over and over: those forgotten count as items until they are reached.
  queue.enqueue(Buffer.alloc(160, 0xff), ulaw)
  let marks = 0
  while (queue.addMarker({ kind: 'mark', name: String(marks) })) {
    marks++
    queue.forgetMarks()
  }
  t.equal(marks, 49_999)
  pull(queue, 2)
  t.strictSame(names(queue), [], 'none of them is told')
  queue.addMarker({ kind: 'mark', name: 'new' })
  t.strictSame(names(queue), ['new'])
})

t.test('removed marks are not acknowledged, later ones are', async (t) => {
  const queue = new PlaybackQueue(8000)
  const ulaw = sound('mulaw', 8000)
  const frame = Buffer.alloc(160, 0xff)
  for (let i = 0; i < 600; i++) {
    queue.enqueue(frame, ulaw)
    queue.addMarker({ kind: 'mark', name: `old ${i}` })
  }
  pull(queue, 300)
  t.equal(names(queue).length, 300)
  queue.addMarker({ kind: 'played', id: 'p' })
  queue.forgetMarks()
  queue.enqueue(frame, ulaw)
  queue.addMarker({ kind: 'mark', name: 'new' })
  t.strictSame(
    queue.clear().marks.map((marker) => marker.kind),
    ['played', 'mark'],
  )
  queue.enqueue(frame, ulaw)
  queue.addMarker({ kind: 'mark', name: 'after' })
  pull(queue, 2)
  t.strictSame(names(queue), ['after'])
})

t.test('skipping drops the oldest audio and acknowledges its marks', async (t) => {
  const queue = new PlaybackQueue(8000)
  const pcm = tone(440, 200)
  queue.enqueue(wire(L16, pcm.subarray(0, 800)), L16)
  queue.addMarker({ kind: 'mark', name: 'a' })
  queue.enqueue(wire(L16, pcm.subarray(800)), L16)
  t.equal(queue.skip(140), 140)
  t.strictSame(names(queue), ['a'])
  t.strictSame(played(pull(queue, 3)), pcm.subarray(1120))
})

t.test('audio dropped in the middle makes no click', async (t) => {
  for (const [name, rate] of [
    ['linear16', 8000],
    ['mulaw', 8000],
    ['linear16', 24_000],
  ] as const) {
    const how = sound(name, rate)
    const queue = new PlaybackQueue(8000)
    // 20 ms are 2.6 periods of 130 Hz: a hard cut jumps.
    queue.enqueue(wire(how, tone(130, 400, rate)), how)
    const before = pull(queue, 3)
    queue.skip(20)
    const out = played([...before, ...pull(queue, 5)])
    let most = 0
    for (let i = 1; i < out.length; i++) most = Math.max(most, Math.abs((out[i] ?? 0) - (out[i - 1] ?? 0)))
    const height = Math.max(...out)
    const steepest = height * 2 * Math.PI * (130 / 8000)
    t.ok(
      most < 1.6 * steepest,
      `${name} ${rate}: ${most} at most, ${Math.round(steepest)} in the tone itself`,
    )
  }
})

t.test('the arrival time of a frame counts per sample', async (t) => {
  const queue = new PlaybackQueue(8000)
  queue.enqueue(wire(L16, tone(440, 100)), L16, 1000)
  queue.enqueue(wire(L16, tone(440, 30)), L16, 1110)
  const came = Array.from({ length: 8 }, () => {
    queue.pull(new Int16Array(160))
    return queue.arrivedMs
  })
  t.strictSame(came, [1000, 1020, 1040, 1060, 1080, 1110, Infinity, Infinity], 'half a frame is none')
})

t.test('converted audio ends with its last sample, and nothing follows later', async (t) => {
  const silent = (frames: readonly (Int16Array | null)[]) => Math.max(...played(frames).map(Math.abs)) < 200
  for (const rate of [16_000, 24_000]) {
    const how = sound('linear16', rate)
    const spoken = wire(how, tone(700, 100, rate))
    const silence = wire(how, new Int16Array(rate / 10))

    const queue = new PlaybackQueue(8000)
    queue.enqueue(spoken, how)
    const out = pull(queue, 8)
    t.strictSame(
      out.map((frame) => frame !== null),
      [true, true, true, true, true, true, false, false],
      'the sixth frame is what the filter held',
    )
    t.ok(toneLevel(played(out).subarray(0, 800), 700) > 0.28)
    queue.enqueue(silence, how)
    t.ok(silent(pull(queue, 5)), `${rate}: after a pause`)

    queue.enqueue(spoken, how)
    pull(queue, 3)
    queue.clear()
    queue.enqueue(silence, how)
    t.ok(silent(pull(queue, 5)), `${rate}: after it was cleared`)

    queue.enqueue(spoken, how)
    queue.enqueue(wire(L16, new Int16Array(160)), L16)
    pull(queue, 7)
    queue.enqueue(silence, how)
    t.ok(silent(pull(queue, 5)), `${rate}: after sound of another rate`)

    queue.enqueue(spoken, how)
    queue.addMarker({ kind: 'key', digit: '1' })
    pull(queue, 5 + 16)
    queue.enqueue(silence, how)
    t.ok(silent(pull(queue, 5)), `${rate}: after a key`)
  }
})

t.test('an underrun during speech is counted, a pause is not', async (t) => {
  const queue = new PlaybackQueue(8000)
  const frame = wire(L16, tone(440, 20))
  queue.enqueue(frame, L16)
  pull(queue, 3)
  queue.enqueue(frame, L16)
  t.equal(queue.underruns, 1)
  pull(queue, 40)
  queue.enqueue(frame, L16)
  t.equal(queue.underruns, 1)
})

t.test('a WAV file in memory', async (t) => {
  const pcm = tone(440, 20, 16_000)
  const header = Buffer.alloc(44)
  header.write('RIFF', 0)
  header.writeUInt32LE(36 + pcm.length * 2, 4)
  header.write('WAVEfmt ', 8)
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(16_000, 24)
  header.writeUInt32LE(32_000, 28)
  header.writeUInt16LE(2, 32)
  header.writeUInt16LE(16, 34)
  header.write('data', 36)
  header.writeUInt32LE(pcm.length * 2, 40)
  const body = wire(sound('linear16', 16_000), pcm)
  const wav = readWavAudio(Buffer.concat([header, body]))
  t.equal(wav?.format, sound('linear16', 16_000))
  t.strictSame(Buffer.from(wav?.bytes ?? []), body)
  header.writeUInt16LE(2, 22)
  t.equal(readWavAudio(Buffer.concat([header, body])), null, 'stereo')
  for (let length = 12; length < 44; length++) t.equal(readWavAudio(header.subarray(0, length)), null)
})
