import t from 'tap'
import { settle } from '../../../fixtures/host/settle.js'
import type { SpeakRequest } from '../../agent/vendor-ports.js'
import { EngineError } from '../../base/errors.js'
import type { Synthesis, SynthesisPort, SynthesisRequest } from './synthesis-port.js'
import { espeakTextToSpeech } from './tts.js'

const REQUEST: SpeakRequest = {
  text: 'One two three.',
  voice: 'asha',
  model: null,
  language: 'en-IN',
  pace: 1,
  rate: 8000,
}

/** A port whose answers the test gives. */
class ManualPort implements SynthesisPort {
  readonly asked: { readonly request: SynthesisRequest; readonly signal: AbortSignal | undefined }[] = []
  answer: (synthesis: Synthesis) => void = () => {}
  fail: (error: Error) => void = () => {}

  synthesize(request: SynthesisRequest, signal?: AbortSignal): Promise<Synthesis> {
    this.asked.push({ request, signal })
    return new Promise((resolve, reject) => {
      this.answer = resolve
      this.fail = reject
    })
  }
}

function speak(port: ManualPort, request = REQUEST): { log: string[]; pcm: number[]; cancel(): void } {
  const log: string[] = []
  const pcm: number[] = []
  const handle = espeakTextToSpeech(port).speak(request, {
    audio: (samples, rate) => {
      pcm.push(...samples)
      log.push(`audio ${samples.length}@${rate}`)
    },
    word: (offset, length, atMs) => log.push(`${request.text.slice(offset, offset + length)} ${atMs}`),
    done: () => log.push('done'),
    failed: (error) => log.push(error.code),
  })
  return { log, pcm, cancel: () => handle.cancel() }
}

t.test('audio in pieces, each after the words that begin in it', async (t) => {
  const port = new ManualPort()
  const spoken = speak(port)
  const pcm = Int16Array.from({ length: 2000 }, (_, i) => i)
  port.answer({
    pcm,
    words: [
      { textOffset: 0, length: 3, atMs: 0 },
      { textOffset: 4, length: 3, atMs: 90 },
      { textOffset: 8, length: 6, atMs: 200 },
    ],
  })
  await settle()
  t.same(spoken.log, [
    'One 0',
    'two 90',
    'audio 800@8000',
    'audio 800@8000',
    'three. 200',
    'audio 400@8000',
    'done',
  ])
  t.same(spoken.pcm, [...pcm])
  t.match(port.asked[0]?.request, {
    text: REQUEST.text,
    voice: 'asha',
    language: 'en-IN',
    pace: 1,
    rate: 8000,
  })
})

t.test('an empty text is done without a request', async (t) => {
  const port = new ManualPort()
  const spoken = speak(port, { ...REQUEST, text: ' … 👍 ' })
  t.same(spoken.log, [], 'never before speak returned')
  await settle()
  t.same(spoken.log, ['done'])
  t.equal(port.asked.length, 0)
})

t.test('failures keep their code', async (t) => {
  const port = new ManualPort()
  const one = speak(port)
  port.fail(new EngineError('overloaded', 'full'))
  await settle()
  t.same(one.log, ['overloaded'])
  const two = speak(port)
  port.fail(new Error('odd'))
  await settle()
  t.same(two.log, ['vendor_failed'])
})

t.test('cancelling before and in the middle of the audio', async (t) => {
  const port = new ManualPort()
  const early = speak(port)
  early.cancel()
  t.ok(port.asked[0]?.signal?.aborted, 'the job is told')
  port.answer({ pcm: new Int16Array(1600), words: [] })
  await settle()
  t.same(early.log, [])

  let chunks = 0
  const handle = espeakTextToSpeech(port).speak(REQUEST, {
    audio: () => {
      chunks++
      handle.cancel()
    },
    word: () => {},
    done: () => t.fail('done after cancel'),
    failed: () => t.fail('failed after cancel'),
  })
  port.answer({ pcm: new Int16Array(1600), words: [] })
  await settle()
  t.equal(chunks, 1)
})
