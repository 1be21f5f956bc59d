import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import {
  type FakeOpenAi,
  jsonReply,
  openFakeOpenAi,
  pcmReply,
} from '../../../fixtures/vendors/fake-openai.js'
import { errorBody, pcmBytes, streamingWavHeader } from '../../../fixtures/vendors/openai-frames.js'
import type { SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import { type Clock, systemClock } from '../../base/clock.js'
import { silentLog } from '../../base/log.js'
import { openAiTextToSpeech } from './tts.js'

const REQUEST: SpeakRequest = {
  text: 'Namaste.',
  voice: 'alloy',
  model: null,
  language: 'en-IN',
  pace: 1.2,
  rate: 8000,
}
const RAMP = Int16Array.from({ length: 3000 }, (_, i) => i * 7 - 9000)

interface Spoken {
  readonly pcm: readonly number[]
  readonly rate: number
  readonly chunks: number
  readonly error: string | null
}

async function setUp(
  t: Test,
  clock: Clock = systemClock,
): Promise<{ fake: FakeOpenAi; vendor: TextToSpeech }> {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  const vendor = openAiTextToSpeech(
    {
      baseUrl: fake.baseUrl,
      apiKey: 'sk-test',
      speechModel: 'gpt-4o-mini-tts',
      speechRate: 24_000,
    },
    { clock, log: silentLog },
  )
  return { fake, vendor }
}

function speak(vendor: TextToSpeech, request: SpeakRequest = REQUEST): Promise<Spoken> {
  return new Promise((resolve) => {
    const pcm: number[] = []
    let rate = 0
    let chunks = 0
    vendor.speak(request, {
      audio: (samples, at) => {
        pcm.push(...samples)
        rate = at
        chunks++
      },
      word: () => {},
      done: () => resolve({ pcm, rate, chunks, error: null }),
      failed: (error) => resolve({ pcm, rate, chunks, error: error.code }),
    })
  })
}

/** Pieces of a prime length: samples and headers are cut in two. */
function pieces(bytes: Uint8Array, size = 37): Uint8Array[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, i * size + size),
  )
}

t.test('headerless PCM in odd chunks, at the configured rate', async (t) => {
  const { fake, vendor } = await setUp(t)
  fake.enqueue('speech', pcmReply(pieces(pcmBytes(RAMP))))
  const spoken = await speak(vendor)
  t.same(spoken.pcm, [...RAMP])
  t.equal(spoken.rate, 24_000)
  t.ok(spoken.chunks > 1, 'streamed')
  t.equal(spoken.error, null)
  const request = fake.requests[0]
  t.equal(request?.path, '/v1/audio/speech')
  t.equal(request?.headers.authorization, 'Bearer sk-test')
  t.same(JSON.parse(String(request?.body)), {
    model: 'gpt-4o-mini-tts',
    input: 'Namaste.',
    voice: 'alloy',
    response_format: 'pcm',
    speed: 1.2,
  })
})

t.test('a WAV response despite the request: its own rate, unknown length, two channels', async (t) => {
  const { fake, vendor } = await setUp(t)
  for (const length of [0, 0xffffffff] as const) {
    const bytes = Buffer.concat([streamingWavHeader(16_000, length), pcmBytes(RAMP)])
    fake.enqueue('speech', pcmReply(pieces(bytes), 'audio/wav'))
    const spoken = await speak(vendor)
    t.same(spoken.pcm, [...RAMP], `length ${length}`)
    t.equal(spoken.rate, 16_000)
  }
  const stereo = Int16Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? 1000 : 3000))
  fake.enqueue(
    'speech',
    pcmReply(pieces(Buffer.concat([streamingWavHeader(8000, 0, 2), pcmBytes(stereo)])), 'audio/x-wav'),
  )
  t.same(
    (await speak(vendor)).pcm,
    Array.from({ length: 100 }, () => 2000),
  )
})

