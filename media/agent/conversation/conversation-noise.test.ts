import t from 'tap'
import { ConversationRig } from '../../../fixtures/rigs/conversation-rig.js'
import { LONG_ANSWER } from '../../../fixtures/rigs/conversation-starts.js'
import { ambientNoise } from '../../../fixtures/speech/conditions.js'
import { toInt16 } from '../../../fixtures/speech/dsp.js'
import { NoiseSuppression } from '../../vad/noise-suppressor.js'
import { loadVad } from '../../vad/vad.js'

/* A window is opened beside a road while the agent speaks: the real detector, with and without suppression. */

const vad = await loadVad()
const STARTS_MS = 1000
/** Louder than a talker's noise in a car, because the detector has not learned it. */
const road = toInt16(ambientNoise('car', 80_000, 5, 8000, -12) ?? new Float64Array(0))

async function call(noiseSuppression: boolean) {
  const given: Int16Array[] = []
  const rig = new ConversationRig({
    spec: { openingLine: LONG_ANSWER, noiseSuppression },
    vad,
    noiseSuppression: new NoiseSuppression(),
    microphone: (from) => {
      const at = from - STARTS_MS * 8
      return at < 0 || at + 160 > road.length ? new Int16Array(160) : road.slice(at, at + 160)
    },
    vendors: (own) => ({
      ...own,
      speechToText: (id) => {
        const recogniser = own.speechToText(id)
        return {
          ...recogniser,
          open: (options, events) => {
            const stream = recogniser.open(options, events)
            return {
              ...stream,
              write: (pcm, atMs) => {
                given.push(pcm.slice())
                stream.write(pcm, atMs)
              },
            }
          },
        }
      },
    }),
  })
  await rig.start()
  await rig.until(() => rig.turns('agent').length > 0)
  rig.close()
  return { rig, given }
}

t.test('noise that begins over the agent silences it; suppressed, it is a short pause', async (t) => {
  const { rig } = await call(false)
  t.equal(rig.eventsOf('interrupted').length, 1, 'without suppression')
  const { rig: quiet, given } = await call(true)
  t.equal(quiet.eventsOf('interrupted').length, 0)
  t.equal(quiet.turns('agent')[0]?.heardText, LONG_ANSWER)
  t.ok(quiet.longestSilence(STARTS_MS, STARTS_MS + 3000) <= 500)
  // The recogniser gets the audio as it came.
  const first = given.findIndex((pcm) => pcm.some((sample) => sample !== 0))
  t.same(given[first], road.slice(0, 160))
})
