import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { alignNear } from '../../../fixtures/audio/align.js'
import { encodeG711 } from '../../../fixtures/audio/g711.js'
import { clearToneLevel, joined, levelDbfs, tone, toneLevel } from '../../../fixtures/audio/tones.js'
import { readWav } from '../../../fixtures/audio/wav.js'
import { call } from '../../../fixtures/service/caller.js'
import { type Json, openService } from '../../../fixtures/service/service.js'
import { cseqOf } from '../../../fixtures/sip/sip-message.js'
import { runSipp } from '../../../fixtures/sip/sipp.js'
import { findClip, readClip } from '../../../fixtures/speech/manifest.js'

/*
 * Calls to the whole service over real SIP and RTP, from sipp and from a test phone that shares no code with
 * the product. They run in parallel on one media worker.
 */

/**
 * Length of a stretch of speech that is searched for as a whole, and its largest offset in either direction
 * (samples).
 */
const CHUNK = 400
const AROUND = 2_400
/** Leading silence (samples): sipp sends at once, but on a slow host media connects only later. */
const LEAD = 16_000

const service = await openService(t)
t.jobs = 4

/** Options of a test that runs in parallel; each test needs its own object. */
const beside = () => ({ buffered: true, timeout: 150_000 })

/** Returns both channels of the call's recording, as the API serves it. */
async function recordingOf(callId: string) {
  const { url } = await service.api('GET', `/v1/calls/${callId}/recording`)
  const wav = readWav(new Uint8Array(await (await fetch(String(url))).arrayBuffer()))
  const [caller, agent] = wav.channels
  if (caller === undefined || agent === undefined) throw new Error('not a stereo recording')
  return { caller, agent }
}

for (const transport of ['udp', 'tcp'] as const) {
  t.test(`sipp over ${transport} speaks from a file and hangs up`, beside(), async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-al-'))
    t.teardown(() => rm(folder, { recursive: true, force: true }))
    const clip = readClip(findClip('book-tomorrow'))
    const file = join(folder, 'speech.al')
    await writeFile(file, encodeG711('PCMA', joined(new Int16Array(LEAD), clip)))
    const from = transport === 'udp' ? '+919811111101' : '+919811111102'
    const { address, port } = service.target(transport)
    await runSipp({
      scenario: 'speak',
      transport,
      target: { host: address, port },
      service: service.number,
      replace: { FILE: file, FROM: from, MS: '6000' },
    })
    const calls = (await service.send('GET', '/v1/calls?limit=100')).body.data as Json[]
    const callId = String(calls.find((candidate) => candidate.from === from)?.id)
    const ended = await service.ended(callId)
    t.match(ended, {
      direction: 'inbound',
      from,
      to: service.number,
      disposition: 'answered',
      endedReason: 'caller_hangup',
      hasRecording: true,
    })
    const [end] = service.of(callId, 'ended')
    t.match(end?.ending, { by: 'caller', fault: 'none' })
    // Audio before the first frame is not recorded. From then on nothing is missing.
    const received = end?.rtp?.packetsReceived ?? 0
    t.ok(received >= Math.floor(clip.length / 160), `${received} packets came after the media was live`)
    t.equal(end?.rtp?.lost, 0)
    const { caller, agent } = await recordingOf(callId)
    const missed = Math.floor((LEAD + clip.length) / 160) - received
    // sipp's clock runs slow, and the recording follows the wire: stretches match exactly, with steps between
    // them.
    const places: number[] = []
    let stretches = 0
    for (let at = 0; at + CHUNK <= clip.length; at += CHUNK) {
      const stretch = clip.subarray(at, at + CHUNK)
      if (levelDbfs(stretch) < -35) continue
      stretches++
      const sent = LEAD - missed * 160 + at
      const found = alignNear(caller, stretch, { from: sent - AROUND, to: sent + AROUND })
      if (found.correlation > 0.99) places.push(found.offset)
    }
    const heard = `${places.length} of ${stretches} stretches`
    t.ok(stretches > 20 && places.length > stretches / 2, `${heard} are heard as in the file`)
    const inOrder = [...places].sort((a, b) => a - b)
    t.strictSame(places, inOrder, 'and in its order')
    // The caller speaks during the greeting and may interrupt it. The packets that were sent are examined.
    const greeting = service.of(callId, 'turn').find((event) => event.turn.speaker === 'agent')?.turn
    const [fromMs, toMs] = [greeting?.startMs ?? 0, greeting?.endMs ?? 0]
    t.ok(toMs > fromMs, 'some of the greeting was sent')
    const level = levelDbfs(agent, fromMs * 8, toMs * 8)
    t.ok(level > -35, `the greeting is on the other channel (${level} dBFS)`)
  })
}