t.test('22,050 Hz is converted to the session rate', async (t) => {
  const { fake, vendor } = await setUp(t)
  const tone = Int16Array.from({ length: 22_050 }, (_, i) =>
    Math.round(8000 * Math.sin((2 * Math.PI * 440 * i) / 22_050)),
  )
  fake.enqueue(
    'speech',
    pcmReply(pieces(Buffer.concat([streamingWavHeader(22_050, 0), pcmBytes(tone)]), 1001), 'audio/wav'),
  )
  const { pcm, rate, error } = await speak(vendor)
  t.equal(error, null)
  t.equal(rate, 8000)
  t.ok(Math.abs(pcm.length - 8000) < 20, `${pcm.length} samples`)
  const settledPart = pcm.slice(400, 7600)
  const rms = Math.sqrt(settledPart.reduce((sum, v) => sum + v * v, 0) / settledPart.length)
  t.ok(Math.abs(rms - 8000 / Math.SQRT2) < 300, `loudness kept: ${rms}`)
})

t.test('unusable audio is an error', async (t) => {
  const { fake, vendor } = await setUp(t)
  fake.enqueue(
    'speech',
    pcmReply([Uint8Array.of(0xff, 0xfb)], 'audio/mpeg'),
    jsonReply('{"audio":"..."}'),
    pcmReply([]),
    pcmReply([Buffer.concat([streamingWavHeader(11_025, 0), pcmBytes(RAMP)])], 'audio/wav'),
    { headers: { 'content-type': 'audio/pcm' }, steps: [{ send: pcmBytes(RAMP) }, { cut: true }] },
    jsonReply(errorBody('no'), 401),
  )
  t.match(await speak(vendor), { pcm: [], error: 'vendor_failed' }, 'compressed')
  t.match(await speak(vendor), { pcm: [], error: 'vendor_failed' }, 'JSON')
  t.match(await speak(vendor), { pcm: [], error: 'vendor_failed' }, 'empty')
  t.match(await speak(vendor), { pcm: [], error: 'vendor_failed' }, 'an odd rate')
  const cut = await speak(vendor)
  t.equal(cut.pcm.length, RAMP.length)
  t.equal(cut.error, 'vendor_failed', 'cut in the middle')
  t.match(await speak(vendor), { error: 'vendor_rejected' })
  t.match(await speak(vendor, { ...REQUEST, text: 'x'.repeat(5000) }), { error: 'vendor_rejected' })
  t.equal(fake.requests.length, 6, 'a text over the limit is not sent')
})

t.test('a stall in the middle ends at the deadline', async (t) => {
  const clock = new VirtualClock()
  const { fake, vendor } = await setUp(t, clock)
  fake.enqueue('speech', {
    headers: { 'content-type': 'audio/pcm' },
    steps: [{ send: pcmBytes(RAMP) }, { stall: true }],
  })
  let heard = (): void => {}
  const first = new Promise<void>((resolve) => {
    heard = resolve
  })
  const failed = new Promise<string>((resolve) => {
    vendor.speak(REQUEST, {
      audio: () => heard(),
      word: () => {},
      done: () => resolve('done'),
      failed: (error) => resolve(error.code),
    })
  })
  await first
  // The reader is waiting for the next piece again.
  await new Promise((resolve) => setTimeout(resolve, 20))
  clock.advance(6001)
  t.equal(await failed, 'vendor_stalled')
  t.equal(clock.pending, 0)
})

t.test('cancelling stops the vendor and all callbacks', async (t) => {
  const { fake, vendor } = await setUp(t)
  fake.enqueue('speech', {
    headers: { 'content-type': 'audio/pcm' },
    steps: Array.from({ length: 50 }, () => [{ send: pcmBytes(RAMP) }, { waitMs: 5 }]).flat(),
  })
  let chunks = 0
  let ended = false
  const handle = vendor.speak(REQUEST, {
    audio: () => {
      chunks++
      if (chunks === 2) handle.cancel()
    },
    word: () => {},
    done: () => {
      ended = true
    },
    failed: () => {
      ended = true
    },
  })
  await fake.until(() => fake.requests[0]?.aborted === true)
  t.equal(chunks, 2)
  t.notOk(ended)
})
