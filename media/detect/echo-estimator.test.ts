import t from 'tap'
import { type EchoPath, EchoSimulator } from '../../fixtures/audio/echo-path.js'
import { decodeG711, encodeG711 } from '../../fixtures/audio/g711.js'
import { joined } from '../../fixtures/audio/tones.js'
import { seeded } from '../../fixtures/host/random.js'
import { findClip, readClip, readManifest } from '../../fixtures/speech/manifest.js'
import { openResampler } from '../codec/resampler.js'
import { EchoEstimator } from './echo-estimator.js'

const agent = joined(...['forever-1', 'forever-2', 'forever-3'].map((name) => readClip(findClip(name))))
const others = readManifest().filter(
  ({ set, kind, condition }) => set !== 'sandbox' && kind === 'speech' && condition === 'clean',
)
const AUDIBLE = 32768 ** 2 * 10 ** -5

/** The agent speaks for 26 s. The received audio is its echo, line noise and the audio in `heard`. */
function run(path: EchoPath | null, heard: (at: number) => Int16Array | null, noise = 15) {
  const echo = new EchoEstimator(8000)
  const line = path === null ? null : new EchoSimulator(path)
  const random = seeded(2)
  let foundMs = -1
  let own = 0
  let loud = 0
  for (let at = 0; at + 160 <= agent.length; at += 160) {
    const sent = agent.subarray(at, at + 160)
    echo.processSent(sent, at / 8)
    const back = Int16Array.from({ length: 160 }, () => Math.round(noise * random.normal()))
    line?.process(sent, back)
    const other = heard(at)
    if (other !== null) for (let i = 0; i < 160; i++) back[i] = (back[i] ?? 0) + (other[i] ?? 0)
    echo.processReceived(decodeG711('PCMA', encodeG711('PCMA', back)), at / 8)
    if (echo.delayMs === null) continue
    if (foundMs < 0) foundMs = at / 8
    if (echo.power < AUDIBLE) continue
    loud++
    if (echo.isOnlyEcho) own++
  }
  return { foundMs, delayMs: echo.delayMs, gainDb: 20 * Math.log10(echo.gain), ownShare: own / loud }
}

t.test('delay and gain of an echo, on a wire and in a room, within two seconds of speech', (t) => {
  for (const delayMs of [20, 250, 780]) {
    for (const gainDb of [-10, -28]) {
      for (const room of [undefined, delayMs]) {
        const path: EchoPath = { delayMs, gainDb, ...(room === undefined ? {} : { room }) }
        const found = run(path, () => null)
        const what = `${delayMs} ms, ${gainDb} dB${room === undefined ? '' : ', room'}`
        t.ok(found.foundMs >= 0 && found.foundMs <= 2000, `${what}: after ${found.foundMs}`)
        t.ok(Math.abs((found.delayMs ?? 0) - delayMs) <= 10, `${what}: ${found.delayMs} ms`)
        t.ok(Math.abs(found.gainDb - gainDb) <= 2.5, `${what}: ${found.gainDb} dB`)
        t.ok(found.ownShare >= 0.99, `${what}: ${found.ownShare} of it is known for ours`)
      }
    }
  }
  t.end()
})

t.test('a caller who talks all the time is not mistaken for an echo', (t) => {
  for (let seed = 0; seed < 10; seed++) {
    const random = seeded(seed)
    const parts: Int16Array[] = []
    for (let length = 0; length < agent.length; ) {
      const entry = others[Math.floor(random.next() * others.length)] ?? findClip('hello')
      const part = joined(new Int16Array(Math.floor(random.next() * 8000)), readClip(entry))
      parts.push(part)
      length += part.length
    }
    const talk = joined(...parts)
    const { foundMs } = run(null, (at) => talk.subarray(at, at + 160))
    t.equal(foundMs, -1, `caller ${seed}`)
  }
  t.end()
})

