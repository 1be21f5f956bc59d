import t from 'tap'
import { type EchoPath, EchoSimulator } from '../../../fixtures/audio/echo-path.js'
import { decodeG711, encodeG711 } from '../../../fixtures/audio/g711.js'
import { joined } from '../../../fixtures/audio/tones.js'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { settle } from '../../../fixtures/host/settle.js'
import { DEFAULT_SPEC } from '../../../fixtures/rigs/conversation-rig.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'
import { silentLog } from '../../base/log.js'
import { loadVad } from '../../vad/vad.js'
import { CircuitBreakers } from '../circuit-breaker.js'
import type { ConversationEvent } from '../conversation-events.js'
import { PhraseCache } from '../tts/phrase-cache.js'
import type { Vendors } from '../vendor-ports.js'
import { openConversation } from './conversation.js'

/*
 * A conversation with the real VAD on a virtual clock. The agent reads for 26 s while the far side returns
 * some of it.
 */

const vad = await loadVad()
const speech = joined(...['forever-1', 'forever-2', 'forever-3'].map((name) => readClip(findClip(name))))

async function call(path: EchoPath | null, caller?: { readonly atMs: number; readonly clip: string }) {
  const clock = new VirtualClock()
  const events: ConversationEvent[] = []
  const written: number[] = []
  const vendors: Vendors = {
    speechToText: () => ({
      id: 'main',
      open: (_options, told) => ({
        capabilities: {
          partials: false,
          endOfUtterance: false,
          wordTimes: false,
          understandsSpeech: true,
          finalDeadlineMs: 800,
        },
        write: (pcm) => {
          written.push(pcm.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0))
        },
        utteranceStart() {},
        utteranceEnd: (atMs) => {
          const words = caller !== undefined && atMs > caller.atMs ? 'How much is it?' : ''
          clock.after(100, () => told.final(words, null))
        },
        close() {},
      }),
    }),
    textToSpeech: (id) => ({
      id,
      firstAudioDeadlineMs: 600,
      speak: (_request, told) => {
        const timer = clock.after(20, () => {
          told.audio(speech.slice(), 8000)
          told.done()
        })
        return { cancel: () => timer.cancel() }
      },
    }),
    speechToSpeech: () => {
      throw new Error('none here')
    },
    languageModel: () => ({ id: 'main', firstTokenDeadlineMs: 1200, generate: () => ({ cancel() {} }) }),
  }
  const conversation = openConversation({
    id: 'agent',
    spec: { ...DEFAULT_SPEC, openingLine: 'A long story.' },
    rate: 8000,
    vendors,
    breakers: new CircuitBreakers(clock),
    phrases: new PhraseCache(),
    vad,
    clock,
    emit: (event) => events.push(event),
    log: silentLog,
    tools: { run: () => ({ cancel() {} }), press: () => false },
  })
  const line = path === null ? null : new EchoSimulator(path)
  const said = caller === undefined ? null : readClip(findClip(caller.clip))
  conversation.start()
  const silent: number[] = []
  for (let frame = 0; frame < 1100; frame++) {
    const at = frame * 160
    const sent = new Int16Array(160)
    if (!conversation.pull(sent, at)) silent.push(frame * 20)
    const back = new Int16Array(160)
    line?.process(sent, back)
    const from = caller === undefined ? -1 : at - caller.atMs * 8
    if (said !== null && from >= 0 && from < said.length) {
      for (let i = 0; i < 160; i++) back[i] = (back[i] ?? 0) + (said[from + i] ?? 0)
    }
    await settle()
    clock.advance(20)
    conversation.push({ pcm: decodeG711('PCMA', encodeG711('PCMA', back)), rate: 8000, at })
  }
  conversation.close('hangup')
  const count = (type: ConversationEvent['type']) => events.filter((event) => event.type === type).length
  const found = events.flatMap((event) => (event.type === 'detected' ? [event.event] : []))
  return { events, silent, written, found, pauses: count('resumed'), stops: count('interrupted') }
}

for (const path of [
  { delayMs: 60, gainDb: -30 },
  { delayMs: 160, gainDb: -20, room: 1 },
  { delayMs: 300, gainDb: -12, room: 2 },
]) {
  t.test(`echo of ${path.gainDb} dB after ${path.delayMs} ms: the agent continues`, async (t) => {
    const { pauses, stops, found, silent, written } = await call(path)
    t.equal(stops, 0, 'never interrupted by itself')
    t.ok(pauses <= 3, `${pauses} pauses, before the echo was known`)
    const [echo, ...more] = found
    t.match(echo, { type: 'echo' })
    t.same(more, [], 'told once')
    if (echo?.type !== 'echo') return
    t.ok(Math.abs(echo.delayMs - path.delayMs) <= 30, `${echo.delayMs} ms`)
    const late = silent.filter((ms) => ms > echo.atMs + 600)
    t.ok(late.length < 10, `${late.length} silent frames after that`)
    const heard = written.slice(Math.ceil(echo.atMs / 20) + 50)
    const loud = heard.filter((peak) => peak > 0).length
    t.ok(loud < heard.length * 0.05, `${loud} of ${heard.length} frames of it reach the recogniser`)
  })

  t.test(`echo of ${path.gainDb} dB after ${path.delayMs} ms: the caller can still interrupt`, async (t) => {
    const { events } = await call(path, { atMs: 8000, clip: 'interrupt-price' })
    const stop = events.find((event) => event.type === 'interrupted')
    const onset = 8000 + findClip('interrupt-price').onsetMs
    t.ok(stop?.type === 'interrupted' && stop.atMs > onset, 'after it began to speak')
    t.ok(stop?.type === 'interrupted' && stop.atMs < onset + 300, `at ${JSON.stringify(stop)}, ${onset}`)
  })
}

t.test('without echo no echo path is found, and barge-in is not delayed', async (t) => {
  const { events, found } = await call(null, { atMs: 8000, clip: 'interrupt-price' })
  const stop = events.find((event) => event.type === 'interrupted')
  const onset = 8000 + findClip('interrupt-price').onsetMs
  t.ok(stop?.type === 'interrupted' && stop.atMs > onset && stop.atMs < onset + 150)
  t.same(found, [])
})
