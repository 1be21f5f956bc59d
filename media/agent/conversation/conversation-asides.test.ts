import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import { ambientNoise } from '../../../fixtures/speech/conditions.js'
import { toInt16 } from '../../../fixtures/speech/dsp.js'
import { TALKER_DBFS } from '../../../fixtures/speech/make-clip.js'
import { readClip, readManifest } from '../../../fixtures/speech/manifest.js'
import { loadVad } from '../../vad/vad.js'

/** The agent must resume within this time (ms) after an aside. */
const RESUMES_WITHIN_MS = 400
const FRAME = 160

const vad = await loadVad()
const asides = readManifest().filter(
  ({ set, kind }) => set === 'test' && (kind === 'cough' || kind === 'backchannel'),
)

for (const aside of asides) {
  t.test(`the agent resumes after ${aside.clip}, detected by the real VAD`, async (t) => {
    const sound = readClip(aside)
    const noise = ambientNoise(aside.condition, 30 * 8000, 77, 8000, TALKER_DBFS)
    const background = noise === null ? null : toInt16(noise)
    let soundFrom = Number.POSITIVE_INFINITY
    const rig = new ConversationRig({
      vad,
      microphone: (from) =>
        Int16Array.from({ length: FRAME }, (_, i) => {
          const into = from + i - soundFrom
          if (into >= 0 && into < sound.length) return sound[into] ?? 0
          return background?.[(from + i) % background.length] ?? 0
        }),
    })
    rig.modelScripts.push([
      { after: 100, text: `${'word '.repeat(160)}.` },
      { after: 0, done: true },
    ])
    await rig.start()
    rig.final('Tell me more.')
    await rig.until(() => rig.agentSounding)
    await rig.run(3000)
    soundFrom = rig.nowMs * 8
    const endMs = rig.nowMs + aside.offsetMs
    await rig.run(5000)
    const silent = rig.frames.filter(({ atMs, pcm }) => atMs * 8 >= soundFrom && pcm === null)
    const lastMs = (silent.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) + 20
    t.equal(rig.eventsOf('interrupted').length, 0, 'not taken for an interruption')
    t.ok(silent.length > 0 && rig.eventsOf('resumed').length > 0, 'it paused')
    t.ok(
      lastMs - endMs <= RESUMES_WITHIN_MS,
      `speaks again ${(lastMs - endMs).toFixed(0)} ms after the sound`,
    )
    t.equal(rig.close(), 0, 'no timer left')
  })
}
