import t from 'tap'
import { align } from '../../fixtures/audio/align.js'
import { VirtualClock } from '../../fixtures/host/clock.js'
import { seeded } from '../../fixtures/host/random.js'
import { EMPTY_RTP_STATS } from '../../fixtures/rtp/empty-stats.js'
import type { AudioFrame } from '../base/frame.js'
import type { ArrivalListener, Endpoint, EndpointKind, NetworkEndpoint } from '../session/endpoint.js'
import { Session } from '../session/session.js'
import { LoopEndpoint } from '../sounds/endpoints.js'
import type { Disk } from './wav-file.js'

const MINUTES = 60
const EVERY_MS = 10_000
const BURST_MS = 300
const HEADER = 44

t.setTimeout(240_000)

/** Noise whose waveform and envelope differ from all other bursts. */
function burst(seed: number): Int16Array {
  const random = seeded(seed)
  let level = 0
  return Int16Array.from({ length: BURST_MS * 8 }, (_, i) => {
    if (i % 160 === 0) level = random.between(200, 8000)
    return Math.round(random.normal() * level)
  })
}

/** Twelve seconds of noise at -26 dBFS. */
function room(): Int16Array {
  const random = seeded(9)
  return Int16Array.from({ length: 12 * 8000 }, () => Math.round(1600 * random.normal()))
}

/** Keeps the file in memory: an hour is written within seconds, faster than a disk. */
function memoryDisk(bytes: number): { disk: Disk; content: Uint8Array } {
  const content = new Uint8Array(bytes)
  const disk: Disk = {
    create: async () => ({
      async write(data, offset, length, position) {
        content.set(data.subarray(offset, offset + length), position)
        return { bytesWritten: length }
      },
      truncate: async () => {},
      close: async () => {},
    }),
    remove: async () => {},
  }
  return { disk, content }
}

/** Plays a burst every ten seconds of session time from `offsetMs` on. */
class Bursts implements Endpoint {
  readonly kind: EndpointKind = 'agent'
  readonly delivery = 'arrival'

  constructor(
    readonly id: string,
    readonly offsetMs: number,
    readonly seed: number,
  ) {}

  /** Returns the burst in the frame at that sample; null for silence. */
  said(at: number): Int16Array | null {
    const ms = at / 8 - this.offsetMs
    const index = Math.floor(ms / EVERY_MS)
    const from = (ms - index * EVERY_MS) * 8
    if (ms < 0 || from >= BURST_MS * 8) return null
    return burst(this.seed + index).subarray(from, from + 160)
  }

  pull(into: Int16Array, at: number): boolean {
    const pcm = this.said(at)
    if (pcm !== null) into.set(pcm)
    return pcm !== null
  }

  push(_frame: AudioFrame): void {}

  close(): void {}
}

class Leg extends Bursts implements NetworkEndpoint {
  override readonly kind = 'rtp'
  listener: ArrivalListener | null = null

  start(_originMs: number, listener: ArrivalListener): void {
    this.listener = listener
  }

  override pull(): boolean {
    return false
  }

  setPlayout(): void {}

  flush(): boolean {
    return true
  }

  stats() {
    return EMPTY_RTP_STATS
  }
}

t.test('an hour with ambience and stalls: no sample of drift on either channel', async (t) => {
  const clock = new VirtualClock()
  const frames = MINUTES * 60 * 50
  const { disk, content } = memoryDisk(HEADER + frames * 160 * 4)
  const failures: string[] = []
  const session = new Session({
    rate: 8000,
    clock,
    recordTo: '/nowhere.wav',
    disk,
    finish: async () => null,
    onRecordingFailed: (message) => failures.push(message),
  })
  const leg = new Leg('leg', 3_000, 1)
  const agent = new Bursts('agent', 7_000, 100_000)
  session.add(leg)
  session.add(agent)
  session.add(new LoopEndpoint('room', room()))
  session.route('leg', ['agent'])
  session.route('agent', ['leg'])
  session.route('room', [
    { to: 'leg', gain: 0.5, duckedBy: [{ endpoint: 'agent', gain: 0.3, releaseMs: 400 }] },
  ])
  session.start()
  const silence = new Int16Array(160)
  let skipped = 0
  for (let frame = 0; frame < frames; frame++) {
    const at = frame * 160
    // Every 97 s the thread stalls for five ticks, sometimes during a burst.
    if (frame % 4850 === 4800) {
      session.skip(5)
      frame += 4
      skipped += 5
      continue
    }
    session.tick()
    leg.listener?.onFrame({ pcm: leg.said(at) ?? silence, rate: 8000, at })
    // Lets the pending writes run.
    if (frame % 50 === 49) await new Promise<void>((resolve) => setImmediate(resolve))
  }
  t.ok(skipped > 150)
  await session.close('hangup')
  t.strictSame(failures, [])
  const samples = new Int16Array(content.buffer, HEADER, frames * 320)
  const channel = (index: number, fromMs: number) =>
    Int16Array.from({ length: 1_000 * 8 }, (_, i) => samples[(fromMs * 8 + i) * 2 + index] ?? 0)
  let looked = 0
  const wrong: string[] = []
  for (let n = 0; n < (MINUTES * 60_000) / EVERY_MS - 1; n++) {
    // Received audio is recorded 10 ms after it was spoken, half way to the arrival of its packet.
    for (const [index, party, shiftMs] of [
      [0, leg, 10],
      [1, agent, 0],
    ] as const) {
      const placeMs = party.offsetMs + n * EVERY_MS
      const { offset, correlation } = align(channel(index, placeMs - 300), burst(party.seed + n), {
        to: 5_600,
      })
      looked++
      if (offset !== (300 + shiftMs) * 8 || correlation < 0.6) {
        wrong.push(`${party.id} ${n}: ${offset / 8 - 300 - shiftMs} ms off, correlation ${correlation}`)
      }
    }
  }
  t.ok(looked > 700)
  t.strictSame(wrong, [])
})
