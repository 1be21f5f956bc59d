import t from 'tap'
import { decodeG711, encodeG711 } from '../../../fixtures/audio/g711.js'
import { levelDbfs, tone, toneLevel, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { openBot } from '../../../fixtures/bots/bot.js'
import { openByoService } from '../../../fixtures/bots/byo-service.js'
import { call } from '../../../fixtures/service/caller.js'
import type { Json } from '../../../fixtures/service/service.js'

/*
 * The recording of a bot's call: caller and bot take turns with four tones, each after the end of the one
 * before.
 */

const LENGTH_MS = 300
const AMPLITUDE = 0.3
/** Tolerance of a frame, and of the jitter buffer on a host that stalls. */
const FRAME = 160
const PLAYOUT = 2_000

interface Stretch {
  readonly from: number
  readonly to: number
  /** Counts its audible samples: a skipped frame is a hole. */
  readonly sounding: number
}

/** Returns where there is sound (samples at 8 kHz). Pauses under 150 ms count as sound. */
function stretches(pcm: Int16Array): Stretch[] {
  const found: { from: number; to: number; sounding: number }[] = []
  for (let at = 0; at + 80 <= pcm.length; at += 80) {
    if (levelDbfs(pcm, at, at + 80) < -40) continue
    let last = found.at(-1)
    if (last === undefined || at - last.to >= 1_200) {
      last = { from: at, to: at, sounding: 0 }
      found.push(last)
    }
    last.to = at + 80
    last.sounding += 80
  }
  return found
}

const service = await openByoService(t)

t.test('both voices, each on its channel, at their levels and times', async (t) => {
  const answers = [700, 1200]
  let loudFrames = 0
  let quietFrames = 0
  const bot = await openBot(t, {
    onMessage: (there, { json }) => {
      if (json?.event !== 'media') return
      const ulaw = Buffer.from(String((json.media as Json).payload), 'base64')
      if (levelDbfs(decodeG711('PCMU', ulaw)) > -40) {
        loudFrames++
        quietFrames = 0
      } else if (loudFrames > 0 && ++quietFrames === 3) {
        loudFrames = 0
        const answer = encodeG711('PCMU', tone(answers.shift() ?? 0, LENGTH_MS))
        there.send({ event: 'media', media: { payload: Buffer.from(answer).toString('base64') } })
      }
    },
  })
  const { id, e164 } = await service.routed({
    type: 'static',
    url: bot.url,
    format: 'mulaw',
    sampleRate: 8000,
  })
  await service.api('PATCH', `/v1/numbers/${id}`, { recordCalls: true })
  const caller = await call(t, service, { to: e164, rtp: { codec: 'PCMU' } })
  await caller.answered()
  const callId = await caller.callId()

  // The jitter buffer finds its size in the first second.
  await caller.until('a second', () => caller.rtp.audio().length >= 50)

  /** The first packets of the caller's tones and of the bot's. */
  const said: number[] = []
  const heard: number[] = []
  for (const hz of [440, 950]) {
    const utterance = caller.rtp.say(tone(hz, LENGTH_MS))
    await utterance.done
    const beganMs = utterance.spokenAtMs(0) ?? 0
    said.push(caller.rtp.sent.find(({ atMs }) => atMs > beganMs + 1)?.timestamp ?? 0)
    const before = caller.rtp.audio().length
    const answer = () =>
      caller.rtp
        .audio()
        .slice(before)
        .filter(({ payload }) => levelDbfs(decodeG711('PCMU', payload)) > -40)
    await caller.until('the answer', () => answer().length >= LENGTH_MS / 20)
    heard.push(answer()[0]?.timestamp ?? 0)
    const after = caller.rtp.audio().length
    await caller.until('a pause', () => caller.rtp.audio().length >= after + 20)
  }
  await caller.hangUp()
  t.match(await service.ended(callId), { hasRecording: true })

  const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
  const wav = readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
  t.equal(wav.rate, 8000)
  const [left = new Int16Array(), right = new Int16Array()] = wav.channels
  t.equal(left.length, right.length)
  const [a, c, ...more] = stretches(left)
  const [b, d, ...rest] = stretches(right)
  if (!a || !b || !c || !d)
    throw new Error(`${stretches(left).length} and ${stretches(right).length} stretches`)
  t.strictSame([...more, ...rest], [], 'two on each channel and nothing else')

  for (const [name, pcm, { from, to, sounding }, hz] of [
    ['caller', left, a, 440],
    ['bot', right, b, 700],
    ['caller', left, c, 950],
    ['bot', right, d, 1200],
  ] as const) {
    // Nothing of the bot's audio is lost. The caller's waits in the jitter buffer, which inserts and drops.
    const ms = sounding / 8
    t.ok(Math.abs(ms - LENGTH_MS) <= (name === 'bot' ? 20 : 100), `${name}: ${ms} ms of ${hz} Hz`)
    const level = usualToneLevel(pcm.subarray(from + 400, to - 400), hz)
    t.ok(Math.abs(level - AMPLITUDE) < 0.02, `at ${level.toFixed(3)}`)
  }
  for (const [pcm, others] of [
    [left, [700, 1200]],
    [right, [440, 950]],
  ] as const) {
    for (const hz of others) t.ok(toneLevel(pcm, hz) < 0.001, `no ${hz} Hz on the other channel`)
  }

  // The bot receives packets as they arrive; the recording is made after the jitter buffer.
  t.ok(b.from > a.to - PLAYOUT && c.from > b.to && d.from > c.to - PLAYOUT, 'each after the one before it')
  t.ok(a.from < b.from && c.from < d.from, 'and begins later')
  const apart = (two: readonly number[]) => ((two[1] ?? 0) - (two[0] ?? 0)) | 0
  const ours = d.from - b.from - apart(heard)
  t.ok(Math.abs(ours) <= FRAME, `the bot's as far apart as they were sent: ${ours} samples off`)
  const theirs = c.from - a.from - apart(said)
  t.ok(Math.abs(theirs) <= PLAYOUT, `the caller's as far apart as they were said: ${theirs} samples off`)
})
