import t, { type Test } from 'tap'
import { VirtualClock } from '../../../fixtures/host/clock.js'
import { until } from '../../../fixtures/host/until.js'
import { ConformanceTable } from '../../../fixtures/vendors/conformance.js'
import { type FakeVendorSocket, openFakeVendorSocket } from '../../../fixtures/vendors/fake-vendor-socket.js'
import { pcmBytes } from '../../../fixtures/vendors/openai-frames.js'
import { SARVAM, SPEECH_PROTOCOLS, type SpeechProtocol } from '../../../fixtures/vendors/speech-messages.js'
import type { Cancellable, SpeakRequest, TextToSpeech } from '../../agent/vendor-ports.js'
import type { EngineError } from '../../base/errors.js'
import { silentLog } from '../../base/log.js'
import { Scope } from '../../base/scope.js'
import { cartesiaTextToSpeech } from '../cartesia/tts.js'
import { elevenLabsTextToSpeech } from '../elevenlabs/tts.js'
import { sarvamTextToSpeech } from '../sarvam/tts.js'

/* Duties of every synthesis over a socket, shown for each vendor against its own literal messages. */

interface Rig {
  readonly fake: FakeVendorSocket
  readonly clock: VirtualClock
  readonly vendor: TextToSpeech
}

/** Results of one text. */
interface Spoken {
  readonly job: Cancellable
  readonly pcm: number[]
  readonly words: [offset: number, length: number, atMs: number][]
  readonly ends: ('done' | EngineError)[]
}

const VOICES = [{ name: 'asha', id: 'voice-id-1' }]

async function rig(t: Test, wire: SpeechProtocol): Promise<Rig> {
  const fake = await openFakeVendorSocket()
  const clock = new VirtualClock()
  const deps = { clock, log: silentLog }
  const apiKey = 'secret-key'
  const { baseUrl } = fake
  const vendor = wire.name.startsWith('Eleven')
    ? elevenLabsTextToSpeech({ baseUrl, apiKey, voices: VOICES }, deps)
    : wire.name.startsWith('Cartesia')
      ? cartesiaTextToSpeech({ baseUrl, apiKey, version: '2026-03-01', voices: VOICES }, deps)
      : sarvamTextToSpeech({ baseUrl, apiKey, languageField: 'target_language_code' }, deps)
  t.teardown(() => fake.close())
  return { fake, clock, vendor }
}

function speak(
  { vendor }: Rig,
  wire: SpeechProtocol,
  text: string,
  over: Partial<SpeakRequest> = {},
): Spoken {
  const spoken = { pcm: [] as number[], words: [] as Spoken['words'], ends: [] as Spoken['ends'] }
  const voice = wire === SARVAM ? 'shubh' : 'asha'
  const request = { text, voice, model: null, language: 'hi-IN', pace: 1, rate: 8000 as const, ...over }
  const job = vendor.speak(request, {
    audio: (pcm) => spoken.pcm.push(...pcm),
    word: (offset, length, atMs) => spoken.words.push([offset, length, atMs]),
    done: () => spoken.ends.push('done'),
    failed: (error) => spoken.ends.push(error),
  })
  return { job, ...spoken }
}

const ramp = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i)

const TABLE = new ConformanceTable()