t.test('noise and silence are not an echo, nor is a single tone that starts with ours', (t) => {
  t.equal(run(null, () => null, 0).foundMs, -1, 'silence')
  t.equal(run(null, () => null, 800).foundMs, -1, 'noise')
  t.equal(run(null, (at) => new Int16Array(160).fill(at < 4800 ? 0 : 4000)).foundMs, -1)
  t.end()
})

t.test('during an echo the caller is not masked; after it ends nothing is attributed to it', (t) => {
  const caller = readClip(findClip('interrupt-price'))
  const entry = findClip('interrupt-price')
  const echo = new EchoEstimator(8000)
  const line = new EchoSimulator({ delayMs: 180, gainDb: -18, room: 4 })
  const begin = 8 * 8000
  let alone = 0
  let explained = 0
  for (let at = 0; at + 160 <= agent.length; at += 160) {
    const sent = at < 16 * 8000 ? agent.subarray(at, at + 160) : new Int16Array(160)
    if (at < 16 * 8000) echo.processSent(sent, at / 8)
    const back = new Int16Array(160)
    line.process(sent, back)
    const said = at - begin
    if (said >= 0 && said + 160 <= caller.length) {
      for (let i = 0; i < 160; i++) back[i] = (back[i] ?? 0) + (caller[said + i] ?? 0)
    }
    echo.processReceived(back, at / 8)
    if (said > entry.onsetMs * 8 && said < entry.onsetMs * 8 + 2400) {
      alone++
      if (echo.isOnlyEcho) explained++
    }
    if (at > 18 * 8000) t.equal(echo.echoPower, 0)
  }
  t.ok(explained / alone < 0.3, `${explained} of ${alone} frames of the caller are hidden`)
  t.end()
})

t.test('an echo whose delay grows with the jitter buffer of the far end is followed', (t) => {
  const echo = new EchoEstimator(8000)
  const near = new EchoSimulator({ delayMs: 160, gainDb: -16, room: 3 })
  const far = new EchoSimulator({ delayMs: 240, gainDb: -16, room: 3 })
  const moveAt = 10 * 8000
  let loud = 0
  let own = 0
  for (let at = 0; at + 160 <= agent.length; at += 160) {
    const sent = agent.subarray(at, at + 160)
    const [early, late] = [new Int16Array(160), new Int16Array(160)]
    near.process(sent, early)
    far.process(sent, late)
    echo.processSent(sent, at / 8)
    echo.processReceived(at < moveAt ? early : late, at / 8)
    if (at < moveAt + 2 * 8000 || echo.power < AUDIBLE) continue
    loud++
    if (echo.isOnlyEcho) own++
  }
  t.ok(own / loud > 0.98, `${own} of ${loud} frames known for ours two seconds later`)
  t.ok(Math.abs((echo.delayMs ?? 0) - 240) <= 10, `${echo.delayMs} ms`)
  t.end()
})

t.test('in a wideband session as well', (t) => {
  const echo = new EchoEstimator(16_000)
  const up = openResampler(8000, 16_000)
  const back = openResampler(8000, 16_000)
  const line = new EchoSimulator({ delayMs: 200, gainDb: -15, room: 3 })
  for (let at = 0; at < 5 * 8000; at += 160) {
    const sent = agent.subarray(at, at + 160)
    const heard = new Int16Array(160)
    line.process(sent, heard)
    echo.processSent(up.process(sent), at / 8)
    echo.processReceived(back.process(heard), at / 8)
  }
  t.ok(Math.abs((echo.delayMs ?? 0) - 200) <= 10, `${echo.delayMs} ms`)
  t.ok(Math.abs(20 * Math.log10(echo.gain) + 15) <= 2.5)
  t.end()
})

t.test('a frame allocates nothing', (t) => {
  const echo = new EchoEstimator(16_000)
  const pcm = new Int16Array(320).fill(500)
  for (let i = 0; i < 100; i++) {
    echo.processSent(pcm, i * 20)
    echo.processReceived(pcm, i * 20)
  }
  echo.processReceived(pcm, -20)
  t.equal(echo.echoPower, 0, 'a frame from before the session')
  t.end()
})
