import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { baresipInstalled, startBaresipCaller } from '../fixtures/baresip.js'
import { type Json, openService } from '../fixtures/service.js'
import { joined, levelDbfs, tone, toneLevel } from '../fixtures/tones.js'
import { readWav, writeWav } from '../fixtures/wav.js'

/*
 * Whole calls in wideband, from a softphone whose codecs share no line with ours: it plays two tones,
 * one above what a telephone carries, and keeps what it hears of the agent.
 */

const LOW_HZ = 1000
const HIGH_HZ = 5500

/** The greeting is over before the softphone speaks. */
const SPEAKS_FROM_MS = 3500
const SPEAKS_MS = 1500

const service = await openService(t)
t.jobs = 3

for (const { name, module, codec, rate, channels, from } of [
  { name: 'G.722', module: 'g722', codec: 'G722/16000/1', rate: 16_000, channels: 1, from: '+919811120001' },
  { name: 'Opus', module: 'opus', codec: 'opus/48000/2', rate: 48_000, channels: 2, from: '+919811120002' },
  { name: 'L16', module: 'l16', codec: 'L16/16000/1', rate: 16_000, channels: 1, from: '+919811120003' },
]) {
  const skip = !baresipInstalled && 'baresip is not installed (Debian: baresip-core)'
  const options = { skip, buffered: true, timeout: 60_000 }
  t.test(`a call in ${name} is heard, spoken and recorded at 16 kHz`, options, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-wide-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const high = tone(HIGH_HZ, SPEAKS_MS, rate, 0.1)
    const tones = tone(LOW_HZ, SPEAKS_MS, rate, 0.1).map((sample, i) => sample + (high[i] ?? 0))
    const quiet = (ms: number) => new Int16Array((rate / 1000) * ms)
    const sound = joined(quiet(SPEAKS_FROM_MS), tones, quiet(20_000))
    const speaks = join(folder, 'tones.wav')
    await writeFile(speaks, writeWav({ rate, channels: channels === 1 ? [sound] : [sound, sound] }))
    const { address, port } = service.target('udp')
    const phone = await startBaresipCaller(t, {
      user: from,
      modules: [module],
      codec,
      speaks,
      dumps: folder,
      commands: [`/dial sip:${service.number}@${address}:${port}`],
    })
    const heardFile = async () => (await readdir(folder)).find((file) => file.endsWith('-dec.wav'))
    const wanted = (SPEAKS_FROM_MS + SPEAKS_MS + 500) * (rate / 1000) * channels * 2
    await until(
      () => `the call to go on long enough; baresip says ${phone.output()}`,
      async () => {
        const file = await heardFile()
        return file !== undefined && (await stat(join(folder, file))).size >= wanted
      },
    )
    phone.process.kill('SIGTERM')
    const calls = (await service.send('GET', '/v1/calls?limit=100')).body.data as Json[]
    const callId = String(calls.find((candidate) => candidate.from === from)?.id)
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
      const level = toneLevel(middle, hz, 16_000)
      t.ok(Math.abs(level - 0.1) < 0.02, `the caller's ${hz} Hz at ${level.toFixed(3)}`)
    }
    t.ok(loudest(agent) > -30, 'the agent is on the other channel')

    const heard = readWav(new Uint8Array(await readFile(join(folder, String(await heardFile())))))
    const [sound16 = new Int16Array()] = heard.channels
    t.ok(loudest(sound16) > -30, `baresip heard the greeting in ${heard.rate} Hz`)
    const above = highest(sound16, heard.rate)
    t.ok(above > -50, `with sound above 4 kHz, at ${above.toFixed(0)} dB`)
  })
}

async function until(what: () => string, done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${what()}`)
    await new Promise<void>((resolve) => setTimeout(resolve, 50))
  }
}

/** Level of the loudest tenth of a second between 4.5 and 7 kHz: the sibilants of the greeting. */
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

/** Level of the loudest 100 ms or so. */
function loudest(pcm: Int16Array): number {
  let level = -120
  for (let at = 0; at + 1600 <= pcm.length; at += 1600) level = Math.max(level, levelDbfs(pcm, at, at + 1600))
  return level
}