for (const wire of SPEECH_PROTOCOLS) {
  t.test(wire.name, async (t) => {
    const proves = TABLE.column(t, wire.name)
    proves('sends the request in the vendor’s format and returns the audio sample by sample', async (t) => {
      const r = await rig(t, wire)
      const spoken = speak(r, wire, 'Namaste ji')
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      t.match(r.fake.last.url.pathname, wire.path)
      t.match(Object.fromEntries(r.fake.last.url.searchParams), wire.query)
      t.equal(r.fake.last.headers[wire.auth[0]], wire.auth[1])
      t.match(wire.voiceMessage(r.fake.last), wire.voice)
      const [request] = asked(r, wire)
      t.equal(request?.text, 'Namaste ji')
      for (const odd of ['', 'not json', '{"type":"sunshine"}', ...wire.oddities]) r.fake.last.send(odd)
      const context = request?.context ?? null
      // 1,000 samples, cut in the middle of one.
      const bytes = pcmBytes(ramp(-500, 1000))
      for (const piece of [bytes.subarray(0, 333), bytes.subarray(333, 334), bytes.subarray(334)]) {
        r.fake.last.send(wire.audio(context, piece))
      }
      r.fake.last.send(wire.done(context))
      await until(() => spoken.ends.length > 0)
      t.same(spoken.pcm, ramp(-500, 1000))
      t.same(spoken.ends, ['done'])
      r.fake.last.send(wire.audio(context, bytes))
      r.fake.last.send(wire.done(context))
      await turns()
      t.equal(spoken.ends.length, 1, 'it ends once')
      t.equal(spoken.pcm.length, 1000)
    })

    proves('reports word times', { skip: wire.words(null) === null }, async (t) => {
      const r = await rig(t, wire)
      const spoken = speak(r, wire, 'Namaste ji')
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      const context = asked(r, wire)[0]?.context ?? null
      const message = wire.words(context)
      if (message === null) throw new Error('a vendor without word times skips this case')
      r.fake.last.send(message)
      r.fake.last.send(wire.audio(context, new Uint8Array(4)))
      r.fake.last.send(wire.done(context))
      await until(() => spoken.ends.length > 0)
      t.match(spoken.words, [
        [0, 7, Number],
        [8, 2, Number],
      ])
      t.ok((spoken.words[1]?.[2] ?? 0) > (spoken.words[0]?.[2] ?? 0))
    })

    proves('a second text uses the same connection', async (t) => {
      const r = await rig(t, wire)
      for (const text of ['Ek.', 'Do.']) {
        const spoken = speak(r, wire, text)
        await r.fake.until(() => asked(r, wire).at(-1)?.text === text, text)
        const context = asked(r, wire).at(-1)?.context ?? null
        r.fake.last.send(wire.audio(context, pcmBytes([1, 2, 3])))
        r.fake.last.send(wire.done(context))
        await until(() => spoken.ends.length > 0)
        t.same(spoken.pcm, [1, 2, 3])
      }
      t.equal(r.fake.connections.length, 1)
    })

    proves('a stopped text is silent at once, and the next one is unaffected', async (t) => {
      const r = await rig(t, wire)
      const first = speak(r, wire, 'A long sentence.')
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      const connection = r.fake.last
      const context = asked(r, wire)[0]?.context ?? null
      connection.send(wire.audio(context, pcmBytes([1])))
      await until(() => first.pcm.length > 0)
      first.job.cancel()
      first.job.cancel()
      if (wire.stopped(connection) === null) {
        await r.fake.until(() => connection.closeCode !== null, 'the close')
        await r.fake.until(() => r.fake.connections.length === 2, 'a connection ahead of need')
      } else {
        await r.fake.until(() => wire.stopped(connection)?.length === 1, 'the stop')
        t.same(wire.stopped(connection), [context])
        connection.send(wire.audio(context, pcmBytes([7, 7, 7])))
      }
      const second = speak(r, wire, 'Another.')
      await r.fake.until(() => asked(r, wire).at(-1)?.text === 'Another.', 'the next text')
      const next = asked(r, wire).at(-1)?.context ?? null
      r.fake.last.send(wire.audio(next, pcmBytes([2, 3])))
      r.fake.last.send(wire.done(next))
      await until(() => second.ends.length > 0)
      t.same(second.pcm, [2, 3])
      t.same(first.pcm, [1])
      t.same(first.ends, [])
      t.ok(r.fake.connections.length <= 2)
    })

    const { finished } = wire
    const single = finished === null
    proves(
      'the texts of a reply share a context, each with its own audio and words',
      { skip: single },
      async (t) => {
        const r = await rig(t, wire)
        const reply = new Scope()
        const spoken = [speak(r, wire, 'Ek.', { reply })]
        await r.fake.until(() => asked(r, wire).length === 1, 'the first text')
        const context = asked(r, wire)[0]?.context ?? null
        endText(r, wire, context, 'Ek.', [1, 2, 3])
        await until(() => spoken[0]?.ends.length === 1)
        spoken.push(speak(r, wire, 'Namaste ji', { reply }))
        await r.fake.until(() => asked(r, wire).length === 2, 'the second text')
        t.equal(asked(r, wire)[1]?.text, 'Namaste ji')
        t.equal(asked(r, wire)[1]?.context, context)
        t.notOk(finished?.(r.fake.last, context))
        await reply.close()
        await r.fake.until(() => finished?.(r.fake.last, context) === true, 'the end of the reply')
        r.fake.last.send(wire.words(context) ?? '')
        r.fake.last.send(wire.audio(context, pcmBytes([4, 5])))
        await turns()
        t.same(spoken[1]?.ends, [], 'the end of the context follows')
        r.fake.last.send(wire.done(context))
        await until(() => spoken[1]?.ends.length === 1)
        t.same(spoken[0]?.pcm, [1, 2, 3])
        t.same(spoken[1]?.pcm.slice(-2), [4, 5])
        t.match(spoken[1]?.words, [
          [0, 7, Number],
          [8, 2, Number],
        ])
        t.ok((spoken[1]?.words[0]?.[2] ?? 999) < 50, 'times count from the text')
        t.same(spoken[0]?.ends.concat(spoken[1]?.ends ?? []), ['done', 'done'])
        t.equal(r.clock.pending, 2, 'the pings and the idle check')
      },
    )

    proves('a text that is cut ends the context of its reply', { skip: single }, async (t) => {
      const r = await rig(t, wire)
      const reply = new Scope()
      const first = speak(r, wire, 'Ek.', { reply })
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      const context = asked(r, wire)[0]?.context ?? null
      r.fake.last.send(wire.audio(context, pcmBytes([1])))
      await until(() => first.pcm.length > 0)
      first.job.cancel()
      await r.fake.until(
        () => wire.stopped(r.fake.last)?.length === 1 || finished?.(r.fake.last, context) === true,
        'the stop',
      )
      const second = speak(r, wire, 'Do.', { reply })
      await r.fake.until(() => asked(r, wire).length === 2, 'the next text')
      const next = asked(r, wire)[1]?.context ?? null
      t.not(next, context)
      r.fake.last.send(wire.audio(context, pcmBytes([7])))
      endText(r, wire, next, 'Do.', [2])
      await until(() => second.ends.length > 0)
      t.same(second.pcm, [2])
      t.same(first.pcm, [1])
      await reply.close()
      await r.fake.until(() => finished?.(r.fake.last, next) === true, 'the end of the reply')
    })

    proves('a text of another voice, language or speed has its own context', { skip: single }, async (t) => {
      const r = await rig(t, wire)
      const reply = new Scope()
      const contexts = new Set<unknown>()
      for (const over of [{}, { pace: 1.1 }, { pace: 1.1, model: 'another' }]) {
        const spoken = speak(r, wire, 'Ek.', { reply, ...over })
        await r.fake.until(() => asked(r, wire).length > 0 && !contexts.has(latest(r, wire)), 'the text')
        const context = latest(r, wire)
        contexts.add(context)
        endText(r, wire, context, 'Ek.', [1])
        await until(() => spoken.ends.length > 0)
      }
      t.equal(contexts.size, 3)
    })

    proves('a text that ends unnoticed finishes its context', { skip: single }, async (t) => {
      const r = await rig(t, wire)
      const reply = new Scope()
      const spoken = speak(r, wire, 'Ek.', { reply })
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      const context = latest(r, wire)
      r.fake.last.send(wire.audio(context, pcmBytes([1])))
      await until(() => spoken.pcm.length > 0)
      t.notOk(finished?.(r.fake.last, context))
      r.clock.advance(400)
      await r.fake.until(() => finished?.(r.fake.last, context) === true, 'the end of the context')
      r.fake.last.send(wire.done(context))
      await until(() => spoken.ends.length > 0)
      t.same(spoken.ends, ['done'])
      const next = speak(r, wire, 'Do.', { reply })
      await r.fake.until(() => asked(r, wire).length === 2, 'the next text')
      t.not(latest(r, wire), context)
      next.job.cancel()
    })

    proves('a vendor error fails the text', async (t) => {
      const r = await rig(t, wire)
      const spoken = speak(r, wire, 'Ek.')
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      r.fake.last.send(wire.failure(asked(r, wire)[0]?.context ?? null))
      await until(() => spoken.ends.length > 0)
      t.match(spoken.ends, [{ code: 'vendor_rejected' }])
    })

    proves('a text without audio fails', async (t) => {
      const r = await rig(t, wire)
      const spoken = speak(r, wire, 'Ek.')
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      r.fake.last.send(wire.done(asked(r, wire)[0]?.context ?? null))
      await until(() => spoken.ends.length > 0)
      t.match(spoken.ends, [{ code: 'vendor_failed', retryable: true }])
    })

    proves('a lost connection fails its texts, the next text opens another', async (t) => {
      const r = await rig(t, wire)
      const spoken = speak(r, wire, 'Ek.')
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      r.fake.last.break()
      await until(() => spoken.ends.length > 0)
      t.match(spoken.ends, [{ retryable: true }])
      const again = speak(r, wire, 'Ek.')
      await r.fake.until(
        () => r.fake.connections.length === 2 && asked(r, wire).length === 1,
        'the text again',
      )
      r.fake.last.close(...wire.permanentClose)
      await until(() => again.ends.length > 0)
      t.match(again.ends, [{ code: 'vendor_rejected', retryable: false }])
    })

    proves('a rejected connection, and one that never opens', async (t) => {
      const r = await rig(t, wire)
      r.fake.refuse({ status: 401, body: '{"detail":"no such key"}' }, { status: 503, body: '' })
      const refused = speak(r, wire, 'Ek.')
      await until(() => refused.ends.length > 0)
      t.match(refused.ends, [{ code: 'vendor_rejected', retryable: false }])
      const busy = speak(r, wire, 'Ek.')
      await until(() => busy.ends.length > 0)
      t.match(busy.ends, [{ code: 'vendor_failed', retryable: true }])
      const late = speak(r, wire, 'Ek.')
      r.clock.advance(4000)
      t.match(late.ends, [{ code: 'vendor_unreachable', retryable: true }])
    })

    proves('an idle connection is kept, then closed; no timer remains', async (t) => {
      const r = await rig(t, wire)
      const spoken = speak(r, wire, 'Ek.')
      await r.fake.until(() => asked(r, wire).length === 1, 'the text')
      const context = asked(r, wire)[0]?.context ?? null
      r.fake.last.send(wire.audio(context, pcmBytes([1])))
      r.fake.last.send(wire.done(context))
      await until(() => spoken.ends.length > 0)
      const { keepAlive } = wire
      if (keepAlive !== null) {
        for (let ms = 0; ms < keepAlive.afterMs; ms += 5000) {
          r.clock.advance(5000)
          await turns()
        }
        await r.fake.until(() => r.fake.last.texts.length > 3, 'a keep-alive')
        t.match(r.fake.last.texts.at(-1), keepAlive.message)
      }
      for (let n = 0; n < 40 && r.fake.last.closeCode === null; n++) {
        r.clock.advance(9000)
        await turns()
      }
      t.equal(r.fake.last.closeCode, 1000)
      t.equal(r.clock.pending, 0)
    })
  })
}