t.test('the greeting starts right after the ACK and not one packet earlier', beside(), async (t) => {
  const caller = await call(t, service, { autoAck: false })
  await caller.answered()
  const is200 = ({ message, direction }: (typeof caller.peer.log)[number]) =>
    direction === 'in' && message.status === 200 && cseqOf(message).method === 'INVITE'
  await caller.until('the 200 for the third time', () => caller.peer.log.filter(is200).length >= 3)
  await caller.until('a second of sent media', () => caller.rtp.sent.length > 50)
  t.equal(caller.rtp.received.length, 0, 'no packet without the ACK, though we send')

  caller.dialog.ack()
  await caller.until('sound', () => caller.rtp.loud().length > 0)
  const [first] = caller.rtp.received
  const [loud] = caller.rtp.loud()
  // In the wire's own time, so that a slow host shifts both.
  const quietMs = (((loud?.timestamp ?? 0) - (first?.timestamp ?? 0)) | 0) / 8
  t.ok(quietMs < 350, `first sound ${quietMs} ms after the first packet`)
  t.equal(first?.marker, true, 'the beginning of a talk spurt')
  t.equal(first?.port, caller.remote.port, 'symmetric RTP')
  const callId = await caller.callId()
  // A host that stands still makes vendors late, which is reported whenever it happens.
  const types = caller.types(callId).filter((type) => type !== 'trouble')
  t.strictSame(types.slice(0, 2), ['ringing', 'answered'])
  await caller.hangUp()
  t.match(await service.ended(callId), { disposition: 'answered', endedReason: 'caller_hangup' })
  t.strictSame(caller.types(callId).at(-1), 'ended')
})

t.test('two concurrent callers do not hear each other', beside(), async (t) => {
  const pitches = [440, 1000] as const
  const callers = await Promise.all(
    pitches.map((hz) => call(t, service, { rtp: { background: tone(hz, 1000) } })),
  )
  await Promise.all(callers.map((caller) => caller.answered()))
  for (const caller of callers) {
    await caller.until('two seconds of media', () => caller.rtp.audio().length >= 100)
  }
  const ids = await Promise.all(callers.map((caller) => caller.callId()))
  await Promise.all(callers.map((caller) => caller.hangUp()))
  await Promise.all(ids.map((id) => service.ended(id)))
  for (const [i, hz] of pitches.entries()) {
    const other = pitches[1 - i] ?? 0
    const { caller, agent } = await recordingOf(ids[i] ?? '')
    // On a host that stands still most pieces may have a gap.
    t.ok(clearToneLevel(caller, hz) > 0.25, `${hz} Hz is heard in its own call`)
    t.ok(toneLevel(caller.subarray(4_000, 12_000), other) < 0.003, `${other} Hz is not`)
    // Speech has some energy at every frequency; a tone would stand out.
    const heard = callers[i]?.rtp.heard().pcm ?? new Int16Array(0)
    for (const pitch of pitches) t.ok(toneLevel(heard, pitch) < 0.03, `no ${pitch} Hz comes back`)
    t.ok(toneLevel(agent, other) < 0.03, 'nor is it recorded as the agent')
  }
})
