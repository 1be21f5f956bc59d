import t from 'tap'
import { joined, tone, toneLevel, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { openAudioSocketBot } from '../../../fixtures/bots/audiosocket-bot.js'
import { openBot } from '../../../fixtures/bots/bot.js'
import { encodeFor } from '../../../fixtures/bots/bot-messages.js'
import { type ByoService, openByoService } from '../../../fixtures/bots/byo-service.js'
import type { Json } from '../../../fixtures/service/service.js'
import { baresipInstalled } from '../../../fixtures/sip/baresip.js'
import {
  AMPLITUDE,
  callWideband,
  HIGH_HZ,
  LOW_HZ,
  WIDEBAND_CODECS,
  type WidebandCodec,
} from '../../../fixtures/sip/wideband-phone.js'

/*
 * Bots in wideband calls. A softphone plays two tones, one of them above the telephone band; the bot must
 * hear both and answers with two others, which the softphone must hear. The recording contains all four, two
 * on each channel.
 */

const ANSWER_LOW_HZ = 1500
const ANSWER_HIGH_HZ = 6000
const SAYS_MS = 1200
/** The bot answers after it has heard this much of the caller. */
const HEARD_MS = 600
const ANSWER_MS = 1000
/** Tolerance of the jitter buffer on a host that stalls at times. */
const PLAYOUT_MS = 300

interface Wire {
  readonly name: string
  readonly codec: WidebandCodec
  readonly rate: number
  /** Opens a bot that passes what it hears to `said` and plays what that returns. Returns its address. */
  open(t: BotTest, said: (pcm: Int16Array) => Int16Array | null): Promise<Json>
}

interface BotTest {
  teardown(run: () => Promise<void>): unknown
}

const pcmOf = (bytes: Buffer) =>
  Int16Array.from({ length: bytes.length / 2 }, (_, i) => bytes.readInt16LE(2 * i))

/** A bot of the native protocol. */
function native(codec: WidebandCodec, rate: number): Wire {
  return {
    name: `a ${rate} Hz bot in a call in ${codec.name}`,
    codec,
    rate,
    async open(t, said) {
      const bot = await openBot(t, {
        onMessage: (call, { json }) => {
          if (json?.event !== 'media') return
          const answer = said(pcmOf(Buffer.from(String((json.media as Json).payload), 'base64')))
          if (answer !== null) call.send(encodeFor('linear16', answer))
        },
      })
      return { type: 'static', url: bot.url, format: 'linear16', sampleRate: rate }
    },
  }
}

/** A bot of AudioSocket at 16 kHz. */
const stream: Wire = {
  name: 'a 16000 Hz AudioSocket bot in a call in L16',
  codec: WIDEBAND_CODECS.l16,
  rate: 16_000,
  async open(t, said) {
    const bot = await openAudioSocketBot(t, {
      onFrame: (call, { kind, payload }) => {
        const answer = kind === 0x12 ? said(pcmOf(payload)) : null
        if (answer !== null) call.send(0x12, encodeFor('linear16', answer))
      },
    })
    return { type: 'audiosocket', url: bot.url, sampleRate: 16_000 }
  },
}

const service = await openByoService(t)
t.jobs = 4
const skip = !baresipInstalled && 'baresip is not installed (Debian: baresip-core)'

const WIRES = [
  native(WIDEBAND_CODECS.g722, 16_000),
  native(WIDEBAND_CODECS.opus, 24_000),
  native(WIDEBAND_CODECS.opus, 16_000),
  stream,
]
for (const [i, wire] of WIRES.entries()) {
  t.test(wire.name, { skip, buffered: true, timeout: 150_000 }, async (t) => {
    const { rate, codec } = wire
    const heard: Int16Array[] = []
    let heardMs = 0
    let answered = false
    const endpoint = await wire.open(t, (pcm) => {
      heard.push(pcm)
      if (toneLevel(pcm, LOW_HZ, rate) > AMPLITUDE / 2) heardMs += 20
      if (answered || heardMs < HEARD_MS) return null
      answered = true
      const high = tone(ANSWER_HIGH_HZ, ANSWER_MS, rate, AMPLITUDE)
      return tone(ANSWER_LOW_HZ, ANSWER_MS, rate, AMPLITUDE).map((sample, at) => sample + (high[at] ?? 0))
    })
    const { id, e164 } = await service.routed(endpoint)
    await service.api('PATCH', `/v1/numbers/${id}`, { recordCalls: true })
    const phone = await callWideband(t, service, {
      codec,
      from: `+91981113000${i + 1}`,
      to: e164,
      toneFromMs: 500,
      toneMs: SAYS_MS,
    })
    await phone.receivedMs(4_000)
    const callId = await phone.hangUp()
    t.match(await service.ended(callId), { endedReason: 'caller_hangup', hasRecording: true })

    holds(t, 'the bot', joined(...heard), rate, [LOW_HZ, HIGH_HZ], [])
    const [line = new Int16Array()] = (await phone.heard()).channels
    holds(t, 'the caller', line, codec.rate, [ANSWER_LOW_HZ, ANSWER_HIGH_HZ], [])
    const recording = await recordingOf(service, callId)
    t.equal(recording.rate, 16_000)
    const [left = new Int16Array(), right = new Int16Array()] = recording.channels
    const said = holds(
      t,
      'the left channel',
      left,
      16_000,
      [LOW_HZ, HIGH_HZ],
      [ANSWER_LOW_HZ, ANSWER_HIGH_HZ],
    )
    const replied = holds(
      t,
      'the right channel',
      right,
      16_000,
      [ANSWER_LOW_HZ, ANSWER_HIGH_HZ],
      [LOW_HZ, HIGH_HZ],
    )
    // The bot receives packets as they arrive; the recording is made after the jitter buffer.
    t.ok(replied - said > (HEARD_MS - PLAYOUT_MS) * 16, 'the answer begins after what it answers')
  })
}

/** Asserts that the expected tones have their levels and the others are absent. Returns where they begin. */
function holds(
  t: { ok(what: unknown, name: string): boolean },
  who: string,
  pcm: Int16Array,
  rate: number,
  wanted: readonly number[],
  others: readonly number[],
): number {
  const begins = pcm.findIndex((sample) => Math.abs(sample) > (AMPLITUDE * 32_767) / 2)
  const middle = pcm.subarray(begins + rate * 0.2, begins + rate * 0.8)
  for (const hz of wanted) {
    const level = usualToneLevel(middle, hz, rate)
    t.ok(Math.abs(level - AMPLITUDE) < 0.02, `${who} hears ${hz} Hz at ${level.toFixed(3)}`)
  }
  for (const hz of others) {
    const level = toneLevel(pcm, hz, rate)
    t.ok(level < 0.002, `${who} has no ${hz} Hz, ${level.toFixed(4)}`)
  }
  return begins
}

async function recordingOf({ api }: ByoService, callId: string) {
  const { url } = await api('GET', `/v1/calls/${callId}/recording`)
  return readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
}