t.test('docs/vendors.md shows the cases', async (t) => TABLE.check(t))

t.test('Sarvam: requests that the vendor would reject without a reason are rejected locally', async (t) => {
  const r = await rig(t, SARVAM)
  t.throws(() => speak(r, SARVAM, 'Ek.', { voice: 'anushka' }), {
    code: 'vendor_rejected',
    message: /anushka/,
  })
  t.throws(() => speak(r, SARVAM, 'a'.repeat(2501)), { code: 'vendor_rejected', message: /2500/ })
  t.throws(() => speak(r, SARVAM, 'Ek.', { model: 'bulbul:v4-flash' }), {
    code: 'vendor_rejected',
    message: /shubh/,
  })
  t.equal(r.fake.connections.length, 0)
})

t.test('Sarvam: a persona that no catalogue lists is left to the vendor', async (t) => {
  const r = await rig(t, SARVAM)
  speak(r, SARVAM, 'Ek.', { model: 'bulbul:v4-flash', voice: 'kavya_hi_conversational' })
  await r.fake.until(() => asked(r, SARVAM).length === 1, 'the text')
  t.match(r.fake.last.texts[0]?.data, { speaker: 'kavya_hi_conversational' })
})

t.test('Sarvam: the other name of the language field is tried after a validation error', async (t) => {
  const r = await rig(t, SARVAM)
  const refused = speak(r, SARVAM, 'Ek.')
  await r.fake.until(() => asked(r, SARVAM).length === 1, 'the text')
  r.fake.last.send(SARVAM.failure(null))
  await until(() => refused.ends.length > 0)
  speak(r, SARVAM, 'Ek.', { language: 'or-IN' })
  await r.fake.until(() => r.fake.connections.length === 2 && asked(r, SARVAM).length === 1, 'the text again')
  const config = r.fake.last.texts[0]?.data
  t.match(config, { language_code: 'od-IN' })
  t.notOk(Object.hasOwn(Object(config), 'target_language_code'))
})

