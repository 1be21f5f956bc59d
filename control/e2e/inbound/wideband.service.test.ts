import t from 'tap'
import { levelDbfs, toneLevel, usualToneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { openService } from '../../../fixtures/service/service.js'
import { baresipInstalled } from '../../../fixtures/sip/baresip.js'
import {
  AMPLITUDE,
  callWideband,
  HIGH_HZ,
  LOW_HZ,
  WIDEBAND_CODECS,
} from '../../../fixtures/sip/wideband-phone.js'

/*
 * Wideband calls from a softphone whose codecs share no code with ours. It plays two tones, one of them above
 * the telephone band, and records what it hears of the agent.
 */

/** The greeting ends before the softphone speaks. */
const SPEAKS_FROM_MS = 3500
const SPEAKS_MS = 1500

const service = await openService(t)
t.jobs = 3

for (const [i, codec] of Object.values(WIDEBAND_CODECS).entries()) {
  const skip = !baresipInstalled && 'baresip is not installed (Debian: baresip-core)'
  const options = { skip, buffered: true, timeout: 150_000 }
  t.test(`a call in ${codec.name} is recognised, spoken and recorded at 16 kHz`, options, async (t) => {
    const from = `+91981112000${i + 1}`
    const phone = await callWideband(t, service, {
      codec,
      from,
      to: service.number,
      toneFromMs: SPEAKS_FROM_MS,
      toneMs: SPEAKS_MS,
    })
    await phone.receivedMs(SPEAKS_FROM_MS + SPEAKS_MS + 500)
    const callId = await phone.hangUp()
    const call = await service.ended(callId)
    t.match(call, { endedReason: 'caller_hangup', hasRecording: true, from })
    t.match(service.of(callId, 'ended')[0]?.rtp, { lost: 0, refused: 0 })

    const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
    const wav = readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
    t.equal(wav.rate, 16_000)
    const [caller = new Int16Array(), agent = new Int16Array()] = wav.channels
    const loud = caller.findIndex((sample) => Math.abs(sample) > 3000)
    const middle = caller.subarray(loud + 3200, loud + 16_000)
    for (const hz of [LOW_HZ, HIGH_HZ]) {
      const level = usualToneLevel(middle, hz, 16_000)
      t.ok(Math.abs(level - AMPLITUDE) < 0.02, `the caller's ${hz} Hz at ${level.toFixed(3)}`)
    }
    t.ok(loudest(agent) > -30, 'the agent is on the other channel')

    const heard = await phone.heard()
    const [sound16 = new Int16Array()] = heard.channels
    t.ok(loudest(sound16) > -30, `baresip heard the greeting in ${heard.rate} Hz`)
    const above = highest(sound16, heard.rate)
    t.ok(above > -50, `with sound above 4 kHz, at ${above.toFixed(0)} dB`)
  })
}

/**
 * Returns the level of the loudest tenth of a second between 4.5 and 7 kHz: the sibilants of the greeting.
 */
function highest(pcm: Int16Array, rate: number): number {
  let most = 0
  for (let at = 0; at + rate / 10 <= pcm.length; at += rate / 10) {
    const piece = pcm.subarray(at, at + rate / 10)
    let power = 0
    for (let hz = 4500; hz < 7000; hz += 50) power += toneLevel(piece, hz, rate) ** 2
    most = Math.max(most, power)
  }
  return 10 * Math.log10(most)
}

/** Returns the level of the loudest 100 ms. */
function loudest(pcm: Int16Array): number {
  let level = -120
  for (let at = 0; at + 1600 <= pcm.length; at += 1600) level = Math.max(level, levelDbfs(pcm, at, at + 1600))
  return level
}
