import t from 'tap'
import { assertNothingLeft } from '../../../fixtures/host/leaks.js'
import { jsonReply, openFakeOpenAi, pcmReply } from '../../../fixtures/vendors/fake-openai.js'
import { pcmBytes } from '../../../fixtures/vendors/openai-frames.js'
import type { SpeakRequest } from '../../agent/vendor-ports.js'
import { systemClock } from '../../base/clock.js'
import { silentLog } from '../../base/log.js'
import { azureTextToSpeech, ssmlOf } from './tts.js'

const REQUEST: SpeakRequest = {
  text: 'नमस्ते <Asha> & "Ravi"\u0007',
  voice: 'hi-IN-SwaraNeural',
  model: 'azure-neural-hi-IN',
  language: 'hi-IN',
  pace: 1,
  rate: 8000,
}

interface Spoken {
  readonly pcm: readonly number[]
  readonly rate: number
  readonly failure: { readonly code: string; readonly retryable?: boolean } | null
}

async function speak(baseUrl: string, request: SpeakRequest = REQUEST): Promise<Spoken> {
  const vendor = azureTextToSpeech(
    { speechUrl: baseUrl.replace(/\/v1$/, ''), apiKey: 'secret-key' },
    { clock: systemClock, log: silentLog },
  )
  const pcm: number[] = []
  let rate = 0
  const failure = await new Promise<Spoken['failure']>((resolve) => {
    vendor.speak(request, {
      audio: (samples, at) => {
        pcm.push(...samples)
        rate = at
      },
      word: () => {},
      done: () => resolve(null),
      failed: resolve,
    })
  })
  return { pcm, rate, failure }
}

t.test('a text is requested as SSML, and its audio arrives at the rate of the call', async (t) => {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  const ramp = Int16Array.from({ length: 500 }, (_, n) => n * 7 - 900)
  const bytes = pcmBytes(ramp)
  // The first piece ends within a sample.
  fake.enqueue('speech', pcmReply([bytes.subarray(0, 333), bytes.subarray(333)], 'audio/x-wav'))
  const { pcm, rate, failure } = await speak(fake.baseUrl)
  t.equal(failure, null)
  t.same(pcm, [...ramp])
  t.equal(rate, 8000)
  const [request] = fake.requests
  t.equal(request?.path, '/cognitiveservices/v1')
  t.match(request?.headers, {
    'ocp-apim-subscription-key': 'secret-key',
    'content-type': 'application/ssml+xml',
    'x-microsoft-outputformat': 'raw-8khz-16bit-mono-pcm',
    'user-agent': 'parley',
    authorization: undefined,
  })
  t.equal(
    request?.body.toString('utf8'),
    '<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="hi-IN"><voice name="hi-IN-SwaraNeural">नमस्ते &lt;Asha&gt; &amp; &quot;Ravi&quot; </voice></speak>',
  )
  fake.enqueue('speech', pcmReply([bytes]))
  t.equal((await speak(fake.baseUrl, { ...REQUEST, rate: 16_000 })).rate, 16_000)
  t.equal(fake.requests[1]?.headers['x-microsoft-outputformat'], 'raw-16khz-16bit-mono-pcm')
})

t.test('pace and the tag of Odia', async (t) => {
  const odia = { ...REQUEST, text: 'A', language: 'od-IN', voice: 'or-IN-SubhasiniNeural' }
  t.match(ssmlOf({ ...odia, pace: 1.2 }), /xml:lang="or-IN".*<prosody rate="\+20%">A<\/prosody>/)
  t.match(ssmlOf({ ...odia, pace: 0.85 }), /<prosody rate="-15%">/)
})

t.test('refusals have their class, and an answer without audio is a failure', async (t) => {
  assertNothingLeft(t)
  const fake = await openFakeOpenAi()
  t.teardown(() => fake.close())
  for (const [status, code] of [
    [400, 'vendor_rejected'],
    [401, 'vendor_rejected'],
    [429, 'vendor_rate_limited'],
    [502, 'vendor_failed'],
  ] as const) {
    const reply = jsonReply('', status, { 'retry-after': '0' })
    fake.enqueue('speech', reply, ...(status > 401 ? [reply] : []))
    t.match((await speak(fake.baseUrl)).failure, { code, retryable: status > 401 }, String(status))
  }
  fake.enqueue('speech', pcmReply([]))
  t.match((await speak(fake.baseUrl)).failure, { code: 'vendor_failed', retryable: true })
})