t.test('ElevenLabs: concurrent texts per connection are limited', async (t) => {
  const [wire] = SPEECH_PROTOCOLS
  const r = await rig(t, wire)
  for (let n = 0; n < 6; n++) speak(r, wire, `Text ${n}.`)
  await r.fake.until(
    () => r.fake.connections.flatMap((connection) => wire.requestOf(connection)).length === 6,
    'all texts',
  )
  t.same(
    r.fake.connections.map((connection) => wire.requestOf(connection).length),
    [4, 2],
  )
})

t.test('ElevenLabs: a stopped text counts until its last message', async (t) => {
  const [wire] = SPEECH_PROTOCOLS
  const r = await rig(t, wire)
  const texts = (count: number) =>
    r.fake.until(
      () => r.fake.connections.flatMap((connection) => wire.requestOf(connection)).length === count,
      `${count} texts`,
    )
  const first = Array.from({ length: 4 }, (_, n) => speak(r, wire, `Text ${n}.`))
  await texts(4)
  const [connection] = r.fake.connections
  for (const { job } of first) job.cancel()
  await r.fake.until(() => (connection ? wire.stopped(connection)?.length : 0) === 4, 'four stops')
  speak(r, wire, 'On another connection.')
  await texts(5)
  t.equal(connection && wire.requestOf(connection).length, 4, 'the vendor still counts four')
  const stopped = connection ? wire.requestOf(connection)[0]?.context : null
  connection?.send(wire.done(stopped ?? null))
  await turns()
  speak(r, wire, 'Where there is room again.')
  await texts(6)
  t.equal(connection && wire.requestOf(connection).length, 5)
})

