import t from 'tap'
import { align } from '../../../fixtures/audio/align.js'
import { levelDbfs } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { call } from '../../../fixtures/service/caller.js'
import { openService } from '../../../fixtures/service/service.js'
import { openSoundLibrary } from '../../../workers/thread/sound-library.js'

const VOLUME = 0.5
const service = await openService(t, {
  virtual: true,
  agent: { callSettings: { background: { sound: 'cafe', volume: VOLUME } } },
})

/** Returns the gain of a known sound in the received audio by least squares; 1 is the level of the file. */
function share(heard: Int16Array, known: Int16Array): number {
  let product = 0
  let power = 0
  for (let i = 0; i < heard.length; i++) {
    product += (heard[i] ?? 0) * (known[i] ?? 0)
    power += (known[i] ?? 0) ** 2
  }
  return product / power
}

t.test('the caller hears the background sound, softer while the agent speaks', async (t) => {
  const caller = await call(t, service)
  await caller.answered()
  const callId = await caller.callId()
  await service.until('the opening line', () => service.of(callId, 'turn').length > 0)
  const [opening] = service.of(callId, 'turn')
  const spoken = { from: (opening?.turn.startMs ?? 0) * 8, to: (opening?.turn.endMs ?? 0) * 8 }
  const quiet = { from: Math.round(spoken.to + 8 * 700), to: Math.round(spoken.to + 8 * 2_700) }
  await caller.until('two seconds of the room alone', () => caller.rtp.heard().pcm.length > quiet.to)
  await caller.hangUp()
  await service.ended(callId)

  const loop = await openSoundLibrary({ holdMusic: null }).load('cafe', 8000)
  const twice = new Int16Array(loop.length * 2)
  twice.set(loop)
  twice.set(loop, loop.length)
  // As it was sent, packet by packet: a slow host skips frames, and the background waits.
  const before = caller.rtp.sentBetween(0, quiet.from).length
  const alone = caller.rtp.sentBetween(quiet.from, quiet.to)
  const { offset, correlation } = align(twice, alone, { to: loop.length })
  t.ok(correlation > 0.9, `it is the cafe: ${correlation.toFixed(3)}`)
  /** Returns the loop from the given sent sample on. */
  const room = (from: number, length: number) =>
    Int16Array.from({ length }, (_, i) => {
      const place = (offset + from - before + i) % loop.length
      return loop[place < 0 ? place + loop.length : place] ?? 0
    })
  const silent = share(alone, room(before, alone.length))
  t.ok(Math.abs(silent - VOLUME) < 0.06, `volume ${silent.toFixed(3)} in the silence`)
  // Without its edges, where it fades out and in.
  const middle = { from: Math.round(spoken.from + 8 * 300), to: Math.round(spoken.to - 8 * 500) }
  t.ok(middle.to - middle.from > 8 * 1_500, 'long enough to judge')
  const voice = caller.rtp.sentBetween(middle.from, middle.to)
  const under = share(voice, room(caller.rtp.sentBetween(0, middle.from).length, voice.length))
  t.ok(under > 0.05 && under < 0.6 * VOLUME, `volume ${under.toFixed(3)} under the voice`)

  t.strictSame(
    service.of(callId, 'turn').map(({ turn }) => turn.speaker),
    ['agent'],
    'nobody took the room for the caller',
  )
  t.strictSame([service.of(callId, 'interrupted').length, service.of(callId, 'resumed').length], [0, 0])
  const { latency } = await service.api('GET', `/v1/calls/${callId}`)
  t.match(latency, { firstAudioMs: Math.round(opening?.turn.startMs ?? -1) }, 'nor for the agent')
  const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
  const wav = readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
  const [left = new Int16Array(), right = new Int16Array()] = wav.channels
  t.ok(levelDbfs(right, quiet.from, quiet.to) > -36, 'it is recorded as the caller heard it')
  t.ok(levelDbfs(left, quiet.from, quiet.to) < -60, 'and not as the caller')
})
