import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import { openFakeVendorSocket } from '../../../fixtures/vendors/fake-vendor-socket.js'
import { DEEPGRAM_LISTEN, SARVAM_REALTIME } from '../../../fixtures/vendors/recognition-messages.js'
import { silentLog } from '../../base/log.js'
import { deepgramSpeechToText } from '../../vendors/deepgram/stt.js'
import { sarvamSpeechToText } from '../../vendors/sarvam/stt.js'
import { CircuitBreakers } from '../circuit-breaker.js'
import { SttFailover } from './stt-failover.js'

/* The recognisers of one call on real sockets: checks the exact samples that each receives. */

/** A frame whose samples hold their own position. */
const frame = (atMs: number): Int16Array =>
  Int16Array.from({ length: 160 }, (_, i) => (atMs * 8 + i) % 30_000)

function bytes(fromMs: number, untilMs: number): Buffer {
  const frames: Buffer[] = []
  for (let atMs = fromMs; atMs < untilMs; atMs += 20)
    frames.push(Buffer.from(frame(atMs).buffer as ArrayBuffer))
  return Buffer.concat(frames)
}

async function rig(t: Test, languages: readonly string[]) {
  const deepgram = await openFakeVendorSocket()
  const sarvam = await openFakeVendorSocket()
  const clock = new VirtualClock()
  const deps = { clock, log: silentLog }
  const told: string[] = []
  const ears = new SttFailover({
    languages,
    vocabulary: ['Meera Nair', 'Ayushman'],
    language: languages[0] ?? 'en-IN',
    rate: 8000,
    recognisers: [
      {
        recogniser: deepgramSpeechToText({ baseUrl: deepgram.baseUrl, apiKey: 'secret-key' }, deps),
        model: 'nova-3',
        mode: 'transcribe',
        languages: ['en-IN', 'hi-IN', 'ta-IN', 'pa-IN'],
      },
      {
        recogniser: sarvamSpeechToText(
          { baseUrl: sarvam.baseUrl, apiKey: 'secret-key', languageField: 'language_code' },
          deps,
        ),
        model: 'saaras:v3-realtime',
        mode: 'transcribe',
        languages: null,
      },
    ],
    breakers: new CircuitBreakers(clock),
    clock,
    partial: () => {},
    final: (text, _words, language) => told.push(`${text} ${language}`),
    failed: ({ code }) => told.push(`failed ${code}`),
    recogniserFailed: ({ code }, vendor, instead) => told.push(`${vendor} ${code}, ${instead} goes on`),
    capabilitiesChanged: () => {},
    eagerEndOfTurn: () => {},
  })
  t.teardown(async () => {
    ears.close()
    await Promise.all([deepgram.close(), sarvam.close()])
    if (clock.pending > 0) throw new Error(`${clock.pending} timers are left`)
  })
  let nowMs = 0
  const hear = (ms: number) => {
    for (const until = nowMs + ms; nowMs < until; nowMs += 20) ears.write(frame(nowMs), nowMs)
  }
  ears.open()
  await deepgram.until(() => deepgram.connections.length === 1, 'a connection')
  return { deepgram, sarvam, clock, ears, told, hear }
}

t.test('another language: a new connection receives every sample of the current utterance', async (t) => {
  // The multilingual mode of the model has no Punjabi.
  const { deepgram, ears, hear } = await rig(t, ['en-IN', 'pa-IN'])
  t.equal(deepgram.last.url.searchParams.get('language'), 'en-IN')
  t.same(deepgram.last.url.searchParams.getAll('keyterm'), ['Meera Nair', 'Ayushman'])
  hear(1000)
  await deepgram.until(() => DEEPGRAM_LISTEN.sound(deepgram.last).length > 0, 'the first sound')
  ears.utteranceStart(800)
  hear(200)
  ears.setLanguage('pa-IN')
  // Before the connection is open.
  hear(400)
  await deepgram.until(() => deepgram.connections.length === 2, 'the second connection')
  t.equal(deepgram.last.url.searchParams.get('language'), 'pa')
  hear(400)
  ears.utteranceEnd(1900)
  await deepgram.until(() => DEEPGRAM_LISTEN.flushed(deepgram.last) === true, 'the request for the text')
  t.ok(DEEPGRAM_LISTEN.sound(deepgram.last).equals(bytes(500, 2000)))
  t.equal(deepgram.connections[0]?.closeCode, 1000)
})

t.test('a lost vendor: the next one receives the unanswered speech', async (t) => {
  const { deepgram, sarvam, ears, told, hear } = await rig(t, ['en-IN', 'hi-IN'])
  t.equal(deepgram.last.url.searchParams.get('language'), 'multi')
  for (const message of DEEPGRAM_LISTEN.final('नमस्ते')) deepgram.last.send(message)
  await until(() => told.length === 1)
  t.same(told, ['नमस्ते hi-IN'])
  hear(1000)
  ears.utteranceStart(700)
  hear(300)
  deepgram.last.close(1008, 'DATA-0000')
  await until(() => told.length === 2)
  t.same(told.slice(1), ['deepgram vendor_rejected, sarvam goes on'])
  await sarvam.until(() => sarvam.connections.length === 1, 'the other vendor')
  hear(500)
  ears.utteranceEnd(1700)
  const expected = bytes(400, 1800)
  await sarvam.until(() => SARVAM_REALTIME.sound(sarvam.last).length >= expected.length, 'the sound')
  t.ok(SARVAM_REALTIME.sound(sarvam.last).equals(expected))
  for (const message of SARVAM_REALTIME.final('कल आइए')) sarvam.last.send(message)
  await until(() => told.length === 3)
  t.same(told.slice(2), ['कल आइए hi-IN'])
})

t.test('a slow vendor is hedged with another one', async (t) => {
  const { deepgram, sarvam, clock, ears, told, hear } = await rig(t, ['en-IN', 'hi-IN'])
  hear(1000)
  ears.utteranceStart(300)
  ears.utteranceEnd(900)
  clock.advance(800)
  await sarvam.until(() => sarvam.connections.length === 1, 'the other vendor')
  t.ok(deepgram.last.open, 'the first is not given up yet')
  for (const message of SARVAM_REALTIME.final('जी हाँ')) sarvam.last.send(message)
  await until(() => told.length === 2)
  t.same(told, ['deepgram vendor_stalled, sarvam goes on', 'जी हाँ hi-IN'])
  await deepgram.until(() => !deepgram.last.open, 'the first is closed')
})