t.test('ElevenLabs: each call has its own connection, which ends with it', async (t) => {
  const [wire] = SPEECH_PROTOCOLS
  const r = await rig(t, wire)
  const calls = [new Scope(), new Scope()]
  for (const call of calls) for (const text of ['Ek.', 'Do.']) speak(r, wire, text, { call })
  await r.fake.until(
    () => r.fake.connections.flatMap((connection) => wire.requestOf(connection)).length === 4,
    'all texts',
  )
  t.same(
    r.fake.connections.map((connection) => wire.requestOf(connection).length),
    [2, 2],
  )
  for (const [index, call] of calls.entries()) {
    await call.close()
    await r.fake.until(() => r.fake.connections[index]?.closeCode === 1000, 'the close')
  }
  t.equal(r.clock.pending, 0)
  t.throws(() => speak(r, wire, 'Late.', { call: calls[0] ?? new Scope() }), { code: 'vendor_rate_limited' })
})

t.test('ElevenLabs: audio after the last character belongs to the next text of the reply', async (t) => {
  const [wire] = SPEECH_PROTOCOLS
  const r = await rig(t, wire)
  const reply = new Scope()
  const first = speak(r, wire, 'Ek.', { reply })
  await r.fake.until(() => asked(r, wire).length === 1, 'the text')
  const context = latest(r, wire)
  endText(r, wire, context, 'Ek.', [1])
  await until(() => first.ends.length > 0)
  r.fake.last.send(wire.audio(context, pcmBytes([2, 3])))
  await turns()
  const second = speak(r, wire, 'Do.', { reply })
  await r.fake.until(() => asked(r, wire).length === 2, 'the next text')
  endText(r, wire, context, 'Do.', [4])
  await until(() => second.ends.length > 0)
  t.same(first.pcm, [1])
  t.same(second.pcm, [2, 3, 4])
  await reply.close()
})

t.test('Cartesia: a context that the vendor has dropped is not continued', async (t) => {
  const [, wire] = SPEECH_PROTOCOLS
  const r = await rig(t, wire)
  t.ok(r.vendor.followsAtOnce)
  const reply = new Scope()
  const first = speak(r, wire, 'Ek.', { reply })
  await r.fake.until(() => asked(r, wire).length === 1, 'the text')
  const context = latest(r, wire)
  endText(r, wire, context, 'Ek.', [1])
  await until(() => first.ends.length > 0)
  r.clock.advance(800)
  speak(r, wire, 'Do.', { reply })
  await r.fake.until(() => asked(r, wire).length === 2, 'the next text')
  t.not(latest(r, wire), context)
  t.notOk(wire.finished?.(r.fake.last, context), 'the vendor does not know it any more')
})

t.test('ElevenLabs: a word whose letters come in two messages is one word', async (t) => {
  const [wire] = SPEECH_PROTOCOLS
  const r = await rig(t, wire)
  const spoken = speak(r, wire, 'It is open until nine.')
  await r.fake.until(() => asked(r, wire).length === 1, 'the text')
  for (const text of ['It is open un', 'til nine.']) endText(r, wire, latest(r, wire), text, [1])
  r.fake.last.send(wire.done(latest(r, wire)))
  await until(() => spoken.ends.length > 0)
  t.same(
    spoken.words.map(([offset]) => offset),
    [0, 3, 6, 11, 17],
  )
})

t.test('ElevenLabs: a message of megabytes', async (t) => {
  const [wire] = SPEECH_PROTOCOLS
  const r = await rig(t, wire)
  const spoken = speak(r, wire, 'A long text.')
  await r.fake.until(() => asked(r, wire).length === 1, 'the text')
  const context = asked(r, wire)[0]?.context ?? null
  const times = `"normalizedAlignment":"${'x'.repeat(4 * 1024 * 1024)}"`
  r.fake.last.send(wire.audio(context, pcmBytes([1, 2, 3])).replace('"normalizedAlignment":null', times))
  r.fake.last.send(wire.done(context))
  await until(() => spoken.ends.length > 0)
  t.same(spoken.pcm, [1, 2, 3])
})

function asked(r: Rig, wire: SpeechProtocol) {
  return r.fake.connections.length === 0 ? [] : wire.requestOf(r.fake.last)
}

/** The context of the latest text. */
function latest(r: Rig, wire: SpeechProtocol): string | null {
  return asked(r, wire).at(-1)?.context ?? null
}

/** Sends the audio of a text and the vendor's sign for its end; the context stays open. */
function endText(
  { fake }: Rig,
  wire: SpeechProtocol,
  context: string | null,
  text: string,
  samples: number[],
): void {
  const audio = wire.audio(context, pcmBytes(samples))
  const chars = [' ', ...text]
  const alignment = { chars, charStartTimesMs: chars.map((_, i) => i), charDurationsMs: chars.map(() => 1) }
  fake.last.send(audio.replace('"alignment":null', `"alignment":${JSON.stringify(alignment)}`))
  if (wire.textDone !== null) fake.last.send(wire.textDone(context))
}

/** Long enough for a message on loopback to have come. */
async function turns(): Promise<void> {
  for (let n = 0; n < 200; n++) await new Promise((resolve) => setImmediate(resolve))
}
